"""How like one text some documents are, whose words are kept in eight bits."""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check, check_places
from longtail.kernels.compiled import compiled
from longtail.sparse import Rows, frozen


def cosines(rows: Rows, documents: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Cosines of some rows, whose values are uint8, with one row of length 1 or empty, (documents,) float32.

    Columns rise in every row.  A row of zeros is like nothing.
    """
    starts, words, weights = rows
    check(len(words) == len(weights) == starts[-1], f"{len(words)} words, {len(weights)} weights")
    check(len(columns) == len(values), f"{len(columns)} columns, {len(values)} values")
    check_places(documents, len(starts) - 1, "documents")
    found = np.empty(len(documents), np.float32)
    row = frozen(columns, np.int32), frozen(values, np.float32)
    _cosines(starts, words, weights, frozen(documents, np.int32), *row, found)
    return found


@compiled
def _cosines(starts, words, weights, documents, columns, values, found):
    for at, document in enumerate(documents):
        product, squares, place = 0.0, 0.0, 0
        for j in range(starts[document], starts[document + 1]):
            weight = float(weights[j])
            squares += weight * weight
            while place < len(columns) and columns[place] < words[j]:
                place += 1
            if place < len(columns) and columns[place] == words[j]:
                product += weight * values[place]
        found[at] = product / np.sqrt(squares) if squares > 0 else 0.0
