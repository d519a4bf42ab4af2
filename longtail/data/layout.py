"""File names of corpora, and which of them exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from longtail.columns import UNTOLD, Reading
from longtail.corpus import Role
from longtail.data.lines import COMPRESSIONS, first_line
from longtail.data.mapped import Draft
from longtail.data.rows import suffix
from longtail.errors import CorpusError

Names = tuple[str, ...]  # the first existing one is used

PLAIN_NAMES: dict[Role, Names] = {
    "train": ("train", "trn"),
    "valid": ("valid", "val", "dev", "validation"),
    "test": ("test", "tst"),
}
SHORT_NAMES: dict[Role, Names] = {"train": ("trn",), "valid": ("val",), "test": ("tst",)}


@dataclass(frozen=True)
class Source:
    """The files of one corpus."""

    splits: dict[Role, tuple[Path, ...]]  # one path per part of the layout, training first
    labels: Path | None
    filters: dict[Role, Path]
    reading: Reading = UNTOLD
    among: tuple[Path, ...] = ()  # files inside directories that are parts of splits
    undecided: tuple[Path, ...] = ()  # vocabularies of which none is read, because only one can describe the labels

    def files(self) -> list[Path]:
        """All files of the corpus."""
        parts = [path for paths in self.splits.values() for path in paths]
        return [*parts, *([self.labels] if self.labels else []), *self.filters.values(), *self.among, *self.undecided]


@dataclass(frozen=True)
class Layout:
    """One format: its file names and its reader."""

    title: str
    parts: tuple[Names, ...]  # the files of a split; {} is replaced by the name of the split
    read: Callable[[Source, Draft], None]
    splits: dict[Role, Names]
    labels: Names = ()  # files that describe the labels
    labels_needed: bool = False
    begins: Callable[[str], bool] | None = None  # test of the first line, where names are ambiguous
    has_columns: bool = False  # the user may choose columns, separators and a vocabulary
    finder: Callable[[Path], Source | None] | None = None  # of files and directories whose names are not fixed

    def find(self, place: Path) -> Source | None:
        """The files of a corpus in this layout, or None if this file or directory is none."""
        if self.finder is not None and (found := self.finder(place)):
            return found
        if place.is_file():
            return Source({"train": (place,)}, None, {}) if self.is_file(place) else None
        return self._find_named(place)

    def _find_named(self, directory: Path) -> Source | None:
        train = self._split(directory, "train")
        if train is None or not self._begins(train[0]):
            return None
        later: tuple[Role, ...] = ("valid", "test")
        splits: dict[Role, tuple[Path, ...]] = {"train": train}
        splits |= {role: found for role in later if (found := self._split(directory, role))}
        labels, undecided = _labels(directory, self.labels, self.has_columns)
        if labels is None and self.labels_needed:
            raise CorpusError(f"{directory / self.labels[0]}: missing; it must describe every label")
        filters = {role: path for role in splits if (path := _filter(directory, role))}
        return Source(splits, labels, filters, undecided=undecided)

    def is_file(self, path: Path) -> bool:
        """Whether this single file can be a corpus in this layout."""
        suffixes = {suffix(Path(name)) for name in self.parts[0]}
        alone = len(self.parts) == 1 and not self.labels_needed and bool(self.splits["train"])
        return alone and suffix(path) in suffixes and self._begins(path)

    def _split(self, directory: Path, role: Role) -> tuple[Path, ...] | None:
        for split in self.splits[role]:
            wanted = [tuple(name.format(split) for name in names) for names in self.parts]
            found = [existing(directory, names) for names in wanted]
            if any(found):
                missing = [names[0] for names, path in zip(wanted, found) if path is None]
                if missing:
                    there = next(path.name for path in found if path)
                    raise CorpusError(f"{directory / missing[0]}: missing, although {there} is there")
                return tuple(path for path in found if path)
        return None

    def _begins(self, path: Path) -> bool:
        return self.begins is None or self.begins(first_line(path))


def _filter(directory: Path, role: Role) -> Path | None:
    return existing(directory, (f"filter_labels_{role}.txt",))


def _labels(directory: Path, names: Names, vocabularies: bool) -> tuple[Path | None, tuple[Path, ...]]:
    found = existing(directory, names)
    return only_vocabulary(directory) if found is None and vocabularies else (found, ())


def only_vocabulary(directory: Path) -> tuple[Path | None, tuple[Path, ...]]:
    """The RDF file of a directory if there is exactly one; else none, and all that there are."""
    ends = (".ttl", ".rdf", ".nt", ".skos")
    found = sorted(path for path in directory.iterdir() if path.suffix.lower() in ends and path.is_file())
    return (found[0], ()) if len(found) == 1 else (None, tuple(found))


def existing(directory: Path, names: Names) -> Path | None:
    """The first of these files that exists, plain or compressed."""
    wanted = [f"{name}{ending}" for name in names for ending in COMPRESSIONS]
    plain = next((directory / name for name in wanted if (directory / name).is_file()), None)
    return plain or _in_any_case(directory, wanted)


def _in_any_case(directory: Path, wanted: list[str]) -> Path | None:
    """The file with this name in any case, such as `TRAIN.CSV` for `train.csv`."""
    there = {path.name.lower(): path for path in directory.iterdir()}
    found = (there[name.lower()] for name in wanted if name.lower() in there)
    return next((path for path in found if path.is_file()), None)
