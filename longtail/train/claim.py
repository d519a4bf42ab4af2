"""Claim a run directory for one run (method, config and corpus) and one process at a time."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from longtail import store
from longtail.corpus import Corpus
from longtail.errors import RunError
from longtail.ranks import Ranks
from longtail.train.machine import arithmetic, versions


@contextmanager
def claimed(directory: Path, identity: dict[str, Any], corpus: Corpus) -> Iterator[IO[str]]:
    """Lock a run directory and open its log."""
    check_place(directory)
    with ExitStack() as files:
        with store.told(directory, RunError):
            directory.mkdir(parents=True, exist_ok=True)
            lock = files.enter_context((directory / "lock").open("a+"))
            log = files.enter_context((directory / "log.jsonl").open("a", encoding="utf-8"))
            _lock(lock, directory)
            _claim(directory, identity, corpus)
        yield log


@contextmanager
def led(directory: Path, identity: dict[str, Any], corpus: Corpus, ranks: Ranks) -> Iterator[IO[str]]:
    """The same for all ranks of a training: the leader locks the directory, and the log of the others is not kept."""
    ranks.check_alike("method, settings, corpus or versions", [identity, corpus.fingerprint, versions()])
    if ranks.count > 1:  # all compute the same numbers, to the last bit
        ranks.check_alike("processor or number of threads", arithmetic())
    with ExitStack() as stack:
        if ranks.leads:
            log = stack.enter_context(claimed(directory, identity, corpus))
            for leftover in (directory / "ranks").glob("joined-*"):  # of ranks that were killed
                leftover.unlink()
        else:
            log = stack.enter_context(Path(os.devnull).open("a", encoding="utf-8"))
        ranks.wait()
        yield log


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
    append(lock, str(os.getpid()))


def append(file: IO[str], text: str) -> None:
    """Write unbuffered: buffered text would fail on a full disk here and again when the file is closed."""
    data = text.encode()
    while data:
        data = data[os.write(file.fileno(), data) :]


def _claim(directory: Path, identity: dict[str, Any], corpus: Corpus) -> None:
    """Write `run.json`, or raise if the directory holds another run."""
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
    """Description of the corpus for readers; only the fingerprint identifies it."""
    about = {"name": corpus.name, "documents": len(corpus), "labels": corpus.n_labels}
    return about | {"part_of": list(corpus.part_of)}


def _another_corpus(before: dict[str, Any], corpus: Corpus) -> str:
    """How the corpus differs from the one in `run.json`."""
    was, now = before.get("trained_on"), _trained_on(corpus)
    if before.get("corpus") in corpus.part_of:
        return f"the run was started on all of {corpus.name}, and now --hold-out leaves some of its documents out"
    if was is None:  # written by a version that kept only the fingerprint
        return f"the run was started on another corpus than {_counted(now)}"
    if corpus.fingerprint in was["part_of"]:
        return f"the run was started with --hold-out, on {was['documents']:,} of the {len(corpus):,} documents"
    if _counted(was) == _counted(now):
        return f"the texts, the labels or the validation split of {_counted(now)} changed since the run was started"
    return f"the run was started on {_counted(was)}, and now it is {_counted(now)}"


def _counted(about: dict[str, Any]) -> str:
    held_out = ", without those of --hold-out" if about["part_of"] else ""
    return f"{about['name']} with {about['documents']:,} documents and {about['labels']:,} labels{held_out}"


def changes(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """Differences between two settings, one phrase per field; `before` was read from JSON.

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


def _sweep(directory: Path) -> None:
    """Delete partial output of a killed process."""
    store.sweep(directory / "model", store.MODEL)
    for run in (directory, *directory.glob("parts/**/")):
        for place in (run / "stages", *run.glob("training/*")):
            for leftover in store.leftovers(place):
                store.delete(leftover)  # its writer is dead: we hold the lock of the run


# -- files a run may find in its directory ---------------------------------------------------------------------------


def check_place(directory: Path) -> None:
    """Raise if a run would mix with foreign files or cannot be written here."""
    with store.told(directory, RunError):
        store.check_writable(directory)
        if reason := _not_for_a_run(directory):
            raise RunError(f"{directory}: {reason}; choose another directory")


def _not_for_a_run(directory: Path) -> str | None:
    """Why a run may not use this directory; files with names that a run does not use are fine."""
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
    """Whether this was left by a run killed before `run.json` was written, or copied from the stages of another run."""
    if path.name == "lock":
        return path.is_file() and not path.read_bytes().strip(b"0123456789")  # a process id or empty
    if path.name == "log.jsonl":
        return path.is_file() and not path.stat().st_size
    if path.name == "model":
        return path.is_dir() and not any(path.iterdir())
    return path.is_dir() and all(_in_a_stage(file, path) for file in path.rglob("*") if file.is_file())


def _in_a_stage(file: Path, top: Path) -> bool:
    """Whether a file belongs to a finished or half-written stage below `top`."""
    above = [place for place in file.parents if place.is_relative_to(top)]
    return any(store.finished(place) or place.name.startswith(".") for place in above)
