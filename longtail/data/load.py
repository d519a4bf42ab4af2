"""Load any corpus by path or name, mapped from disk.

The files are streamed once into arrays in a cache directory; later loads map these.  The cache is rebuilt when the
files or its format change, or when it is damaged.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from longtail.columns import UNTOLD, Reading, listed
from longtail.config import path_of
from longtail.corpus import Splits
from longtail.data import mapped
from longtail.data.catalog import find
from longtail.data.filters import read_pairs
from longtail.data.formats import recognise
from longtail.data.layout import Layout, Source
from longtail.data.lines import compression
from longtail.data.lonely import lonely_labels
from longtail.data.mapped import Draft
from longtail.data.oddities import oddities
from longtail.errors import CorpusError
from longtail.frames import CorpusNotice, as_arguments
from longtail.store import Kind, whole_directory

GUESSES = 3  # version of the rules by which columns and cells are understood; caches made by others are rebuilt
CACHE = "LONGTAIL_CACHE"  # environment variable: directory of caches
KIND = Kind("a corpus cache", mapped.INDEX, CorpusError, private=True, instead=f"set {CACHE} to a directory with room")


def load(
    path: str | Path,
    *,
    text: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    label_separator: str | None = None,
    table: str | None = None,
    vocabulary: str | Path | None = None,
    language: str | None = None,
    cache: str | Path | None = None,
    say: Callable[[str], None] | None = None,
) -> Splits:
    """Load the corpus at a path (a directory or one file) or of a name, in any known format.

    `text` and `labels` name columns of a table, `label_separator` what is between the labels in a cell, `table` a table
    of a database or a sheet of a spreadsheet, `vocabulary` a file that describes the labels, and `language` that of
    their names.  What is not given is found from the files.  Every guess is in `Splits.notes`, and given to `say`;
    without `say` it is a warning of Python's.  Given to `say`, these sentences and errors have the options of the
    command line; else these arguments.

    >>> splits = load("demo")
    >>> len(splits.train), len(splits.test), splits.train.n_labels
    (74951, 18783, 18909)
    """
    more = {"label_separator": label_separator, "table": table, "language": language}
    described = None if vocabulary is None else str(path_of(vocabulary, "vocabulary"))
    reading = Reading.of(text, labels, vocabulary=described, **more)
    if say is None:
        found = _with_arguments(path, reading, cache)
        for note in found.notes:
            warnings.warn(f"{found.train.name}: {note}", CorpusNotice, stacklevel=2)
        return found
    found = _loaded(path, reading, cache)
    for note in found.notes:
        say(note)
    return found


def _with_arguments(path: str | Path, reading: Reading, cache: str | Path | None) -> Splits:
    """What is said names arguments of Python instead of options."""
    try:
        found = _loaded(path, reading, cache)
    except CorpusError as error:
        raise CorpusError(as_arguments(str(error))) from error.__cause__
    return replace(found, notes=tuple(map(as_arguments, found.notes)))


def _loaded(path: str | Path, reading: Reading, cache: str | Path | None) -> Splits:
    try:
        place = find(path).absolute()
        layout, source = recognise(place, reading)
        identity = _identity(source) | _rules(layout, source)
    except (OSError, RuntimeError) as error:  # RuntimeError: ~ of an unknown user
        raise CorpusError(f"{path}: cannot be read ({error})") from error
    caches = default_cache() if cache is None else path_of(cache, "cache")
    told = repr(sorted(reading.to_json().items())).encode() if reading != UNTOLD else b""
    target = caches / f"{place.name[:40]}-{hashlib.sha256(os.fsencode(place) + told).hexdigest()[:16]}"
    found = mapped.read(target, identity)
    if found is None:
        with _only_one(target):
            found = mapped.read(target, identity) or _build(target, place, layout, source, identity)
    return found


def default_cache() -> Path:
    """LONGTAIL_CACHE, or the user's cache directory."""
    if chosen := os.environ.get(CACHE):
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "longtail"
    except RuntimeError:
        raise CorpusError(f"there is no home directory for a cache; set {CACHE} to a directory with room") from None


def _identity(source: Source) -> dict[str, Any]:
    """Facts about the source files that must be unchanged for a cache to be valid.

    Includes ctime, which cannot be set: an edit that keeps the size and resets the modification time is still noticed.
    """
    stats = {str(path): path.stat() for path in source.files()}
    return {path: [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns] for path, stat in stats.items()}


def _rules(layout: Layout, source: Source) -> dict[str, Any]:
    """What the user said about columns, and the version of the rules by which the rest is guessed."""
    return {"reading": [GUESSES, source.reading.to_json()]} if layout.has_columns else {}


@contextmanager
def _only_one(target: Path) -> Iterator[None]:
    """Lock the building of a cache: a second process waits and finds it built."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.with_name(f"{target.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:  # of the cache: those of the corpus were converted to CorpusError earlier
        raise CorpusError(
            f"{target.parent}: the cache cannot be written ({error.strerror or error}); "
            f"set {CACHE} to a directory with room"
        ) from error


def _build(target: Path, place: Path, layout: Layout, source: Source, identity: dict[str, Any]) -> Splits:
    with whole_directory(target, KIND) as building, ExitStack() as files:
        draft = Draft(building, files)
        if source.undecided:
            draft.note(_undecided(source.undecided))
        layout.read(source, draft)
        _refuse_empty(draft, source)
        if lonely := lonely_labels(draft):
            draft.note(lonely)
        for warning in oddities(draft, source.splits, described=source.labels is not None):
            draft.note(warning)
        for role, path in source.filters.items():
            draft.filter(role, *read_pairs(path, draft.count(f"{role}.labels"), draft.n_labels))
        draft.finish(_name(place), identity)
    found = mapped.read(target, identity)
    if found is None:
        raise CorpusError(f"{target}: the cache was written and cannot be read back; is the disk sound?")
    return found


def _undecided(vocabularies: Sequence[Path]) -> str:
    names = " and ".join([listed([path.name for path in vocabularies[:-1]]), vocabularies[-1].name])
    return f"careful: {names} are not read: only one file can describe the labels; --vocabulary FILE chooses it"


def _refuse_empty(draft: Draft, source: Source) -> None:
    for role, paths in source.splits.items():
        if draft.count(f"{role}.labels") == 0:
            raise CorpusError(f"{paths[0]}: no documents in it; remove the file or fill it")
    if draft.n_labels == 0:
        raise CorpusError(f"{source.splits['train'][-1]}: no document has a label; there is nothing to learn")


def _name(place: Path) -> str:
    if place.is_dir():
        return place.name
    return place.name.removesuffix(compression(place)).rpartition(".")[0] or place.name
