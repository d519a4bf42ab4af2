"""Single entries of a sparse matrix: the weights of a few labels for the features of one text."""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check, check_places
from longtail.kernels.compiled import compiled
from longtail.sparse import Rows, frozen


def entries(matrix: Rows, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """What stands at these rows and columns, (rows, columns) float32, 0 where nothing does; columns rise in a row."""
    starts, inside, values = matrix
    check(
        len(inside) == len(values) == starts[-1], f"{len(inside)} columns, {len(values)} values, {starts[-1]} entries"
    )
    check_places(rows, len(starts) - 1, "rows")
    found = np.zeros((len(rows), len(columns)), np.float32)
    _entries(starts, inside, values, frozen(rows, np.int32), frozen(columns, np.int32), found)
    return found


@compiled
def _entries(starts, inside, values, rows, columns, found):
    for at, row in enumerate(rows):
        first, last = starts[row], starts[row + 1]
        for place, column in enumerate(columns):
            where = first + np.searchsorted(inside[first:last], column)
            if where < last and inside[where] == column:
                found[at, place] = values[where]
