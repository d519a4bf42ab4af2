"""How a training goes, for people: a bar on a terminal, a line now and then elsewhere, all of it in `log.jsonl`."""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

if TYPE_CHECKING:
    from longtail.train.optim import Group
    from longtail.train.run import Run

BAR_SECONDS = 0.2  # between two looks of the bar
LOG_SECONDS = 10.0  # between two lines of the log
SAY_SECONDS = 60.0  # between two lines for people, where there is no bar
FIRST_STEPS, FIRST_SECONDS = 9, 5.0  # after the first batch, before the time left is worth telling
RECENT = 200  # batches that loss and speed are means of


class Step(NamedTuple):
    """One batch, done."""

    time: float
    loss: float
    documents: int


class Watch:
    """Follows one training batch by batch and tells about it, each audience at its own pace."""

    def __init__(self, run: Run, name: str, groups: list[Group], done: int, total: int, per_epoch: int):
        self.run, self.name, self.groups = run, name, groups
        self.done, self.total, self.per_epoch = done, total, per_epoch
        self.first, self.started = done, time.monotonic()  # of the pace: set anew after the first batch, which compiles
        self.drawn = self.logged = self.said = self.started
        self.recent: deque[Step] = deque(maxlen=RECENT)
        self.metrics: dict[str, float] = {}
        self.bar = self._bar(Console(stderr=True)) if run.shows else None

    def _bar(self, console: Console) -> Progress | None:
        if not console.is_terminal:
            return None
        bar = Progress(
            TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.fields[state]}"), console=console
        )
        bar.add_task(self.name, total=self.total, completed=self.done, state="")
        return bar

    def __enter__(self) -> Watch:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.bar:
            self.bar.update(self.bar.task_ids[0], completed=self.done, state=self.state())
            self.bar.stop()
        if self.recent:
            self._log(self.recent[-1].time)

    def step(self, loss: float, documents: int) -> None:
        """A batch is done."""
        now = time.monotonic()
        self.done += 1
        if not self.recent:
            self.first, self.started, self.said = self.done, now, now
        self.recent.append(Step(now, loss, documents))
        if self.bar and now - self.drawn >= BAR_SECONDS:
            self.drawn = now
            self.bar.update(self.bar.task_ids[0], completed=self.done, state=self.state())
        if now - self.logged >= LOG_SECONDS:
            self._log(now)
        if self._worth_saying(now):
            self.said = now
            self.run.say(f"{self.name}: {self.state()}")

    def validated(self, metrics: dict[str, float], seconds: float) -> None:
        """The model was judged."""
        self.metrics = metrics
        self.run.log("validation", name=self.name, step=self.done, seconds=round(seconds, 3), **metrics)

    def state(self) -> str:
        """Where the training stands, in a line."""
        epochs = f"epoch {(max(self.done, 1) - 1) // self.per_epoch + 1} of {self.total // self.per_epoch}"
        parts = [epochs, f"loss {self.loss():.4g}", f"{self.speed():,.0f} documents/s"]
        parts += [f"{name} {self.metrics[name]:.1f}" for name in SHOWN if name in self.metrics]
        return ", ".join([*parts, f"{spoken(self.seconds_left())} left"])

    def loss(self) -> float:
        """The mean over recent batches."""
        return sum(step.loss for step in self.recent) / max(len(self.recent), 1)

    def speed(self) -> float:
        """Documents a second over recent batches."""
        times = [step.time for step in self.recent]
        documents = sum(step.documents for step in self.recent) - (self.recent[0].documents if self.recent else 0)
        return documents / (times[-1] - times[0]) if len(times) > 1 and times[-1] > times[0] else 0.0

    def seconds_left(self) -> float:
        """At the pace of this session since its first batch, validations and checkpoints included."""
        return (time.monotonic() - self.started) / max(self.done - self.first, 1) * (self.total - self.done)

    def _worth_saying(self, now: float) -> bool:
        if self.said == self.started:  # the first estimate is told on a terminal too
            return self.done - self.first >= FIRST_STEPS and now - self.started >= FIRST_SECONDS
        return self.bar is None and now - self.said >= SAY_SECONDS

    def _log(self, now: float) -> None:
        self.logged = now
        rates = {f"lr_{group.name}": group.optimiser.param_groups[0]["lr"] for group in self.groups}
        self.run.log(
            "training", name=self.name, step=self.done, epoch=round(self.done / self.per_epoch, 3), loss=self.loss(),
            documents_per_second=round(self.speed(), 1), seconds_left=round(self.seconds_left()), **rates,
        )  # fmt: skip


SHOWN = ("P@1", "P@5", "nDCG@5", "PSP@5")  # of the validation metrics; the log has them all


def spoken(seconds: float) -> str:
    """
    >>> spoken(40), spoken(700), spoken(7400), spoken(400000)
    ('about 40 seconds', 'about 12 minutes', 'about 2 hours', 'about 5 days')
    """
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * size:
            return _about(seconds / size, unit)
    return _about(seconds, "second")


def _about(count: float, unit: str) -> str:
    return f"about {round(count)} {unit}{'' if round(count) == 1 else 's'}"
