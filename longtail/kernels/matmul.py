"""Matrix products for the layers of a transformer, in floats or in integers.

Weights (outputs, inputs) are packed once, in panels of COLUMNS outputs, so that a loop reads one run of memory:

    fp32    (panels, inputs, COLUMNS)                    vectors are float32
    int8    (panels, inputs / 2, COLUMNS, 2)             vectors are int16 codes, each with a scale (`in_codes`)
    int16   the same, for weights of fp16, of which int8 would lose more than half of the digits

ROWS vectors meet a panel at a time, in ROWS · COLUMNS sums that stay in registers.  Each sum is taken in the order of
the inputs, whatever is computed beside it, and sums of integers are exact: a vector has the same products alone, in a
batch and on any number of threads, to the last bit.  The blocks are written as vector instructions of LLVM: AVX-512 and
VNNI do sixteen sums by one vfmadd231ps or by one vpdpwssd, which does two inputs at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import compiled

LANES = 16
ROWS = 6  # vectors of a block
VECTORS = 4 if "avx512f" in binding.get_host_cpu_features() and binding.get_host_cpu_features()["avx512f"] else 1
COLUMNS = LANES * VECTORS  # outputs of a block: what 32 registers hold of ROWS vectors, or 16 of half the width

_INT8, _INT16, _INT32, _INT64, _FLOAT = *(ir.IntType(bits) for bits in (8, 16, 32, 64)), ir.FloatType()


class Packed(NamedTuple):
    """Weights of a layer, packed for the loops; floats have scales of 1."""

    panels: np.ndarray  # one run of memory
    scales: np.ndarray  # (outputs,) float32
    bias: np.ndarray  # (outputs,) float32
    inputs: int  # per output, for integers an even number
    run: int  # inputs whose sums fit 32 bits together


# -- packing -----------------------------------------------------------------------------------------------------------

# Inputs whose sums fit 32 bits, and the largest code of vectors: 127 · 8191 · 2048, 2047 · 2047 · 512 are below 2^31.
RUN = {np.dtype(np.float32): 1 << 30, np.dtype(np.int8): 2048, np.dtype(np.int16): 512}
LARGEST = {np.dtype(np.float32): 0, np.dtype(np.int8): 8191, np.dtype(np.int16): 2047}
LARGEST_WEIGHT = 2047  # code of an int16 weight


def packed(weights: np.ndarray, scales: np.ndarray | None, bias: np.ndarray) -> Packed:
    """Weights (outputs, inputs) as loops take them; fp16 become integers of as many digits."""
    outputs, inputs = weights.shape
    check(scales is not None or weights.dtype != np.int8, "weights of int8 without scales")
    check_shape(bias, (outputs,), "biases")
    if weights.dtype == np.float16:
        weights, scales = _in_short_integers(weights)
    together = 1 if weights.dtype == np.float32 else 2
    check(inputs % together == 0, f"{inputs} inputs, which must be even")
    panels = -(-outputs // COLUMNS)
    whole = np.zeros((panels * COLUMNS, inputs), weights.dtype)
    whole[:outputs] = weights
    turned = whole.reshape(panels, COLUMNS, inputs // together, together).transpose(0, 2, 1, 3)
    own = np.ones(outputs, np.float32) if scales is None else np.ascontiguousarray(scales, np.float32)
    run = RUN[weights.dtype]
    return Packed(np.ascontiguousarray(turned).reshape(-1), own, np.ascontiguousarray(bias, np.float32), inputs, run)


def _in_short_integers(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    numbers = weights.astype(np.float32)
    scales = np.abs(numbers).max(axis=1, initial=0) / np.float32(LARGEST_WEIGHT)
    return np.rint(numbers / np.where(scales > 0, scales, 1)[:, None]).astype(np.int16), scales


# -- blocks ------------------------------------------------------------------------------------------------------------


def _block(n_rows: int):
    """block(vectors, start, stride, panels, first, inputs, sums): so many vectors by a panel, into (…, COLUMNS)."""

    @intrinsic
    def block(context, vectors, start, stride, panels, first, inputs, sums):
        def code(context, builder, signature, arguments):
            data = [context.make_array(signature.args[at])(context, builder, arguments[at]).data for at in (0, 3, 6)]
            begins = [
                builder.gep(data[0], [builder.add(arguments[1], builder.mul(arguments[2], _INT64(row)))])
                for row in range(n_rows)
            ]
            panel = builder.gep(data[1], [arguments[4]])
            kind = _Floats() if vectors.dtype == types.float32 else _Integers()
            totals = _multiplied(builder, kind, begins, panel, arguments[5])
            for at, total in enumerate(totals):
                place = builder.bitcast(builder.gep(data[2], [_INT64(at * LANES)]), kind.sums.as_pointer())
                builder.store(builder.load(total), place, align=4)
            return context.get_dummy_value()

        whole = (types.intp,) * 3
        return types.none(vectors, whole[0], whole[1], panels, whole[0], whole[1], sums), code

    return block


def _multiplied(builder, kind, begins, panel, inputs):
    """The sums of every vector and of every LANES outputs of the panel."""
    totals = [cgutils.alloca_once_value(builder, ir.Constant(kind.sums, None)) for _ in range(len(begins) * VECTORS)]
    with cgutils.for_range_slice(builder, _INT64(0), inputs, _INT64(kind.step)) as (at, _):
        place = builder.mul(at, _INT64(COLUMNS))
        weights = [kind.weights(builder, panel, place, vector) for vector in range(VECTORS)]
        for row, begin in enumerate(begins):
            spread = kind.spread(builder, builder.gep(begin, [at]))
            for vector, weight in enumerate(weights):
                total = totals[row * VECTORS + vector]
                builder.store(kind.more(builder, builder.load(total), spread, weight), total)
    return totals


def _everywhere(builder, number, lanes):
    """Broadcast a number to every lane."""
    kind = ir.VectorType(number.type, lanes)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, _INT32(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INT32, lanes), [_INT32(0)] * lanes))


class _Floats:
    """One input a step."""

    step, sums = 1, ir.VectorType(_FLOAT, LANES)

    def weights(self, builder, panel, place, vector):
        begin = builder.gep(panel, [builder.add(place, _INT64(vector * LANES))])
        return builder.load(builder.bitcast(begin, self.sums.as_pointer()), align=4)

    def spread(self, builder, place):
        return _everywhere(builder, builder.load(place), LANES)

    def more(self, builder, total, spread, weights):
        kind = ir.FunctionType(self.sums, [self.sums] * 3)
        fused = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f32")
        return builder.call(fused, [spread, weights, total])


class _Integers:
    """Two inputs a step, whose products are added before they join the sums, as processors do it."""

    step, sums, pairs = 2, ir.VectorType(_INT32, LANES), ir.VectorType(_INT32, 2 * LANES)

    def weights(self, builder, panel, place, vector):
        begin = builder.gep(panel, [builder.add(place, _INT64(2 * vector * LANES))])
        kind = ir.VectorType(begin.type.pointee, 2 * LANES)
        return builder.sext(builder.load(builder.bitcast(begin, kind.as_pointer()), align=1), self.pairs)

    def spread(self, builder, place):
        pair = builder.load(builder.bitcast(place, _INT32.as_pointer()), align=2)
        both = builder.bitcast(_everywhere(builder, pair, LANES), ir.VectorType(_INT16, 2 * LANES))
        return builder.sext(both, self.pairs)

    def more(self, builder, total, spread, weights):
        products = builder.mul(spread, weights)
        even, odd = (_lanes(builder, products, range(first, 2 * LANES, 2)) for first in (0, 1))
        return builder.add(total, builder.add(even, odd))


def _lanes(builder, vector, which):
    chosen = ir.Constant(ir.VectorType(_INT32, len(which)), [_INT32(lane) for lane in which])
    return builder.shuffle_vector(vector, vector, chosen)


_of_1, _of_2, _of_3, _of_4, _of_5, _of_6 = (_block(rows) for rows in range(1, ROWS + 1))


@compiled
def block_products(rows, vectors, start, stride, panels, first, inputs, sums):
    """Products of one to ROWS vectors with a panel, into sums (…, COLUMNS)."""
    if rows == 6:
        _of_6(vectors, start, stride, panels, first, inputs, sums)
    elif rows == 5:
        _of_5(vectors, start, stride, panels, first, inputs, sums)
    elif rows == 4:
        _of_4(vectors, start, stride, panels, first, inputs, sums)
    elif rows == 3:
        _of_3(vectors, start, stride, panels, first, inputs, sums)
    elif rows == 2:
        _of_2(vectors, start, stride, panels, first, inputs, sums)
    else:
        _of_1(vectors, start, stride, panels, first, inputs, sums)


@compiled
def dense(vectors, scales, start, stop, packed, sums, found):
    """weights · vector + bias of the vectors from `start` to `stop`, into found (vectors, outputs)."""
    flat, outputs = vectors.reshape(-1), len(packed.bias)
    for column in range(0, outputs, COLUMNS):
        end = min(column + COLUMNS, outputs)
        own, bias = packed.scales[column:end], packed.bias[column:end]
        for row in range(start, stop, ROWS):
            rows = min(ROWS, stop - row)
            for first in range(0, packed.inputs, packed.run):
                inputs = min(packed.run, packed.inputs - first)
                block_products(
                    rows, flat, row * packed.inputs + first, packed.inputs,
                    packed.panels, column * packed.inputs + first * COLUMNS, inputs, sums,
                )  # fmt: skip
                part = found[row : row + rows, column:end]
                _scaled(sums, rows, first == 0, scales[row : row + rows], own, bias, part)


@compiled
def _scaled(sums, rows, is_first, scales, own, bias, found):
    """Sums of a block in their own unit, added to the bias or to what was found before."""
    for at in range(rows):
        scale, mine, new = scales[at], found[at], sums[at * COLUMNS : (at + 1) * COLUMNS]
        if is_first:
            for d in range(len(own)):
                mine[d] = np.float32(new[d]) * (scale * own[d]) + bias[d]
        else:
            for d in range(len(own)):
                mine[d] += np.float32(new[d]) * (scale * own[d])
