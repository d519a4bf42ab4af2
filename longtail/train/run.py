"""One training in one directory: named stages that are computed once, survive a kill, and never mix with another run.

A run directory holds

    runs/x/
    ├── run.json       what this run is: method, config, corpus, versions
    ├── log.jsonl      everything that happened, one JSON line each, with the time
    ├── stages/NAME/   the result of a finished stage
    ├── training/NAME/ weights under way and trained (checkpoint.py)
    ├── parts/NAME/    stages and training of another method that this one trains
    ├── tensorboard/   the log once more, for those who ask for it
    └── model/         the finished model
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
import typing
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import psutil

from longtail import store
from longtail.corpus import Corpus
from longtail.errors import MissingExtraError, ModelError, RunError
from longtail.kernels.notice import telling
from longtail.progress import Stage
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
    """Say nothing: the default of those who call us from Python."""


WITH_TORCH = 600_000_000  # bytes before any document is read, where torch learns: interpreter, libraries, compiled code


@dataclass(frozen=True)
class Need:
    """What a training will take, said before it starts."""

    parameters: int
    memory: int  # bytes at the peak
    disk: int  # bytes of the run directory


class Run:
    """A resumable training: `stage` and `train` return what an earlier attempt already finished."""

    def __init__(
        self,
        directory: Path,
        log: IO[str],
        say: Callable[[str], None] = silent,
        device: str = "cpu",
        board: SummaryWriter | None = None,
    ):
        self.directory, self.say, self.device = directory, say, device
        self.shows = say is not silent  # whether anybody wants to know how it goes
        self.validation: dict[str, float] = {}  # metrics of the weights that the latest training kept
        self._log, self._board = log, board

    def stage(self, name: str, build: Callable[..., Result], *inputs: Any) -> Result:  # noqa: ANN401 - whatever build takes
        """`build(*inputs)`, computed once in this directory.

        The result is written under a temporary name, renamed, and read back mapped from disk, so that a
        resumed run continues from the very same arrays.  `build` must declare what it returns.
        """
        place = self.directory / "stages" / name
        if store.finished(place) and self._is_sound(name, place):
            return store.read(place, typing.get_type_hints(build)["return"])
        started = time.perf_counter()
        store.check_target(place, STAGE)
        with self.watched(name):
            result = build(*inputs)  # outside of `whole_directory`, which takes every OSError for one of writing
            with store.whole_directory(place, STAGE) as building:
                store.write(building, result)
        self.log("stage", name=name, seconds=round(time.perf_counter() - started, 3))
        return store.read(place, typing.get_type_hints(build)["return"])

    def watched(self, name: str) -> Stage:
        """What shows people how a stage or a training goes, in words instead of its name."""
        return Stage(phrase(name), self.say if self.shows else None)

    def _is_sound(self, name: str, place: Path) -> bool:
        """Whether a finished stage still has the bytes that were written; a stage can be computed again."""
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
        """`model`, trained once in this directory on this run's device: see `loop.train`."""
        from longtail.train.loop import train  # torch is not for runs that train without it

        return train(self, name, model, batches, optim, seed=seed, valid=valid, until=until, device=self.device)

    def part(self, name: str) -> Run:
        """A run within this one, for a method that trains another: stages of its own, the same log."""
        return Run(self.directory / "parts" / name, self._log, self.say, self.device, self._board)

    def log(self, event: str, **values: Any) -> None:  # noqa: ANN401 - anything JSON can hold
        """One line of `log.jsonl`, with the time and the memory in use."""
        memory = psutil.Process().memory_info().rss
        line = {"time": round(time.time(), 3), "event": event, **values, "memory": memory}
        with store.told(Path(self._log.name), RunError):
            _append(self._log, json.dumps(line, ensure_ascii=False) + "\n")
        if self._board is not None and "step" in values:
            numbers = {name: value for name, value in line.items() if isinstance(value, (int, float))}
            for name in numbers.keys() - {"time", "step"}:
                self._board.add_scalar(f"{values['name']}/{name}", numbers[name], values["step"])

    def warn(self, line: str) -> None:
        """Say and log that something is likely wrong, and go on."""
        self.say(f"careful: {line}")
        self.log("warning", text=line)

    def announce(self, corpus: Corpus, need: Need) -> None:
        """Say what is coming, and refuse before hours are spent if the machine cannot hold it."""
        self.say(
            f"{len(corpus):,} documents, {corpus.n_labels:,} labels, {need.parameters:,} parameters; "
            f"needs about {size(need.memory)} of memory and {size(need.disk)} of disk"
        )
        self.log("need", documents=len(corpus), labels=corpus.n_labels, needs=vars(need))
        free = free_memory()
        if need.memory > free:
            raise RunError(f"this training needs about {size(need.memory)} of memory and {size(free)} are free")
        # What an earlier attempt wrote here is part of what the run needs.
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
) -> Iterator[Run]:
    """Start a run or take up an earlier one; nobody else may use its directory meanwhile."""
    with (
        _claimed(directory, {"method": method, "config": config}, corpus) as log,
        telling(None if say is silent else say),
        _board(directory / "tensorboard", wanted=tensorboard) as board,
    ):
        run = Run(directory, log, say, device, board)
        run.log("start", method=method, corpus=corpus.name, process=os.getpid())
        try:
            yield run
        except BaseException as error:
            with suppress(RunError):  # a full disk has no room for this line either; `error` says so
                run.log("stop", reason=f"{type(error).__name__}: {error}")
            raise
        run.log("end")


