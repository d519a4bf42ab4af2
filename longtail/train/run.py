"""One training in one directory: named stages that are computed once, survive a kill, and never mix with another run.

A run directory holds

    runs/x/
    ├── run.json       what this run is: method, config, corpus, versions
    ├── log.jsonl      everything that happened, one JSON line each, with the time
    ├── stages/NAME/   the result of a finished stage
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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import psutil

from longtail import store
from longtail.corpus import Corpus
from longtail.errors import RunError

Result = TypeVar("Result")


@dataclass(frozen=True)
class Need:
    """What a training will take, said before it starts."""

    parameters: int
    memory: int  # bytes at the peak
    disk: int  # bytes of the run directory


class Run:
    """A resumable training: `stage` returns what an earlier attempt already finished."""

    def __init__(self, directory: Path, log: IO[str], say: Callable[[str], None]):
        self.directory, self._log, self.say = directory, log, say
        self.validation: dict[str, float] = {}  # what the method measured on held-out documents, for model.json

    def stage(self, name: str, build: Callable[..., Result], *inputs: Any) -> Result:  # noqa: ANN401 - whatever build takes
        """`build(*inputs)`, computed once in this directory.

        The result is written under a temporary name, renamed, and read back mapped from disk, so that a
        resumed run continues from the very same arrays.  `build` must declare what it returns.
        """
        place = self.directory / "stages" / name
        if not store.finished(place):
            started = time.perf_counter()
            self.say(f"{name} …")
            with store.whole_directory(place) as building:
                store.write(building, build(*inputs))
            self.log("stage", name=name, seconds=round(time.perf_counter() - started, 3))
        return store.read(place, typing.get_type_hints(build)["return"])

    def log(self, event: str, **values: Any) -> None:  # noqa: ANN401 - anything JSON can hold
        """One line of `log.jsonl`, with the time and the memory in use."""
        line = {"time": round(time.time(), 3), "event": event, **values, "memory": psutil.Process().memory_info().rss}
        self._log.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._log.flush()

    def announce(self, corpus: Corpus, need: Need) -> None:
        """Say what is coming, and refuse before hours are spent if the machine cannot hold it."""
        self.say(
            f"{len(corpus):,} documents, {corpus.n_labels:,} labels, {need.parameters:,} parameters; "
            f"needs about {size(need.memory)} of memory and {size(need.disk)} of disk"
        )
        self.log("need", documents=len(corpus), labels=corpus.n_labels, **vars(need))
        free = free_memory()
        if need.memory > free:
            raise RunError(f"this training needs about {size(need.memory)} of memory and {size(free)} are free")
        free = psutil.disk_usage(str(self.directory)).free
        if need.disk > free:
            raise RunError(f"{self.directory}: the run needs about {size(need.disk)} of disk and {size(free)} are free")


@contextmanager
def open_run(
    directory: Path, method: str, config: dict[str, Any], corpus: Corpus, say: Callable[[str], None] = lambda line: None
) -> Iterator[Run]:
    """Start a run or take up an earlier one; nobody else may use its directory meanwhile."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock, (directory / "log.jsonl").open("a", encoding="utf-8") as log:
        _lock(lock, directory)
        _claim(directory / "run.json", {"method": method, "config": config, "corpus": corpus.fingerprint})
        run = Run(directory, log, say)
        run.log("start", method=method, corpus=corpus.name, process=os.getpid())
        yield run
        run.log("end")


def _lock(lock: IO[str], directory: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RunError(
            f"{directory}: another process is training here; wait for it or choose another directory"
        ) from None


def _claim(path: Path, identity: dict[str, Any]) -> None:
    """Write what this run is, or refuse when the directory holds another one."""
    if not path.exists():
        about = identity | {"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "versions": versions()}
        temporary = path.with_suffix(".new")
        store.write_json(temporary, about)
        store.reach_disk(temporary)
        temporary.rename(path)
        return
    changes = _changes(store.read_json(path), json.loads(json.dumps(identity)))
    if changes:
        raise RunError(
            f"{path.parent} holds a run with other settings: {'; '.join(changes)}. "
            "Use another directory, or delete this one to start anew."
        )


def _changes(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    changes = []
    for name in now | {name: None for name in before if name not in ("started", "versions")}:
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            changes += _changes(old, new, f"{prefix}{name}.")
        elif old != new:
            changes.append(f"{prefix}{name} was {json.dumps(old)}, now {json.dumps(new)}")
    return changes


def versions() -> dict[str, str]:
    """What made this, for whoever finds it in two years."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in ("longtail", "numpy", "scipy", "numba", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def free_memory() -> int:
    """Bytes this process may still take: the machine's, or less inside a container."""
    free = psutil.virtual_memory().available
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.is_file() and used.is_file() and limit.read_text().strip() != "max":
        free = min(free, int(limit.read_text()) - int(used.read_text()))
    return free


def size(count: float) -> str:
    """1536 -> '1.5 KB'."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"
