"""Sparse matrices as the compiled loops take them: three plain arrays of always the same types."""

from __future__ import annotations

import numpy as np

from longtail.sparse import sp

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # starts int64, columns int32, values float32


def rows_of(matrix: sp.csr_array) -> Rows:
    """Starts, columns and values of the rows, so that a kernel is compiled once and not for every mixture of types."""
    return frozen(matrix.indptr, np.int64), frozen(matrix.indices, np.int32), frozen(matrix.data, np.float32)


def frozen(array: np.ndarray, kind: type) -> np.ndarray:
    """A read-only view, copied only when its type differs; what is mapped from disk is read-only anyway."""
    view: np.ndarray = np.ascontiguousarray(array, kind).view()
    view.flags.writeable = False
    return view


def take(matrix: Rows, rows: np.ndarray) -> Rows:
    """Some of the rows, copied."""
    starts, columns, values = matrix
    lengths = starts[rows + 1] - starts[rows]
    new = np.append(0, np.cumsum(lengths))
    inside = np.arange(new[-1]) + np.repeat(starts[rows] - new[:-1], lengths)
    return new, columns[inside], values[inside]
