"""Sparse matrices: scipy's, imported when first used, and three plain arrays, as compiled loops take them.

To import scipy.sparse takes a quarter of a second, and who answers a text needs none of it.
"""

from __future__ import annotations

import typing
from importlib import import_module

import numpy as np

if typing.TYPE_CHECKING:
    import scipy.sparse as sp
else:

    class _Later:
        def __getattr__(self, name: str) -> typing.Any:  # noqa: ANN401 - whatever scipy.sparse has
            value = getattr(import_module("scipy.sparse"), name)
            setattr(self, name, value)
            return value

    sp = _Later()

__all__ = ["Rows", "either", "frozen", "rows_of", "sp", "take"]


def either(one: sp.csr_array | None, other: sp.csr_array | None) -> sp.csr_array | None:
    """The union of the pairs of two matrices."""
    if one is None or other is None:
        return other if one is None else one
    return sp.csr_array((one != 0) + (other != 0), dtype="float32")


# -- plain arrays -----------------------------------------------------------------------------------------------------

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