@contextmanager
def _claimed(directory: Path, identity: dict[str, Any], corpus: Corpus) -> Iterator[IO[str]]:
    """The log of a run directory that is ours alone."""
    check_place(directory)
    with ExitStack() as files:
        with store.told(directory, RunError):
            directory.mkdir(parents=True, exist_ok=True)
            lock = files.enter_context((directory / "lock").open("a+"))
            log = files.enter_context((directory / "log.jsonl").open("a", encoding="utf-8"))
            _lock(lock, directory)
            _claim(directory, identity, corpus)
        yield log


def check_place(directory: Path) -> None:
    """Raise where a run would mix with files of somebody else, or where it cannot be written."""
    with store.told(directory, RunError):
        store.check_writable(directory)
        if reason := _not_for_a_run(directory):
            raise RunError(f"{directory}: {reason}; choose another directory")


def _not_for_a_run(directory: Path) -> str | None:
    """Why nothing may be trained here.  Names that a run does not use are in nobody's way."""
    if store.finished(directory):
        return "holds a model or something else that is finished, not a run"
    if not (directory / "run.json").exists():
        taken = [name for name in NAMES if (directory / name).exists() and not _from_a_run(directory / name)]
        return f"{taken[0]} is there already, and not from a run" if taken else None
    about = store.read_json(directory / "run.json")
    known = isinstance(about, dict) and about.keys() >= {"method", "config", "corpus"}
    return None if known else "run.json is there already, and not from a run"


NAMES = ("lock", "log.jsonl", "stages", "training", "parts", "model")  # all but run.json


def _from_a_run(path: Path) -> bool:
    """Whether a run that never came to its run.json left this, or somebody who copied stages of another run."""
    if path.name == "lock":
        return path.is_file() and not path.read_bytes().strip(b"0123456789")  # the number of a process, if anything
    if path.name == "log.jsonl":
        return path.is_file() and not path.stat().st_size
    if path.name == "model":
        return path.is_dir() and not any(path.iterdir())
    return path.is_dir() and all(_in_a_stage(file, path) for file in path.rglob("*") if file.is_file())


def _in_a_stage(file: Path, top: Path) -> bool:
    """Whether a file belongs to a finished stage below `top`, or to one that was being written."""
    above = [place for place in file.parents if place.is_relative_to(top)]
    return any(store.finished(place) or place.name.startswith(".") for place in above)


