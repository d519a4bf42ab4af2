"""The blocks of matmul.py as vector instructions of LLVM: what only numba's compiler calls."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from longtail.kernels.matmul import COLUMNS, LANES, LINE, ROWS, VECTORS

_INT16, _INT32, _INT64, _FLOAT = *(ir.IntType(bits) for bits in (16, 32, 64)), ir.FloatType()


def _block(n_rows: int):
    """block(vectors, start, stride, panels, first, inputs, ahead, sums): so many vectors by a panel, into (…, COLUMNS).

    A cache line a step is fetched from `ahead` on, a place among the panels or behind them.
    """

    @intrinsic
    def block(context, vectors, start, stride, panels, first, inputs, ahead, sums):
        def code(context, builder, signature, arguments):
            data = [context.make_array(signature.args[at])(context, builder, arguments[at]).data for at in (0, 3, 7)]
            begins = [
                builder.gep(data[0], [builder.add(arguments[1], builder.mul(arguments[2], _INT64(row)))])
                for row in range(n_rows)
            ]
            panel, ahead = (builder.gep(data[1], [arguments[at]]) for at in (4, 6))
            kind = _Floats() if vectors.dtype == types.float32 else _Integers()
            totals = _multiplied(builder, kind, begins, panel, arguments[5], ahead)
            for at, total in enumerate(totals):
                place = builder.bitcast(builder.gep(data[2], [_INT64(at * LANES)]), kind.sums.as_pointer())
                builder.store(builder.load(total), place, align=4)
            return context.get_dummy_value()

        place = types.intp
        return types.none(vectors, place, place, panels, place, place, place, sums), code

    return block


def _multiplied(builder, kind, begins, panel, inputs, ahead):
    """The sums of every vector and of every LANES outputs of the panel."""
    totals = [cgutils.alloca_once_value(builder, ir.Constant(kind.sums, None)) for _ in range(len(begins) * VECTORS)]
    with cgutils.for_range_slice(builder, _INT64(0), inputs, _INT64(kind.step)) as (at, _):
        place = builder.mul(at, _INT64(COLUMNS))
        _fetch(builder, builder.gep(ahead, [builder.mul(builder.sdiv(at, _INT64(kind.step)), _INT64(_line_of(ahead)))]))
        weights = [kind.weights(builder, panel, place, vector) for vector in range(VECTORS)]
        for row, begin in enumerate(begins):
            spread = kind.spread(builder, builder.gep(begin, [at]))
            for vector, weight in enumerate(weights):
                total = totals[row * VECTORS + vector]
                builder.store(kind.more(builder, builder.load(total), spread, weight), total)
    return totals


def _line_of(pointer):
    """Numbers of a cache line."""
    return LINE * 8 // (32 if pointer.type.pointee == _FLOAT else pointer.type.pointee.width)


def _fetch(builder, place):
    """Have the cache line of a place read into the second cache: any address is allowed."""
    kind = ir.FunctionType(ir.VoidType(), [place.type, _INT32, _INT32, _INT32])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(fetch, [place, _INT32(0), _INT32(2), _INT32(1)])


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


of_1, of_2, of_3, of_4, of_5, of_6 = (_block(rows) for rows in range(1, ROWS + 1))
