"""Labels by their ids, and by a part of their names: compact arrays, built when somebody first asks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from longtail.corpus import Label
from longtail.kernels.label_search import beginning, containing, heads, signatures

COUNTED = 10_000  # labels that contain a word are counted up to here: a frequent syllable need not search them all
CHUNK = 1000  # labels read at once: other threads run in between


@dataclass(frozen=True)
class Found:
    """Labels that a search found, best first, and how many there are.

    Those that contain a word behind their beginning count up to COUNTED.
    """

    indices: list[int]
    total: int


@dataclass(frozen=True)
class LabelSearch:
    """Names in lower case, most frequent label first, and a sorted list of the ids' hashes."""

    labels: Sequence[Label]
    order: np.ndarray  # (labels,) int64: the label at each place
    names: np.ndarray  # uint8, all names in that order, end to end
    starts: np.ndarray  # (labels + 1,) int64
    heads: np.ndarray  # (labels,) uint64: see kernels/label_search.py
    marks: np.ndarray  # (4, labels) uint64: there too
    hashes: np.ndarray  # (labels,) uint64, rising
    by_hash: np.ndarray  # (labels,) int64: the label of each hash

    @classmethod
    def of(cls, labels: Sequence[Label], counts: np.ndarray) -> LabelSearch:
        """Read all labels once."""
        names, hashes = [], np.empty(len(labels), np.uint64)
        for at, label in enumerate(_all(labels)):
            names.append(folded(label.name))
            hashes[at] = _hash(label.id)
        order = np.argsort(-counts, kind="stable")
        by_hash = np.argsort(hashes, kind="stable")
        packed = b"".join(names[at] for at in order.tolist())
        starts = np.append(0, np.cumsum([len(names[at]) for at in order.tolist()], dtype=np.int64))
        data = np.frombuffer(packed, np.uint8)
        marks = heads(data, starts), signatures(data, starts)
        return cls(labels, order, data, starts, *marks, hashes[by_hash], by_hash)

    def index(self, id: str) -> int | None:
        """The label with this id."""
        wanted = np.uint64(_hash(id))
        start, stop = np.searchsorted(self.hashes, wanted, "left"), np.searchsorted(self.hashes, wanted, "right")
        return next((at for at in self.by_hash[start:stop].tolist() if self.labels[at].id == id), None)

    def find(self, part: str, limit: int) -> Found:
        """The label with this id, then labels that begin with it, then others that contain it, frequent ones first."""
        if not part:
            return Found(self.order[:limit].tolist(), len(self.order))
        word = np.frombuffer(folded(part), np.uint8)
        begin, begun = beginning(self.names, self.starts, self.heads, word, limit)
        contain, contained = containing(self.names, self.starts, self.marks, word, limit, COUNTED)
        found, total = self.order[np.append(begin, contain)].tolist(), begun + contained
        own = self.index(part)
        if own is not None:
            total += folded(part) not in folded(self.labels[own].name)
            found = [own, *(at for at in found if at != own)]
        return Found(found[:limit], total)


def folded(text: str) -> bytes:
    """Without the difference between small letters and capitals.

    >>> folded("STRASSE") == folded("Straße")
    True
    """
    return text.casefold().encode("utf-8", "surrogatepass")


def _hash(id: str) -> int:
    return int.from_bytes(hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _all(labels: Sequence[Label]) -> Iterator[Label]:
    for start in range(0, len(labels), CHUNK):
        yield from labels[start : start + CHUNK]
