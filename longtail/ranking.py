"""The answer: the best labels of each document, best first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from longtail.corpus import PAD
from longtail.errors import ConfigError, RankingError
from longtail.sparse import sp

SILENT = np.float32(-1e4)  # the logit of a label that no document gets: its score is 0; finite, as all that is stored


@dataclass(frozen=True)
class Ranking:
    """Top labels and their scores, (documents, k) each, PAD with score 0 where a row is shorter.

    Scores fall along a row; ties are broken by the smaller label index.  This is the only tie rule of the
    project: all code that builds a Ranking follows it, and metrics only read the order.

    >>> Ranking.of_scores(sp.csr_array([[0.5, 0.0, 0.9, 0.5]]), k=4).labels
    array([[ 2,  0,  3, -1]], dtype=int32)
    """

    labels: np.ndarray  # (documents, k) int32
    scores: np.ndarray  # (documents, k) float32

    def __post_init__(self) -> None:
        if self.labels.ndim != 2 or self.labels.shape != self.scores.shape:
            raise RankingError(
                f"a ranking holds labels and scores of one shape (documents, k); "
                f"these are {self.labels.shape} and {self.scores.shape}"
            )

    @classmethod
    def of_scores(cls, scores: sp.csr_array, k: int) -> Ranking:
        """The top k stored entries of every row of a sparse score matrix, including stored zeros."""
        # Imported late: loads compiled code.
        from longtail.kernels.top import top_of_rows
        from longtail.sparse import rows_of

        # Ranked in float32 as stored: discarded digits must not break ties.
        rows = rows_of(scores)
        bad = np.isnan(rows[2])
        if bad.any():
            row = np.searchsorted(scores.indptr, bad.argmax(), side="right") - 1
            raise RankingError(f"row {row} of the scores holds a NaN, which no order can place")
        return cls(*top_of_rows(rows, k))

    @classmethod
    def of_candidates(cls, labels: np.ndarray, scores: np.ndarray, k: int) -> Ranking:
        """The top k of each row's candidates, (documents, width) in any order; PAD is skipped."""
        from longtail.kernels.candidates import top_of_candidates

        if np.isnan(scores).any():
            row = np.isnan(scores).any(axis=1).argmax()
            raise RankingError(f"row {row} of the scores holds a NaN, which no order can place")
        return cls(*top_of_candidates(labels, scores, k))

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[np.ndarray, np.ndarray]], k: int) -> Ranking:
        """Build from one sorted (labels, scores) pair per document."""
        rows = list(rows)
        labels, scores = np.full((len(rows), k), PAD, np.int32), np.zeros((len(rows), k), np.float32)
        for at, (row_labels, row_scores) in enumerate(rows):
            labels[at, : len(row_labels)] = row_labels
            scores[at, : len(row_labels)] = row_scores
        return cls(labels, scores)

    @classmethod
    def joined(cls, parts: Iterable[Ranking]) -> Ranking:
        """Concatenate the Rankings of consecutive batches."""
        parts = list(parts)
        return cls(np.concatenate([part.labels for part in parts]), np.concatenate([part.scores for part in parts]))

    @classmethod
    def gathered(cls, parts: Iterable[tuple[np.ndarray, Ranking]], documents: int, k: int) -> Ranking:
        """Combine the Rankings of batches in any order, each given with its rows."""
        labels, scores = np.full((documents, k), PAD, np.int32), np.zeros((documents, k), np.float32)
        for rows, part in parts:
            labels[rows], scores[rows] = part.labels, part.scores
        return cls(labels, scores)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def k(self) -> int:
        """Number of columns."""
        return self.labels.shape[1]

    def top(self, k: int) -> Ranking:
        """The first k columns."""
        return Ranking(self.labels[:, :k], self.scores[:, :k])

    def padded(self, k: int) -> Ranking:
        """Extend to at least k columns with PAD and score 0."""
        if k <= self.k:
            return self
        more = ((0, 0), (0, k - self.k))
        return Ranking(np.pad(self.labels, more, constant_values=PAD), np.pad(self.scores, more))

    def after(self, k: int) -> Ranking:
        """The columns after the first k."""
        return Ranking(self.labels[:, k:], self.scores[:, k:])

    def above(self, threshold: float) -> Ranking:
        """Replace labels that score below the threshold by PAD."""
        # In float64, as suggestions are compared: the midpoint of two scores may not be a float32.
        keep = self.scores >= np.float64(threshold)
        return Ranking(np.where(keep, self.labels, PAD), np.where(keep, self.scores, 0))

    def among(self, pairs: sp.csr_array) -> np.ndarray:
        """(documents, k) bool: which ranked labels are in their document's row of `pairs`, (documents, labels).

        >>> Ranking(np.array([[2, 0, PAD]], np.int32), np.zeros((1, 3), np.float32)).among(sp.csr_array([[1, 0, 0]]))
        array([[False,  True, False]])
        """
        ranked, found = self.labels != PAD, np.zeros(self.labels.shape, bool)
        if ranked.any():  # for an empty index scipy returns a matrix
            found[ranked] = pairs[np.nonzero(ranked)[0], self.labels[ranked]] != 0
        return found

    def without(self, pairs: sp.csr_array) -> Ranking:
        """Remove the labels in their document's row of `pairs`; later ones move up."""
        return self.dropped(self.among(pairs))

    def dropped(self, gone: np.ndarray) -> Ranking:
        """Remove labels where `gone` is true, (documents, k); later ones move up."""
        order = np.argsort(gone, axis=1, kind="stable")
        labels, scores = np.where(gone, PAD, self.labels), np.where(gone, np.float32(0), self.scores)
        return Ranking(np.take_along_axis(labels, order, axis=1), np.take_along_axis(scores, order, axis=1))

    def rescored(self, scores: np.ndarray) -> Ranking:
        """The same labels in the same order with new scores, which must not rise along a row.

        Equal or zero scores would lose the order, so earlier labels are raised by the smallest float step.
        """
        lifted = np.where(self.labels == PAD, 0, scores).astype(np.float32)
        for place in range(self.k - 2, -1, -1):
            above = np.nextafter(lifted[:, place + 1], np.float32(np.inf))
            behind = self.labels[:, place + 1] != PAD
            lifted[:, place] = np.where(behind, np.maximum(lifted[:, place], above), lifted[:, place])
        return Ranking(self.labels, np.minimum(lifted, 1))

    def followed_by(self, rest: Ranking) -> Ranking:
        """Append the labels of `rest` in their order, with scores scaled to lie below."""
        ranked = self.labels != PAD
        lowest = np.where(ranked, self.scores, np.float32(1)).min(axis=1, keepdims=True, initial=1)
        highest = np.maximum(rest.scores[:, :1], np.finfo(np.float32).tiny)
        scores = np.hstack([self.scores, JUST_BELOW * lowest * (rest.scores / highest)])
        return Ranking(np.hstack([self.labels, rest.labels]), scores).rescored(scores)


JUST_BELOW = np.float32(0.999)


# -- validating arguments -------------------------------------------------------------------------------------------


def check_k(k: object) -> int:
    """Validate the number of labels to rank: a whole number from 1."""
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ConfigError(f"k = {k!r:.60}: ask for at least one label, in a whole number such as 5")
    return int(k)


def check_threshold(threshold: object) -> float:
    """Validate the lowest score that counts, between 0 and 1."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 <= float(threshold) <= 1:
        raise ConfigError(f"threshold = {threshold!r:.60}: scores lie between 0 and 1; write a number such as 0.5")
    return float(threshold)