def _lock(lock: IO[str], directory: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        raise RunError(
            f"{directory}: another process ({lock.read().strip() or 'just starting'}) is training here; "
            "wait for it or choose another directory"
        ) from None
    lock.truncate(0)
    _append(lock, str(os.getpid()))


def _append(file: IO[str], text: str) -> None:
    """Write at once.  A full disk fails here, and not once more when the file is closed, as buffered text would."""
    data = text.encode()
    while data:
        data = data[os.write(file.fileno(), data) :]


def _claim(directory: Path, identity: dict[str, Any], corpus: Corpus) -> None:
    """Write what this run is, or refuse when the directory holds another one."""
    path = directory / "run.json"
    if not path.exists():
        about = identity | {"corpus": corpus.fingerprint, "trained_on": _trained_on(corpus)}
        about |= {"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "versions": versions()}
        store.write_whole(path, store.json_text(about))
        return
    before = store.read_json(path)
    differences = changes({name: before.get(name) for name in identity}, identity)
    if before.get("corpus") != corpus.fingerprint:
        differences.append(_another_corpus(before, corpus))
    if differences:
        raise RunError(
            f"{directory} holds another run: {'; '.join(differences)}. "
            "Use another directory, or delete this one to start anew."
        )
    _sweep(directory)


def _trained_on(corpus: Corpus) -> dict[str, Any]:
    """For people: the fingerprint alone says whether it is the same corpus."""
    about = {"name": corpus.name, "documents": len(corpus), "labels": corpus.n_labels}
    return about | {"part_of": list(corpus.part_of)}


def _another_corpus(before: dict[str, Any], corpus: Corpus) -> str:
    """How the corpus differs from the one that a run was started on, as far as `run.json` tells."""
    was, now = before.get("trained_on"), _trained_on(corpus)
    if before.get("corpus") in corpus.part_of:
        return f"the run was started on all of {corpus.name}, and now --hold-out leaves some of its documents out"
    if was is None:  # of a version that kept the fingerprint alone
        return f"the run was started on another corpus than {_counted(now)}"
    if corpus.fingerprint in was["part_of"]:
        return f"the run was started with --hold-out, on {was['documents']:,} of the {len(corpus):,} documents"
    if _counted(was) == _counted(now):
        return f"the texts, the labels or the validation split of {_counted(now)} changed since the run was started"
    return f"the run was started on {_counted(was)}, and now it is {_counted(now)}"


def _counted(about: dict[str, Any]) -> str:
    held_out = ", without those of --hold-out" if about["part_of"] else ""
    return f"{about['name']} with {about['documents']:,} documents and {about['labels']:,} labels{held_out}"


def _sweep(directory: Path) -> None:
    """Delete what a killed attempt was writing."""
    store.sweep(directory / "model", store.MODEL)
    for run in (directory, *directory.glob("parts/**/")):
        for place in (run / "stages", *run.glob("training/*")):
            for leftover in store.leftovers(place):
                store.delete(leftover)  # its writer is dead: we hold the lock of the run


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


def changes(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """What differs between two settings, one phrase a field; `before` has been through JSON.

    >>> changes({"optim": {"lr": 0.1}, "seed": 0}, {"optim": {"lr": 0.2}, "seed": 0})
    ['optim.lr was 0.1, now 0.2']
    """
    differences = []
    now = json.loads(json.dumps(now))
    for name in now | before:
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            differences += changes(old, new, f"{prefix}{name}.")
        elif old != new:
            differences.append(f"{prefix}{name} was {json.dumps(old)}, now {json.dumps(new)}")
    return differences


def versions() -> dict[str, str]:
    """What made this, for whoever finds it in two years."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in ("longtail", "numpy", "scipy", "numba", "torch", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


CONTAINER = Path("/sys/fs/cgroup")  # where Linux tells a container its limits


def free_memory() -> int:
    """Bytes this process may still take: the machine's, or less inside a container."""
    free = psutil.virtual_memory().available
    limit = CONTAINER / "memory.max"
    if not limit.is_file() or limit.read_text().strip() == "max":
        return free
    # Pages of files that nobody uses just now count as taken, and go as soon as anybody needs the room.
    cached = dict(line.split() for line in (CONTAINER / "memory.stat").read_text().splitlines())["inactive_file"]
    return min(free, int(limit.read_text()) - int((CONTAINER / "memory.current").read_text()) + int(cached))


def size_on_disk(directory: Path) -> int:
    """Bytes of all files below."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def size(count: float) -> str:
    """1536 -> '1.5 KB'."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"
