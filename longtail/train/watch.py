"""Progress of training: loss, speed and time left, displayed and written to `log.jsonl`."""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from longtail.train.optim import Group
    from longtail.train.run import Run

LOG_SECONDS = 10.0  # between two lines of the log
FIRST_STEPS = 9  # after the first batch, before the time left is shown
RECENT = 200  # batches over which loss and speed are averaged


class Step(NamedTuple):
    """One finished batch."""

    time: float
    loss: float
    documents: int


class Watch:
    """Reports the progress of one training per batch: as a bar or lines (progress.py), and in `log.jsonl`."""

    def __init__(self, run: Run, name: str, groups: list[Group], done: int, total: int, per_epoch: int):
        self.run, self.name, self.groups = run, name, groups
        self.done, self.total, self.per_epoch = done, total, per_epoch
        self.first, self.started = done, time.monotonic()  # for the pace: reset after the first batch, which compiles
        self.logged = self.started
        self.recent: deque[Step] = deque(maxlen=RECENT)
        self.metrics: dict[str, float] = {}
        self.stage = run.watched(name)
        self.stage.result = lambda: [f"loss {self.loss():.4g}", *self.judged()]

    def __enter__(self) -> Watch:
        self.stage.__enter__()
        self.stage.busy = True  # hide counts inside a batch
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stage.__exit__(kind, error, trace)
        if self.recent:
            self._log(self.recent[-1].time)

    def step(self, loss: float, documents: int) -> None:
        """Record a finished batch."""
        now = time.monotonic()
        self.done += 1
        if not self.recent:
            self.first, self.started = self.done, now
        self.recent.append(Step(now, loss, documents))
        if now - self.logged >= LOG_SECONDS:
            self._log(now)
        self.stage.show(self.share, self.state, self.expected_left)

    def validated(self, metrics: dict[str, float], seconds: float) -> None:
        """Record a validation."""
        self.metrics = metrics
        self.run.log("validation", name=self.name, step=self.done, seconds=round(seconds, 3), **metrics)

    def state(self) -> list[str]:
        """Short descriptions of the current state."""
        epochs = f"epoch {(max(self.done, 1) - 1) // self.per_epoch + 1} of {self.total // self.per_epoch}"
        return [epochs, f"loss {self.loss():.4g}", f"{self.speed():,.0f} documents/s", *self.judged()]

    def judged(self) -> list[str]:
        """Metrics of the latest validation."""
        return [f"{name} {self.metrics[name]:.1f}" for name in SHOWN if name in self.metrics]

    def share(self) -> float:
        """Share of the training done, from 0 to 1."""
        return self.done / self.total

    def loss(self) -> float:
        """Mean over recent batches."""
        return sum(step.loss for step in self.recent) / max(len(self.recent), 1)

    def speed(self) -> float:
        """Documents per second over recent batches."""
        times = [step.time for step in self.recent]
        documents = sum(step.documents for step in self.recent) - (self.recent[0].documents if self.recent else 0)
        return documents / (times[-1] - times[0]) if len(times) > 1 and times[-1] > times[0] else 0.0

    def seconds_left(self) -> float:
        """Estimate from the pace since the first batch of this session, including validations and checkpoints."""
        return (time.monotonic() - self.started) / max(self.done - self.first, 1) * (self.total - self.done)

    def expected_left(self) -> float | None:
        """`seconds_left`, or None while too uncertain."""
        return self.seconds_left() if self.done - self.first >= FIRST_STEPS else None

    def _log(self, now: float) -> None:
        self.logged = now
        rates = {f"lr_{group.name}": group.optimiser.param_groups[0]["lr"] for group in self.groups}
        self.run.log(
            "training", name=self.name, step=self.done, epoch=round(self.done / self.per_epoch, 3), loss=self.loss(),
            documents_per_second=round(self.speed(), 1), seconds_left=round(self.seconds_left()), **rates,
        )  # fmt: skip


SHOWN = ("P@1", "P@5", "nDCG@5", "PSP@5")  # validation metrics displayed; the log has all
