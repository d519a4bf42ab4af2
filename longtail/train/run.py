"""One training in one directory: named stages are computed once and survive a kill.

A run directory holds

    runs/x/
    ├── run.json       method, config, corpus, versions
    ├── log.jsonl      all events, one JSON line each, with the time
    ├── stages/NAME/   the result of a finished stage
    ├── training/NAME/ checkpoints and trained weights (checkpoint.py)
    ├── parts/NAME/    stages and training of another method within this one
    ├── tensorboard/   the log for TensorBoard, if requested
    └── model/         the finished model
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import psutil

from longtail import store
from longtail.corpus import Corpus
from longtail.errors import MissingExtraError, ModelError, OutOfTime, RunError
from longtail.kernels.compiled import telling
from longtail.progress import Stage
from longtail.ranks import ALONE, here, seen_as, together
from longtail.train.claim import append, led
from longtail.train.device import free_on, of_rank
from longtail.train.machine import free_memory, size, size_on_disk
from longtail.train.need import Need
from longtail.train.phrases import phrase

if TYPE_CHECKING:
    from torch import nn
    from torch.utils.tensorboard import SummaryWriter

    from longtail.data.batches import Batches
    from longtail.train.optim import Optim

    Model = TypeVar("Model", bound=nn.Module)

Result = TypeVar("Result")

STAGE = store.Kind("a stage", "value.json", RunError, private=True)


def silent(line: str) -> None:
    """Print nothing: the default from Python."""


class Run:
    """A resumable training: `stage` and `train` return what an earlier attempt already finished."""

    checkpoint_every = 300.0  # seconds between two checkpoints

    def __init__(
        self,
        directory: Path,
        log: IO[str],
        say: Callable[[str], None] = silent,
        device: str = "cpu",
        board: SummaryWriter | None = None,
        deadline: float = math.inf,
    ):
        self.directory, self.say, self.device = directory, say, device
        self.deadline = deadline  # of time.monotonic(): when it has passed, the training stops with OutOfTime
        self.shows = say is not silent  # whether progress is displayed
        self.validation: dict[str, float] = {}  # metrics of the final weights of the latest training
        self._log, self._board = log, board

    def stage(self, name: str, build: Callable[..., Result], *inputs: Any) -> Result:  # noqa: ANN401 - inputs of build
        """`build(*inputs)`, computed once in this directory.

        The result is written atomically and read back mapped from disk, so that a resumed run continues from
        identical arrays.  `build` must annotate its return type.  Of several ranks the leader computes, and all read.
        """
        place = self.directory / "stages" / name
        if here().leads and not (store.finished(place) and self._is_sound(name, place)):
            with seen_as(ALONE):
                self._compute(name, place, build, *inputs)
        here().wait()
        return store.read(place, store.result_type(build))

    def _compute(self, name: str, place: Path, build: Callable[..., Any], *inputs: Any) -> None:  # noqa: ANN401
        self.check_time(name)
        started = time.perf_counter()
        store.check_target(place, STAGE)
        with self.watched(name):
            result = build(*inputs)  # outside `whole_directory`, which treats every OSError as a write error
            with store.whole_directory(place, STAGE) as building:
                store.write(building, result)
        self.log("stage", name=name, seconds=round(time.perf_counter() - started, 3))

    def watched(self, name: str) -> Stage:
        """Progress display of a stage or training, with its description instead of its name."""
        return Stage(phrase(name), self.say if self.shows else None)

    def _is_sound(self, name: str, place: Path) -> bool:
        """Whether the files of a finished stage are intact; otherwise it is computed again."""
        try:
            store.verify(place)
        except ModelError as error:
            self.say(f"{phrase(name)}: the result was damaged on disk and is computed again ({error})")
            self.log("damaged", name=name, reason=str(error))
            return False
        return True

    def train(
        self, name: str, model: Model, batches: Batches, optim: Optim, *, seed: int,
        valid: Batches | None = None, until: int | None = None,
    ) -> Model:  # fmt: skip
        """Train `model` once in this directory, on this run's device (see `loop.train`)."""
        from longtail.train.loop import train  # imported late: not all runs need torch

        return train(self, name, model, batches, optim, seed=seed, valid=valid, until=until, device=self.device)

    def part(self, name: str) -> Run:
        """A nested run, for a method that trains another: its own stages, the same log."""
        return Run(self.directory / "parts" / name, self._log, self.say, self.device, self._board, self.deadline)

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline

    def check_time(self, name: str) -> None:
        """Raise OutOfTime if the deadline has passed before the stage of this name."""
        if self.is_late:
            raise OutOfTime(f"the time was over before this: {phrase(name)}")

    def log(self, event: str, **values: Any) -> None:  # noqa: ANN401 - any JSON value
        """Append a line to `log.jsonl`, with the time and memory use."""
        memory = psutil.Process().memory_info().rss
        line = {"time": round(time.time(), 3), "event": event, **values, "memory": memory}
        with store.told(Path(self._log.name), RunError):
            append(self._log, json.dumps(line, ensure_ascii=False) + "\n")
        if self._board is not None and "step" in values:
            numbers = {name: value for name, value in line.items() if isinstance(value, (int, float))}
            for name in numbers.keys() - {"time", "step"}:
                self._board.add_scalar(f"{values['name']}/{name}", numbers[name], values["step"])

    def warn(self, line: str) -> None:
        """Display and log a warning."""
        self.say(f"careful: {line}")
        self.log("warning", text=line)

    def announce(self, corpus: Corpus, need: Need) -> None:
        """Display what will be trained, and raise if memory or disk cannot suffice."""
        self.say(
            f"{len(corpus):,} documents, {corpus.n_labels:,} labels, {need.parameters:,} parameters; "
            f"needs about {size(need.memory)} of memory and {size(need.disk)} of disk"
            + ("" if self.device == "cpu" else f", and at least {size(need.on_gpu)} on {self.device}")
        )
        self.log("need", documents=len(corpus), labels=corpus.n_labels, needs=vars(need))
        free = free_memory()
        if need.memory > free:
            raise RunError(f"this training needs about {size(need.memory)} of memory and {size(free)} are free")
        if self.device != "cpu" and need.on_gpu > (free := free_on(self.device)):
            raise RunError(f"this training needs {size(need.on_gpu)} on {self.device} and {size(free)} are free there")
        # Files of an earlier attempt count towards the need.
        free = psutil.disk_usage(str(self.directory)).free + size_on_disk(self.directory)
        if need.disk > free:
            raise RunError(f"{self.directory}: the run needs about {size(need.disk)} of disk and {size(free)} are free")


