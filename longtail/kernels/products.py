"""Products of document vectors and rows in every precision, for other kernels to call.

A row is fp32, fp16 (as the uint16 of its bits) or int8 with a scale; `precision.py` says what these are.  Rows of fp32
and fp16 meet a float32 vector, rows of int8 a vector of integers with a scale of its own:

    queries = vectors (documents, dim) float32 or int16, scales (documents,)      both sides of a product are such a
    table   = rows (rows, dim) float32, uint16 or int8, scales (rows,)            pair; floats leave their scales empty

Every pair of a vector and a row is summed in one order, whatever is computed beside it: so many sums side by side, each
by fused multiply-add, then added up as a tree, then what is left over.  So a document scores the same alone, in a batch
and on any number of threads, to the last bit.  kernels/vector_code.py has the instructions.
"""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import Later, compiled
from longtail.kernels.standalone import standalone
from longtail.precision import STORED

_CODE = "longtail.kernels.vector_code"
_one_product, _one_by_four, _four_by_four, _one_by_picked = (
    Later(_CODE, name) for name in ("one_product", "one_by_four", "four_by_four", "one_by_picked")
)
TOGETHER = 8  # picked rows that are fetched at the same time: they lie anywhere
as_float = Later(_CODE, "as_float")  # a number of a table as a float32, without its scale


# -- before the loops ----------------------------------------------------------------------------------------------

Numbers = tuple[np.ndarray, np.ndarray]  # vectors or rows, and their scales, as above


def sides(documents: np.ndarray, rows: np.ndarray, scales: np.ndarray | None, what: str) -> tuple[Numbers, Numbers]:
    """Document vectors and rows as loops take them, checked to fit together: queries and table."""
    check(rows.ndim == 2 and documents.ndim == 2, f"{what} and document vectors have two axes")
    check_shape(documents, (len(documents), rows.shape[1]), "document vectors")
    check(rows.dtype in STORED, f"{what} are {rows.dtype}, which is no precision")
    check(rows.flags.c_contiguous, f"{what} are not one run of memory")
    vectors = np.ascontiguousarray(documents, np.float32)
    if rows.dtype != np.int8:
        check(scales is None, f"{what} are {rows.dtype} and have scales")
        return (vectors, NO_SCALES), table_of(rows, None)
    check(scales is not None and scales.shape == (len(rows),), f"{what} are int8 and lack scales")
    return in_integers(vectors), table_of(rows, scales)


def table_of(rows: np.ndarray, scales: np.ndarray | None) -> Numbers:
    """Rows as loops take them: numba has no 16-bit floats, so these go as their bits."""
    bits = rows.view(np.uint16) if rows.dtype == np.float16 else rows
    return bits, NO_SCALES if scales is None else scales


NO_SCALES = np.empty(0, np.float32)


def in_integers(vectors: np.ndarray) -> Numbers:
    """Vectors as integers and a scale each, for rows of int8.

    Integers of 16 bits cost no more than 8 beside rows of 8; they use as many of them as no sum can overflow with.
    """
    codes, scales = np.empty(vectors.shape, np.int16), np.empty(len(vectors), np.float32)
    turned_to_integers(vectors, codes, scales)
    return codes, scales


@standalone
def turned_to_integers(vectors, codes, scales):
    """What `in_integers` fills."""
    return to_integers(vectors, 0, len(vectors), most_codes(vectors.shape[1]), codes, scales)


@compiled
def most_codes(dim):
    """Largest integer code of a query vector."""
    return min(2047, (2**31 - 1) // max(128 * dim, 1))


@compiled
def to_integers(vectors, first, count, most, codes, scales):
    """So many vectors from `first` on as integers from −most to most, into the beginning of codes and scales."""
    for at in range(count):
        vector, largest = vectors[first + at], np.float32(0)
        for d in range(len(vector)):
            largest = max(largest, abs(vector[d]))
        scales[at] = largest / np.float32(most)
        turn = np.float32(most) / largest if largest > 0 else np.float32(0)
        for d in range(len(vector)):
            codes[at, d] = np.int16(np.rint(vector[d] * turn))
    return 0


# -- for other kernels ---------------------------------------------------------------------------------------------


@compiled
def product(queries, document, table, row):
    """⟨document, row⟩."""
    return _one_product(queries, document, table, row)


@compiled
def run_products(queries, document, table, start, stop, found):
    """⟨document, row⟩ of the rows from `start` to `stop`, into the beginning of `found`."""
    row = start
    while row + 4 <= stop:
        _one_by_four(queries, document, table, row, found, row - start, 0)
        row += 4
    while row < stop:
        found[row - start] = product(queries, document, table, row)
        row += 1


@compiled
def picked_products(queries, document, table, picked, count, found):
    """⟨document, row⟩ of the first `count` rows that are picked (int32), into the beginning of `found`."""
    at = 0
    while at + TOGETHER <= count:
        _one_by_picked(queries, document, table, picked, found, at)
        at += TOGETHER
    while at < count:
        found[at] = product(queries, document, table, picked[at])
        at += 1


@compiled
def tile_products(queries, first, tile, table, found):
    """⟨document, row⟩ of `tile` documents from `first` on and of all rows, into the beginning of `found` (…, rows)."""
    rows, together = table[0], tile - tile % 4
    fours, width = len(rows) - len(rows) % 4, found.shape[1]
    for row in range(0, fours if together else 0, 4):
        for document in range(0, together, 4):
            _four_by_four(queries, first + document, table, row, found, document * width + row, width)
    for document in range(tile):
        start = fours if document < together else 0
        run_products(queries, first + document, table, start, len(rows), found[document, start:])
