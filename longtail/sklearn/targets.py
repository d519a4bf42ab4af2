"""The forms of y: label lists, a 0/1 matrix, one class per document; predictions have the same form."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import type_of_target

from longtail.corpus import PAD
from longtail.errors import CorpusError
from longtail.frames import SAMPLE, CorpusNotice
from longtail.label_cells import separator_of
from longtail.ranking import Ranking

ArrayLike: TypeAlias = Any  # scikit-learn's term: texts, arrays, sparse matrices, data frames, lists of lists


@dataclass(frozen=True)
class LabelLists:
    """The label names of each document."""

    classes: np.ndarray

    @classmethod
    def of(cls, y: ArrayLike) -> LabelLists:
        """Collect all labels of y."""
        return cls(np.array(sorted(set().union(*label_rows(y))), object))

    def matrix(self, y: ArrayLike) -> sp.csr_array:
        """0/1 matrix of y; labels unseen in training get columns after the known ones and count as missed."""
        column = {label: at for at, label in enumerate(self.classes)}
        rows = label_rows(y)
        indices = np.array([column.setdefault(label, len(column)) for row in rows for label in row], np.int32)
        indptr = np.cumsum([0, *map(len, rows)])
        return sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), len(column)))

    def answer(self, ranking: Ranking, threshold: float) -> list[list[str]]:
        """The labels of each document, best first."""
        return [[self.classes[at] for at in row if at != PAD] for row in ranking.above(threshold).labels.tolist()]

    def named(self, labels: np.ndarray) -> np.ndarray:
        """Names of labels; None for PAD."""
        return _or_none(self.classes, labels)


@dataclass(frozen=True)
class Indicator:
    """A 0/1 matrix (documents, labels); labels are column indices."""

    classes: np.ndarray
    dtype: np.dtype
    sparse: bool

    @classmethod
    def of(cls, y: ArrayLike) -> Indicator:
        """Record the columns and the matrix type to return."""
        cells = check_array(y, accept_sparse=True, input_name="y")
        return cls(np.arange(cells.shape[1]), cells.dtype, sp.issparse(cells))

    def matrix(self, y: ArrayLike) -> sp.csr_array:
        """Sparse 0/1 matrix of y without stored zeros."""
        cells = sp.csr_array(check_array(y, accept_sparse="csr", input_name="y"), dtype=np.float32, copy=True)
        cells.eliminate_zeros()
        cells.sum_duplicates()
        if cells.shape[1] != len(self.classes):
            raise CorpusError(f"y has {cells.shape[1]} columns, and this model knows {len(self.classes)} labels")
        if (cells.data != 1).any():
            raise CorpusError(f"y holds {cells.data[cells.data != 1][0]:g}; a matrix of labels holds 0 and 1 only")
        return cells

    def answer(self, ranking: Ranking, threshold: float) -> np.ndarray | sp.csr_array:
        """A matrix of the same type as y, 1 for the labels of each document."""
        labels = ranking.above(threshold).labels
        rows, places = np.nonzero(labels != PAD)
        ones, shape = np.ones(len(rows), self.dtype), (len(ranking), len(self.classes))
        cells = sp.csr_array((ones, (rows, labels[rows, places])), shape=shape)
        return cells if self.sparse else cells.toarray()

    def named(self, labels: np.ndarray) -> np.ndarray:
        """Column indices; -1 for PAD."""
        return labels


@dataclass(frozen=True)
class Classes:
    """One class per document."""

    classes: np.ndarray

    @classmethod
    def of(cls, y: ArrayLike) -> Classes:
        """Collect all classes of y; a class that looks like several labels is warned about."""
        given = column_or_1d(y, warn=True)
        if given.dtype.kind in "OU" and (separator := separator_of(list(map(str, given[:SAMPLE])))):
            example = next(one for one in map(str, given) if separator in one)
            warnings.warn(
                f"each document has one class, as {example!r:.60}; if these are several labels, pass lists, as in "
                f"y.str.split({separator!r})",
                CorpusNotice,
                stacklevel=4,
            )
        return cls(np.unique(given))

    def matrix(self, y: ArrayLike) -> sp.csr_array:
        """0/1 matrix of y with a single 1 in each row."""
        indices = np.searchsorted(self.classes, column_or_1d(y)).astype(np.int32)
        ones, indptr = np.ones(len(indices), np.float32), np.arange(len(indices) + 1)
        return sp.csr_array((ones, indices, indptr), shape=(len(indices), len(self.classes)))

    def answer(self, ranking: Ranking, threshold: float) -> np.ndarray:
        """The best class of each document, regardless of score."""
        return self.classes[ranking.labels[:, 0]]

    def named(self, labels: np.ndarray) -> np.ndarray:
        """Names of classes; None for PAD."""
        return _or_none(self.classes, labels)


def _or_none(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.concatenate([classes.astype(object), [None]])[labels]  # PAD (-1) selects the None at the end


Target = LabelLists | Indicator | Classes


# Forms other than label lists, by scikit-learn's names.
TARGETS: dict[str, type[Classes] | type[Indicator]] = {
    "binary": Classes,
    "multiclass": Classes,
    "multilabel-indicator": Indicator,
}


def target_of(y: ArrayLike) -> Target:
    """Detect the form of y."""
    if y is None:
        raise ValueError("ExtremeClassifier requires y to be passed, but the target y is None")
    if holds_label_lists(y):
        return LabelLists.of(y)
    kind = type_of_target(y, input_name="y")
    if kind == "unknown" and iterable(y) and len(y) and not any(map(_size, y)):
        raise ValueError("no document of y has a label; there is nothing to learn")
    if kind not in TARGETS:
        forms = "lists of labels, which are strings; a 0/1 matrix; or one class a document"
        raise ValueError(f"Unknown label type: {kind}. y can be {forms}")
    return TARGETS[kind].of(y)


def holds_label_lists(y: ArrayLike) -> bool:
    """Whether the rows of y are lists of strings; rows of numbers form a matrix."""
    if not iterable(y) or getattr(getattr(y, "dtype", None), "kind", "O") in "biufc":
        return False
    return any(isinstance(label, str) for row in y if _is_label_list(row) for label in row)


def _size(row: ArrayLike) -> int:
    return len(row) if _is_label_list(row) else 1


def label_rows(y: ArrayLike) -> list[list[str]]:
    """The labels of each document, sorted, without duplicates."""
    for at, row in enumerate(y):
        if not _is_label_list(row):
            raise CorpusError(f"row {at} of y is {row!r}; write each document's labels as a list, be it an empty one")
        for label in row:
            if not isinstance(label, str):
                raise CorpusError(f"row {at} of y holds {label!r}; labels in lists are strings")
    return [sorted(set(row)) for row in y]


def _is_label_list(row: ArrayLike) -> bool:
    return isinstance(row, Collection) and not isinstance(row, str)


def iterable(value: ArrayLike) -> bool:
    """Whether a value can be iterated as texts or label lists; sparse matrices cannot."""
    return hasattr(value, "__iter__") and not sp.issparse(value)