@contextmanager
def open_run(
    directory: Path,
    method: str,
    config: dict[str, Any],
    corpus: Corpus,
    say: Callable[[str], None] = silent,
    *,
    device: str = "cpu",
    tensorboard: bool = False,
    deadline: float = math.inf,
) -> Iterator[Run]:
    """Start or resume a run; its directory is locked meanwhile."""
    identity = {"method": method, "config": config}
    with (
        together(device, directory / "ranks") as ranks,
        led(directory, identity, corpus, ranks) as log,
        telling(None if say is silent else say),
        _board(directory / "tensorboard", wanted=tensorboard and ranks.leads) as board,
    ):
        say = say if ranks.leads else silent
        run = Run(directory, log, say, of_rank(device), board, deadline)
        run.log("start", method=method, corpus=corpus.name, process=os.getpid())
        try:
            yield run
        except BaseException as error:
            with suppress(RunError):  # a full disk has no room for this line either; `error` reports that
                run.log("stop", reason=f"{type(error).__name__}: {error}")
            raise
        run.log("end")


@contextmanager
def _board(directory: Path, *, wanted: bool) -> Iterator[SummaryWriter | None]:
    if not wanted:
        yield None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtraError("TensorBoard", "train") from None
    with SummaryWriter(str(directory)) as board:
        yield board
