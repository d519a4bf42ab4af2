"""Statistics of a corpus, to look at before training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from longtail.corpus import Corpus, Documents, Role, Splits, Texts
from longtail.data.hashes import content_hashes
from longtail.data.own_labels import related

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
CURVE_POINTS = 200
BYTES_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class SplitDescription:
    """Statistics of one split."""

    documents: int
    labels_per_document: float
    most_labels: int
    without_labels: int
    words: dict[str, int] | None  # by quantile, "50%" the median; None where there is no text
    empty: int  # documents without a word or feature
    duplicates: int  # documents equal to an earlier one of the split
    in_train: int  # documents that are also in train: a leak, unless intended


@dataclass(frozen=True)
class Decile:
    """A tenth of the labels, the most frequent first."""

    labels: int
    most: int  # training documents of its most frequent label
    least: int
    mean: float
    share: float  # of all (training document, label) pairs


@dataclass(frozen=True)
class Description:
    """Everything `longtail describe` prints and plots."""

    name: str
    splits: dict[Role, SplitDescription]
    labels: int
    labels_without_training: int
    frequencies: np.ndarray  # training documents of every label, falling
    items: bool = False  # documents are labels themselves, and their own label is never right
    notes: tuple[str, ...] = ()  # what was guessed about its files

    @property
    def deciles(self) -> list[Decile]:
        """Tenths of the labels by rank, as in `metrics`; fewer if there are fewer than ten labels."""
        edges = [-(-tenth * self.labels // 10) for tenth in range(1, 10)]
        total = max(int(self.frequencies.sum()), 1)
        return [
            Decile(len(part), int(part[0]), int(part[-1]), float(part.mean()), float(part.sum() / total))
            for part in np.split(self.frequencies, edges)
            if len(part)
        ]

    @property
    def curve(self) -> list[tuple[int, int]]:
        """Rank and document count of labels equally spaced on a logarithmic axis, for plotting."""
        ranks = np.unique(np.geomspace(1, self.labels, CURVE_POINTS).round().astype(int))
        return list(zip(ranks.tolist(), self.frequencies[ranks - 1].tolist()))

    def to_json(self) -> dict[str, Any]:
        """As JSON, with the frequencies as deciles and curve."""
        return {
            "name": self.name,
            "splits": {role: asdict(split) for role, split in self.splits.items()},
            "labels": self.labels,
            "labels_without_training": self.labels_without_training,
            "documents_are_labels": self.items,
            "deciles": [asdict(decile) for decile in self.deciles],
            "curve": self.curve,
            "notes": list(self.notes),
        }


def describe(splits: Splits) -> Description:
    """Compute the statistics of a corpus."""
    train = splits.train
    known = content_hashes(train.documents)
    described: dict[Role, SplitDescription] = {"train": _describe_split(train, known, in_train=known[:0])}
    later: dict[Role, Corpus | None] = {"valid": train.official_valid, "test": splits.test}
    for role, corpus in later.items():
        if corpus is not None:
            described[role] = _describe_split(corpus, content_hashes(corpus.documents), in_train=known)
    frequencies = np.sort(np.bincount(train.labels.indices, minlength=train.n_labels))[::-1]
    unused, items = int((frequencies == 0).sum()), related(train) is not None
    return Description(train.name, described, train.n_labels, unused, frequencies, items, splits.notes)


def sizes(documents: Documents) -> np.ndarray:
    """Number of words of each document, or of features where there is no text."""
    if documents.texts is None:
        return np.diff(documents.features.indptr)  # type: ignore[union-attr]
    return word_counts(documents.texts)


def word_counts(texts: Texts) -> np.ndarray:
    """Number of words of each text, split at ASCII white space."""
    # In blocks of texts, to bound the memory.
    block = np.cumsum(texts.stops - texts.starts) // BYTES_AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(block)) + 1), len(texts)]
    return np.concatenate([_word_counts(texts[start:stop].packed()) for start, stop in pairwise(edges)])


def _word_counts(texts: Texts) -> np.ndarray:
    space = _SPACE[texts.data]
    begins = ~space
    begins[1:] &= space[:-1]
    filled = texts.starts[texts.stops > texts.starts]
    begins[filled] = ~space[filled]
    before = np.concatenate([[0], np.cumsum(begins)])  # words that begin before each byte
    return before[texts.stops] - before[texts.starts]


_SPACE = np.isin(np.arange(256), list(b" \t\n\v\f\r"))


def _describe_split(corpus: Corpus, hashes: np.ndarray, in_train: np.ndarray) -> SplitDescription:
    labels, size = np.diff(corpus.labels.indptr), sizes(corpus.documents)
    filled = hashes[size > 0]
    quantiles = np.quantile(size, QUANTILES, method="nearest").astype(int).tolist()
    return SplitDescription(
        documents=len(corpus),
        labels_per_document=float(labels.mean()),
        most_labels=int(labels.max()),
        without_labels=int((labels == 0).sum()),
        words=None if corpus.documents.texts is None else {f"{at:.0%}": n for at, n in zip(QUANTILES, quantiles)},
        empty=int((size == 0).sum()),
        duplicates=len(filled) - len(np.unique(filled)),
        in_train=int(np.isin(filled, in_train).sum()),
    )
