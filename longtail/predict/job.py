"""The directory of a batch job: what it was asked, how far it is, and that no record is answered twice.

    out/
    ├── job.json       model, files, settings; `finished` when every record has its answer
    ├── answers/       parts, each written by one task, in no order
    └── checkpoints/   the keys of the records in each finished part; deleted when the job is finished

A part counts when its checkpoint is there.  Whoever goes on with a job deletes parts without one (Ray does, for those
that it began), and `sealed` deletes what a dying task may still have written after that.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longtail import store
from longtail.errors import RunError
from longtail.predict.record_tables import KEY

FORMAT = 1


@dataclass(frozen=True)
class Job:
    """Where a job writes, and what it was asked."""

    place: Path
    asked: dict[str, Any]

    @property
    def answers(self) -> Path:
        """Where the parts are."""
        return self.place / "answers"

    @property
    def checkpoints(self) -> Path:
        """Where it says which parts are finished."""
        return self.place / "checkpoints"

    def begin(self) -> bool:
        """Make the directory, or go on in it; whether there is anything left to do."""
        about = self.place / "job.json"
        if about.is_file():
            return not self._same(store.read_object(about))["finished"]
        if self.place.exists() and any(path.name != "lock" for path in self.place.iterdir()):
            raise RunError(f"{self.place}: holds other files and no job.json; choose a new or empty directory")
        self.answers.mkdir(parents=True, exist_ok=True)
        self._say(finished=False)
        return True

    def _same(self, found: dict[str, Any]) -> dict[str, Any]:
        differs = sorted(name for name, value in self.asked.items() if found.get(name) != value)
        if found.get("format") != FORMAT or differs:
            raise RunError(
                f"{self.place}: began with another {' and another '.join(differs) or 'version of longtail'}; "
                "give the same again, or choose a new directory"
            )
        return found

    def _say(self, finished: bool) -> None:
        store.write_whole(
            self.place / "job.json", store.json_text({"format": FORMAT, **self.asked, "finished": finished})
        )

    def seal(self) -> int:
        """Mark a job as finished whose records are all answered; how many there are."""
        counted, doubled = self._keys()
        if doubled:
            raise RunError(
                f"{self.place}: {doubled:,} records were answered by two jobs at once; predict into a new directory"
            )
        finished = {path.stem for path in self._parts()}
        for part in self.answers.iterdir():
            if part.stem not in finished:
                part.unlink()
        self._say(finished=True)
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        return counted

    def _keys(self) -> tuple[int, int]:
        """How many keys the checkpoints hold, and how many of them more than once."""
        from pyarrow import parquet

        parts = [parquet.read_table(path)[KEY].to_numpy() for path in self._parts()]
        keys = np.sort(np.concatenate([np.empty(0, np.int64), *parts]))
        return len(keys), int((keys[1:] == keys[:-1]).sum())

    def _parts(self) -> list[Path]:
        """The checkpoints of finished parts; those of others are pending."""
        return [path for path in self.checkpoints.glob("*.parquet") if not path.name.endswith(".pending.parquet")]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within, no other process of this machine works on the job."""
        with store.told(self.place, RunError):
            self.place.mkdir(parents=True, exist_ok=True)
            lock = (self.place / "lock").open("a")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunError(f"{self.place}: another process works on this job; wait for its end") from None
            yield
