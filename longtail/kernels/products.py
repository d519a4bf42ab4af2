"""Products of document vectors and rows in every precision, for other kernels to call.

A row is fp32, fp16 (as the uint16 of its bits) or int8 with a scale; `precision.py` says what these are.  Rows of fp32
and fp16 meet a float32 vector, rows of int8 a vector of integers with a scale of its own:

    queries = vectors (documents, dim) float32 or int16, scales (documents,)      both sides of a product are such a
    table   = rows (rows, dim) float32, uint16 or int8, scales (rows,)            pair; floats leave their scales empty

Every pair of a vector and a row is summed in one order, whatever is computed beside it: so many sums side by side, each
by fused multiply-add, then added up as a tree, then what is left over.  So a document scores the same alone, in a batch
and on any number of threads, to the last bit.  The compiler may not reorder sums of floats, and left to itself it
computes one at a time; the blocks below are written as vector instructions of LLVM, which every processor has a
translation for (AVX-512 with VNNI: vfmadd231ps, vcvtph2ps, vpdpwssd).
"""

from __future__ import annotations

from itertools import product as pairs

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import compiled
from longtail.precision import STORED

LANES = 16  # sums side by side

_INT8, _INT16, _INT32, _INT64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_FLOAT, _HALF = ir.FloatType(), ir.HalfType()
_BYTES = {_INT8: 1, _INT16: 2, _HALF: 2, _FLOAT: 4}


# -- blocks: a few vectors with a few rows, read once for all their products ---------------------------------------


class _Floats:
    """fp32 and fp16 rows: LANES numbers a step."""

    step, sums, answer, vector = LANES, ir.VectorType(_FLOAT, LANES), types.float32, _FLOAT

    def __init__(self, rows) -> None:
        self.row = _HALF if isinstance(rows.dtype, types.Integer) else _FLOAT

    def widened(self, builder, numbers):
        if _element(numbers.type) == _FLOAT:
            return numbers
        return builder.fpext(numbers, self.sums if isinstance(numbers.type, ir.VectorType) else _FLOAT)

    def more(self, builder, total, vector, row):
        fused = f"llvm.fma.v{LANES}f32" if isinstance(total.type, ir.VectorType) else "llvm.fma.f32"
        kind = ir.FunctionType(total.type, [total.type] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, fused), [vector, row, total])

    def add(self, builder, one, other):
        return builder.fadd(one, other)


class _Integers:
    """int8 rows: 2 · LANES numbers a step, neighbours added before they join the sums, as processors do it."""

    step, sums, answer, vector, row = 2 * LANES, ir.VectorType(_INT32, LANES), types.int32, _INT16, _INT8

    def widened(self, builder, numbers):
        is_vector = isinstance(numbers.type, ir.VectorType)
        return builder.sext(numbers, ir.VectorType(_INT32, self.step) if is_vector else _INT32)

    def more(self, builder, total, vector, row):
        products = builder.mul(vector, row)
        if not isinstance(products.type, ir.VectorType):
            return builder.add(total, products)
        even, odd = (_lanes(builder, products, range(first, self.step, 2)) for first in (0, 1))
        return builder.add(total, builder.add(even, odd))

    def add(self, builder, one, other):
        return builder.add(one, other)


def _element(kind):
    return kind.element if isinstance(kind, ir.VectorType) else kind


def _lanes(builder, vector, which):
    chosen = ir.Constant(ir.VectorType(_INT32, len(which)), [_INT32(lane) for lane in which])
    return builder.shuffle_vector(vector, vector, chosen)


def _block(n_vectors: int, n_rows: int):
    """products(vectors, vector, rows, row): of so many vectors and rows from these on, over whole steps."""

    @intrinsic
    def products(context, vectors, vector, rows, row):
        kind = _Integers() if rows.dtype == types.int8 else _Floats(rows)
        answer = types.UniTuple(kind.answer, n_vectors * n_rows)

        def code(context, builder, signature, arguments):
            sides = [context.make_array(signature.args[at])(context, builder, arguments[at]) for at in (0, 2)]
            dim = cgutils.unpack_tuple(builder, sides[0].shape)[1]
            begins = [
                [builder.gep(side.data, [builder.mul(builder.add(first, _INT64(at)), dim)]) for at in range(count)]
                for side, first, count in zip(sides, arguments[1::2], (n_vectors, n_rows))
            ]
            return context.make_tuple(builder, signature.return_type, _sums(builder, kind, dim, *begins))

        return answer(vectors, types.intp, rows, types.intp), code

    return products


def _sums(builder, kind, dim, vectors, rows):
    """The sums of all pairs, vector by vector."""
    totals = [cgutils.alloca_once_value(builder, ir.Constant(kind.sums, None)) for _ in pairs(vectors, rows)]
    whole = builder.mul(builder.sdiv(dim, _INT64(kind.step)), _INT64(kind.step))
    with cgutils.for_range_slice(builder, _INT64(0), whole, _INT64(kind.step)) as (at, _):
        _add_products(builder, kind, at, vectors, rows, totals, kind.step)
    singles = [cgutils.alloca_once_value(builder, _tree(builder, kind, builder.load(total))) for total in totals]
    with cgutils.for_range_slice(builder, whole, dim, _INT64(1)) as (at, _):
        _add_products(builder, kind, at, vectors, rows, singles, 1)
    return [builder.load(single) for single in singles]


