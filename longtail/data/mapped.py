"""A corpus as a directory of raw arrays, appended to while parsing and memory-mapped afterwards.

corpus-5f0c…/
├── corpus.json              version, name, source files, size of every array
├── train.texts.bytes        UTF-8 of all texts, concatenated        train.texts.stops    stop offset of each text
├── train.labels.columns     label indices of all documents          train.labels.stops, train.labels.values (ones)
├── train.features.…         as train.labels, where there are features
├── test.…  valid.…          the same; test.filtered.… as test.labels
├── label.ids.…  label.names.…  label.texts.…
└── manifest.json            sha256 of every file; fingerprints are computed from these
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from longtail import store
from longtail.corpus import Corpus, Documents, Label, LabelSet, Role, Splits, Texts
from longtail.errors import LongtailError
from longtail.invariants import all_finite, check_indices, check_starts
from longtail.sparse import sp

VERSION = 1  # of this layout; caches of another version are rebuilt
INDEX = "corpus.json"
DTYPES = {"bytes": "u1", "stops": "<i8", "columns": "<i4", "values": "<f4"}  # by the suffix of the array's name

LABELS_A_BLOCK = 10_000

# Arrays in the fingerprint: everything training depends on; ids and filters are excluded.
SPLIT_CONTENT = ("texts.bytes", "texts.stops", "labels.columns", "labels.stops",
                 "features.columns", "features.stops", "features.values")  # fmt: skip
LABEL_CONTENT = tuple(f"label.{part}.{array}" for part in ("ids", "names", "texts") for array in ("bytes", "stops"))


class Draft:
    """A corpus being written: every array is an append-only file."""

    def __init__(self, directory: Path, files: ExitStack):
        self.directory, self._files = directory, files
        self._open: dict[str, BinaryIO] = {}
        self._size: dict[str, int] = {}
        self.n_features: int | None = None
        self.n_labels = 0
        self.blank: Counter[Role] = Counter()  # texts without a word
        self.notes: dict[str, None] = {}  # what was guessed or left out, in sentences

    def note(self, line: str) -> None:
        """Keep a sentence about how the files were read; the same one twice is kept once."""
        self.notes[line] = None

    def add(
        self,
        role: Role,
        *,
        ids: list[str] | None = None,
        texts: list[str] | None = None,
        labels: sp.csr_array | None = None,
        features: sp.csr_array | None = None,
    ) -> None:
        """Append documents to a split, or some of their fields."""
        if ids is not None:
            self._add_strings(f"{role}.ids", ids)
        if texts is not None:
            self._add_strings(f"{role}.texts", texts)
            self.blank[role] += sum(not text or text.isspace() for text in texts)
        if labels is not None:
            self._add_rows(f"{role}.labels", labels, binary=True)
        if features is not None:
            self._add_rows(f"{role}.features", features, binary=False)
            self.n_features = features.shape[1]

    def add_labels(self, labels: Iterable[Label]) -> None:
        """Append the label set, in order."""
        remaining = iter(labels)
        while block := list(islice(remaining, LABELS_A_BLOCK)):
            for part, strings in zip(("ids", "names", "texts"), zip(*block)):
                self._add_strings(f"label.{part}", strings)
            self.n_labels += len(block)

    def filter(self, role: Role, documents: np.ndarray, labels: np.ndarray) -> None:
        """Set the pairs that evaluation excludes."""
        ones = np.ones(len(labels), np.float32)
        shape = (self.count(f"{role}.labels"), self.n_labels)
        self._add_rows(f"{role}.filtered", sp.csr_array((ones, (documents, labels)), shape=shape), binary=True)

    def count(self, name: str) -> int:
        """Number of rows written to an array so far."""
        return self._size.get(f"{name}.stops", 0)

    def written(self, name: str) -> np.ndarray:
        """What was written to an array so far."""
        if name not in self._open:
            return np.zeros(0, DTYPES[name.rpartition(".")[2]])
        self._open[name].flush()
        return np.fromfile(self.directory / name, DTYPES[name.rpartition(".")[2]])

    def label_ids(self, most: int) -> list[str]:
        """The ids of the first labels."""
        stops = self.written("label.ids.stops")[:most]
        data = self.written("label.ids.bytes").tobytes()
        return [data[start:stop].decode() for start, stop in pairwise([0, *stops.tolist()])]

    def finish(self, name: str, source: dict[str, Any]) -> None:
        """Close the arrays and write `corpus.json`."""
        self._files.close()
        about = {"version": VERSION, "name": name, "features": self.n_features, "source": source, "sizes": self._size}
        about |= {"notes": list(self.notes)} if self.notes else {}
        store.write_json(self.directory / INDEX, about)

    def _add_strings(self, name: str, strings: Iterable[str]) -> None:
        chunks = [string.encode() for string in strings]
        self._add_stops(name, self._size.get(f"{name}.bytes", 0), np.cumsum([len(chunk) for chunk in chunks]))
        self._append(f"{name}.bytes", np.frombuffer(b"".join(chunks), np.uint8))

    def _add_rows(self, name: str, rows: sp.csr_array, binary: bool) -> None:
        rows.sum_duplicates()
        self._add_stops(name, self._size.get(f"{name}.columns", 0), rows.indptr[1:])
        self._append(f"{name}.columns", rows.indices)
        self._append(f"{name}.values", np.ones_like(rows.data) if binary else rows.data)

    def _add_stops(self, name: str, start: int, stops: np.ndarray) -> None:
        self._append(f"{name}.stops", start + stops.astype(np.int64))

    def _append(self, name: str, array: np.ndarray) -> None:
        if name not in self._open:
            self._open[name] = self._files.enter_context((self.directory / name).open("wb"))
        self._open[name].write(array.astype(DTYPES[name.rpartition(".")[2]], copy=False).data)
        self._size[name] = self._size.get(name, 0) + len(array)


def read(directory: Path, source: dict[str, Any]) -> Splits | None:
    """The corpus in a directory, mapped; None unless it is complete and was built from exactly these source files."""
    try:
        about = store.read_json(directory / INDEX)
        if about["version"] != VERSION or about["source"] != source:
            return None
        store.verify(directory)
        return _Reading(directory, about).splits()
    except (LongtailError, OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # unfinished or damaged: rebuild


class _Reading:
    def __init__(self, directory: Path, about: dict[str, Any]):
        self.name, self.n_features = about["name"], about["features"]
        self.notes = tuple(map(str, about.get("notes", ())))
        self.digests = store.read_manifest(directory)
        self.arrays = {name: _mapped(directory / name, size) for name, size in about["sizes"].items()}
        self.label_set = LabelSet(*(self.texts(f"label.{part}") for part in ("ids", "names", "texts")))

    def splits(self) -> Splits:
        valid = self.corpus("valid") if self.has("valid.labels") else None
        test = self.corpus("test") if self.has("test.labels") else None
        return Splits(self.corpus("train", valid), test, self.notes)

    def corpus(self, role: Role, official_valid: Corpus | None = None) -> Corpus:
        ids, texts, filtered = f"{role}.ids", f"{role}.texts", f"{role}.filtered"
        return Corpus(
            documents=Documents(
                self.texts(texts) if self.has(texts) else None,
                None if self.n_features is None else self.matrix(f"{role}.features", self.n_features),
            ),
            labels=self.matrix(f"{role}.labels", len(self.label_set)),
            label_set=self.label_set,
            name=self.name,
            role=role,
            fingerprint=self.fingerprint(role, official_valid),
            ids=self.texts(ids) if self.has(ids) and len(self.arrays[f"{ids}.bytes"]) else None,
            filtered=self.matrix(filtered, len(self.label_set)) if self.has(filtered) else None,
            official_valid=official_valid,
        )

    def has(self, name: str) -> bool:
        return f"{name}.stops" in self.arrays

    def fingerprint(self, role: Role, official_valid: Corpus | None) -> str:
        """Hash of the content alone, independent of location and file format."""
        own = [part for part in SPLIT_CONTENT if f"{role}.{part}" in self.arrays]
        digests = [f"{part} {self.digests[f'{role}.{part}']}" for part in own]
        digests += [f"{name} {self.digests[name]}" for name in LABEL_CONTENT]
        # The validation split affects training.
        digests += [str(self.n_features), official_valid.fingerprint if official_valid else ""]
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]

    def texts(self, name: str) -> Texts:
        starts = self.starts_and_end(name, "bytes")[:-1]
        return Texts(self.arrays[f"{name}.bytes"], starts, self.arrays[f"{name}.stops"])

    def matrix(self, name: str, width: int) -> sp.csr_array:
        starts = self.starts_and_end(name, "columns")
        if starts[-1] <= np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)  # scipy needs one type for both and would copy the columns to the larger
        parts = self.arrays[f"{name}.values"], self.arrays[f"{name}.columns"], starts
        check_indices(name, parts[1], width)
        if len(parts[0]) != len(parts[1]) or not all_finite(parts[0]):
            raise ValueError(f"{name} is damaged")
        matrix = sp.csr_array(parts, shape=(len(starts) - 1, width), copy=False)
        matrix.has_canonical_format = True  # guaranteed when written; saves scipy the check
        return matrix

    def starts_and_end(self, name: str, content: str) -> np.ndarray:
        stops = self.arrays[f"{name}.stops"]
        starts = np.zeros(len(stops) + 1, np.int64)
        starts[1:] = stops
        check_starts(name, starts, len(self.arrays[f"{name}.{content}"]))
        return starts


def _mapped(path: Path, size: int) -> np.ndarray:
    dtype = np.dtype(DTYPES[path.name.rpartition(".")[2]])
    if path.stat().st_size != size * dtype.itemsize:
        raise ValueError(f"{path} is cut short")
    # Through a memoryview: scipy copies an array that it sees as a small part of a larger one.
    return np.frombuffer(store.mapped_bytes(path).data, dtype)