def _add_products(builder, kind, at, vectors, rows, totals, count):
    """So many numbers from `at` on of all vectors and rows, multiplied and added to the totals."""
    of_vectors = [kind.widened(builder, _loaded(builder, begin, at, kind.vector, count)) for begin in vectors]
    of_rows = [kind.widened(builder, _loaded(builder, begin, at, kind.row, count)) for begin in rows]
    for total, (vector, row) in zip(totals, pairs(of_vectors, of_rows)):
        builder.store(kind.more(builder, builder.load(total), vector, row), total)


def _loaded(builder, begin, at, kind, count):
    wanted = kind if count == 1 else ir.VectorType(kind, count)
    place = builder.bitcast(builder.gep(begin, [at]), wanted.as_pointer())
    return builder.load(place, align=_BYTES[kind])


def _tree(builder, kind, sums):
    """All lanes as one: the upper half added to the lower, until one is left."""
    width = LANES
    while width > 1:
        width //= 2
        halves = (_lanes(builder, sums, range(first, first + width)) for first in (0, width))
        sums = kind.add(builder, *halves)
    return builder.extract_element(sums, _INT32(0))


_one_by_one, _one_by_four, _four_by_four = _block(1, 1), _block(1, 4), _block(4, 4)


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
        return (vectors, _NO_SCALES), table_of(rows, None)
    check(scales is not None and scales.shape == (len(rows),), f"{what} are int8 and lack scales")
    return in_integers(vectors), table_of(rows, scales)


def table_of(rows: np.ndarray, scales: np.ndarray | None) -> Numbers:
    """Rows as loops take them: numba has no 16-bit floats, so these go as their bits."""
    bits = rows.view(np.uint16) if rows.dtype == np.float16 else rows
    return bits, _NO_SCALES if scales is None else scales


_NO_SCALES = np.empty(0, np.float32)


def in_integers(vectors: np.ndarray) -> Numbers:
    """Vectors as integers and a scale each, for rows of int8.

    Integers of 16 bits cost no more than 8 beside rows of 8; they use as many of them as no sum can overflow with.
    """
    codes, scales = np.empty(vectors.shape, np.int16), np.empty(len(vectors), np.float32)
    _in_integers(vectors, min(2047, (2**31 - 1) // max(128 * vectors.shape[1], 1)), codes, scales)
    return codes, scales


@compiled
def _in_integers(vectors, most, codes, scales):
    for at in range(len(vectors)):
        largest = np.float32(0)
        for d in range(vectors.shape[1]):
            largest = max(largest, abs(vectors[at, d]))
        scales[at] = largest / np.float32(most)
        turn = np.float32(most) / largest if largest > 0 else np.float32(0)
        for d in range(vectors.shape[1]):
            codes[at, d] = np.int16(np.rint(vectors[at, d] * turn))


# -- single numbers ------------------------------------------------------------------------------------------------


@intrinsic
def as_float(context, number):
    """A number of a table as a float32, without its scale."""

    def code(context, builder, signature, arguments):
        if number == types.uint16:
            return builder.fpext(builder.bitcast(arguments[0], _HALF), _FLOAT)
        return arguments[0] if number == types.float32 else builder.sitofp(arguments[0], _FLOAT)

    return types.float32(number), code


def _scaled(total, queries, document, table, row):
    raise NotImplementedError  # for compiled code alone


@overload(_scaled)
def _scaled_by_kind(total, queries, document, table, row):
    """What a sum means: floats are what they are, integers are in units of both scales."""
    if isinstance(total, types.Float):
        return lambda total, queries, document, table, row: total
    return lambda total, queries, document, table, row: np.float32(total) * (queries[1][document] * table[1][row])


# -- for other kernels ---------------------------------------------------------------------------------------------


@compiled
def product(queries, document, table, row):
    """⟨document, row⟩."""
    vectors, rows = queries[0], table[0]
    total = _one_by_one(vectors, document, rows, row)[0]
    return _scaled(total, queries, document, table, row)


@compiled
def run_products(queries, document, table, start, stop, found):
    """⟨document, row⟩ of the rows from `start` to `stop`, into the beginning of `found`."""
    vectors, rows = queries[0], table[0]
    row = start
    while row + 4 <= stop:
        four = _one_by_four(vectors, document, rows, row)
        for at in range(4):
            total = four[at]
            found[row + at - start] = _scaled(total, queries, document, table, row + at)
        row += 4
    while row < stop:
        found[row - start] = product(queries, document, table, row)
        row += 1


@compiled
def tile_products(queries, first, tile, table, found):
    """⟨document, row⟩ of `tile` documents from `first` on and of all rows, into the beginning of `found` (…, rows)."""
    vectors, rows = queries[0], table[0]
    together, fours = tile - tile % 4, len(rows) - len(rows) % 4
    for row in range(0, fours if together else 0, 4):
        for document in range(0, together, 4):
            block = _four_by_four(vectors, first + document, rows, row)
            for at in range(16):
                here, there = document + at // 4, row + at % 4
                found[here, there] = _scaled(block[at], queries, first + here, table, there)
    for document in range(tile):
        start = fours if document < together else 0
        run_products(queries, first + document, table, start, len(rows), found[document, start:])
