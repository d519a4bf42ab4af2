"""Products of vectors as instructions of LLVM: imported by numba's compiler alone, through `Later` (compiled.py).

The compiler may not reorder sums of floats, and left to itself it computes one at a time.  So the sums are written as
vector instructions, which every processor has a translation for (AVX-512 with VNNI: vfmadd231ps, vcvtph2ps, vpdpwssd).
kernels/products.py says what is summed, and in which order.
"""

from __future__ import annotations

from itertools import product as pairs

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from longtail.kernels.products import TOGETHER

LANES = 16  # sums side by side

_INT8, _INT16, _INT32, _INT64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_FLOAT, _HALF = ir.FloatType(), ir.HalfType()
_BYTES = {_INT8: 1, _INT16: 2, _INT32: 4, _HALF: 2, _FLOAT: 4}


# -- kinds of numbers -----------------------------------------------------------------------------------------------


class _Floats:
    """fp32 and fp16 rows: LANES numbers a step."""

    step, sums, answer, vector = LANES, ir.VectorType(_FLOAT, LANES), types.float32, _FLOAT

    def __init__(self, rows) -> None:
        self.row = _HALF if isinstance(rows.dtype, types.Integer) else _FLOAT

    def widened(self, builder, numbers):
        if numbers.type.element == _FLOAT:
            return numbers
        return builder.fpext(numbers, ir.VectorType(_FLOAT, numbers.type.count))

    def more(self, builder, total, vector, row):
        fused = f"llvm.fma.v{total.type.count}f32"
        kind = ir.FunctionType(total.type, [total.type] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, fused), [vector, row, total])

    one_more = more

    def add(self, builder, one, other):
        return builder.fadd(one, other)


class _Integers:
    """int8 rows: 2 · LANES numbers a step, neighbours added before they join the sums, as processors do it."""

    step, sums, answer, vector, row = 2 * LANES, ir.VectorType(_INT32, LANES), types.int32, _INT16, _INT8

    def widened(self, builder, numbers):
        return builder.sext(numbers, ir.VectorType(_INT32, numbers.type.count))

    def more(self, builder, total, vector, row):
        products = builder.mul(vector, row)
        even, odd = (_lanes(builder, range(first, self.step, 2), products, products) for first in (0, 1))
        return builder.add(total, builder.add(even, odd))

    def one_more(self, builder, total, vector, row):
        return builder.add(total, builder.mul(vector, row))

    def add(self, builder, one, other):
        return builder.add(one, other)


def _lanes(builder, which, one, other):
    """Some lanes of two vectors in line."""
    chosen = ir.Constant(ir.VectorType(_INT32, len(which)), [_INT32(lane) for lane in which])
    return builder.shuffle_vector(one, other, chosen)


def _kind(rows):
    return _Integers() if rows.dtype == types.int8 else _Floats(rows)


# -- blocks: a few vectors with a few rows, read once for all their products ---------------------------------------


@intrinsic
def one_product(context, queries, vector, table, row):
    """⟨vector, row⟩."""
    kind = _kind(table[0])

    def code(context, builder, signature, arguments):
        sides = _sides(context, builder, signature, arguments)
        totals = _totals(builder, kind, *_begins(builder, sides, arguments[1::2], (1, 1)))
        (found,) = _meanings(builder, kind, totals, sides, arguments[1::2], 1, 1)
        return builder.extract_element(found, _INT32(0))

    return types.float32(queries, types.intp, table, types.intp), code


def _block(n_vectors: int, n_rows: int):
    """store(queries, vector, table, row, found, place, stride): products of so many vectors and rows from these on.

    Those of a vector go to `found` from `place` on, those of the next one `stride` further.
    """

    @intrinsic
    def store(context, queries, vector, table, row, found, place, stride):
        kind = _kind(table[0])

        def code(context, builder, signature, arguments):
            sides = _sides(context, builder, signature, arguments)
            firsts, out = arguments[1:4:2], context.make_array(signature.args[4])(context, builder, arguments[4])
            totals = _totals(builder, kind, *_begins(builder, sides, firsts, (n_vectors, n_rows)))
            for at, found in enumerate(_meanings(builder, kind, totals, sides, firsts, n_vectors, n_rows)):
                place = builder.gep(out.data, [builder.add(arguments[5], builder.mul(arguments[6], _INT64(at)))])
                builder.store(found, builder.bitcast(place, found.type.as_pointer()), align=4)
            return context.get_dummy_value()

        return types.void(queries, types.intp, table, types.intp, found, types.intp, types.intp), code

    return store


one_by_four, four_by_four = _block(1, 4), _block(4, 4)


@intrinsic
def one_by_picked(context, queries, vector, table, picked, found, place):
    """Products of a vector and of the TOGETHER rows that `picked` names from `place` on, into `found` there."""
    kind = _kind(table[0])

    def code(context, builder, signature, arguments):
        sides = _sides(context, builder, signature, arguments)
        names, out = (context.make_array(signature.args[at])(context, builder, arguments[at]) for at in (3, 4))
        places = [builder.add(arguments[5], _INT64(at)) for at in range(TOGETHER)]
        rows = [builder.sext(_loaded(builder, names.data, at, _INT32, 0), _INT64) for at in places]
        totals = _totals(builder, kind, *_begins_of(builder, sides, [arguments[1]], rows))
        for at, row, total in zip(places, rows, range(TOGETHER)):
            one = _lanes(builder, [total], totals, totals)
            (meant,) = _meanings(builder, kind, one, sides, (arguments[1], row), 1, 1)
            builder.store(builder.extract_element(meant, _INT32(0)), builder.gep(out.data, [at]))
        return context.get_dummy_value()

    return types.void(queries, types.intp, table, picked, found, types.intp), code


def _sides(context, builder, signature, arguments):
    """Arrays of numbers and of scales, of queries and table."""
    return [
        [
            context.make_array(kind)(context, builder, part)
            for kind, part in zip(signature.args[at], cgutils.unpack_tuple(builder, arguments[at]))
        ]
        for at in (0, 2)
    ]


def _begins(builder, sides, firsts, counts):
    """The length of a row, and where so many vectors and so many rows begin."""
    each = ([builder.add(first, _INT64(at)) for at in range(count)] for first, count in zip(firsts, counts))
    return _begins_of(builder, sides, *each)


def _begins_of(builder, sides, vectors, rows):
    """The length of a row, and where these vectors and these rows begin."""
    dim = cgutils.unpack_tuple(builder, sides[0][0].shape)[1]
    begins = (
        [builder.gep(side[0].data, [builder.mul(one, dim)]) for one in each]
        for side, each in zip(sides, (vectors, rows))
    )
    return dim, *begins


def _totals(builder, kind, dim, vectors, rows):
    """The sums of all pairs, vector by vector, side by side."""
    totals = [cgutils.alloca_once_value(builder, ir.Constant(kind.sums, None)) for _ in pairs(vectors, rows)]
    whole = builder.mul(builder.sdiv(dim, _INT64(kind.step)), _INT64(kind.step))
    with cgutils.for_range_slice(builder, _INT64(0), whole, _INT64(kind.step)) as (at, _):
        of_vectors, of_rows = (
            [kind.widened(builder, _loaded(builder, begin, at, number, kind.step)) for begin in side]
            for side, number in ((vectors, kind.vector), (rows, kind.row))
        )
        for total, (vector, row) in zip(totals, pairs(of_vectors, of_rows)):
            builder.store(kind.more(builder, builder.load(total), vector, row), total)
    sums = cgutils.alloca_once_value(builder, _tree(builder, kind, [builder.load(total) for total in totals]))
    with cgutils.for_range_slice(builder, whole, dim, _INT64(1)) as (at, _):
        left = (
            _beside_each_other(builder, [_loaded(builder, begin, at, number, 0) for begin in side])
            for side, number in zip(zip(*pairs(vectors, rows)), (kind.vector, kind.row))
        )
        one, other = (kind.widened(builder, numbers) for numbers in left)
        builder.store(kind.one_more(builder, builder.load(sums), one, other), sums)
    return builder.load(sums)


def _tree(builder, kind, sums):
    """The lanes of each vector as one number, all of them side by side.

    The upper half of a vector's lanes is added to the lower, until one is left; two vectors share an addition.
    """
    width = LANES
    while width > 1:
        width //= 2
        together = list(zip(sums[::2], sums[1::2])) if len(sums) > 1 else [(sums[0], sums[0])]
        groups = sums[0].type.count // (2 * width) * min(2, len(sums))
        low = [2 * width * group + lane for group in range(groups) for lane in range(width)]
        high = [lane + width for lane in low]
        sums = [kind.add(builder, *(_lanes(builder, lanes, *pair) for lanes in (low, high))) for pair in together]
    return sums[0]


def _meanings(builder, kind, totals, sides, firsts, n_vectors, n_rows):
    """What the sums of each vector mean: floats are what they are, integers are in units of both scales."""
    each = [_lanes(builder, range(at * n_rows, (at + 1) * n_rows), totals, totals) for at in range(n_vectors)]
    if kind.answer == types.float32:
        return each
    floats = ir.VectorType(_FLOAT, n_rows)
    (_, of_vectors), (_, of_rows) = sides
    rows = _loaded(builder, of_rows.data, firsts[1], _FLOAT, n_rows)
    scales = (
        _beside_each_other(
            builder, [_loaded(builder, of_vectors.data, builder.add(firsts[0], _INT64(at)), _FLOAT, 0)] * n_rows
        )
        for at in range(n_vectors)
    )
    return [builder.fmul(builder.sitofp(sums, floats), builder.fmul(own, rows)) for sums, own in zip(each, scales)]


def _beside_each_other(builder, numbers):
    """Pack numbers into a vector."""
    together = ir.Constant(ir.VectorType(numbers[0].type, len(numbers)), ir.Undefined)
    for at, number in enumerate(numbers):
        together = builder.insert_element(together, number, _INT32(at))
    return together


def _loaded(builder, begin, at, kind, count):
    """So many numbers from a place on as a vector; 0: one number as such."""
    wanted = ir.VectorType(kind, count) if count else kind
    place = builder.bitcast(builder.gep(begin, [at]), wanted.as_pointer())
    return builder.load(place, align=_BYTES[kind])


# -- single numbers ------------------------------------------------------------------------------------------------


@intrinsic
def as_float(context, number):
    """A number of a table as a float32, without its scale."""

    def code(context, builder, signature, arguments):
        if number == types.uint16:
            return builder.fpext(builder.bitcast(arguments[0], _HALF), _FLOAT)
        return arguments[0] if number == types.float32 else builder.sitofp(arguments[0], _FLOAT)

    return types.float32(number), code


@intrinsic
def widened(context, number):
    """A float32, or the bits of a bfloat16, as a float32."""

    def code(context, builder, signature, arguments):
        if number == types.float32:
            return arguments[0]
        return builder.bitcast(builder.shl(builder.zext(arguments[0], _INT32), _INT32(16)), _FLOAT)

    return types.float32(number), code


@intrinsic
def narrowed(context, number, like):
    """A float32 in the type of `like`: itself, or the bits of the nearest bfloat16, of two as near the even one."""

    def code(context, builder, signature, arguments):
        if like == types.float32:
            return arguments[0]
        bits = builder.bitcast(arguments[0], _INT32)
        odd = builder.and_(builder.lshr(bits, _INT32(16)), _INT32(1))
        rounded = builder.add(builder.add(bits, _INT32(0x7FFF)), odd)
        return builder.trunc(builder.lshr(rounded, _INT32(16)), _INT16)

    return like(types.float32, like), code


@intrinsic
def of_bits(context, bits):
    """The float32 with these bits."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _FLOAT)

    return types.float32(types.int32), code


@intrinsic
def reaching(context, numbers, at, least):
    """Which of the LANES float32 numbers from a place on are at least as large: a bit each, the lowest bit first."""

    def code(context, builder, signature, arguments):
        given = context.make_array(signature.args[0])(context, builder, arguments[0])
        here = _loaded(builder, given.data, arguments[1], _FLOAT, LANES)
        there = _beside_each_other(builder, [arguments[2]] * LANES)
        bits = builder.bitcast(builder.fcmp_ordered(">=", here, there), ir.IntType(LANES))
        return builder.zext(bits, _INT64)

    return types.uint64(numbers, types.intp, types.float32), code


@intrinsic
def lowest_bit(context, bits):
    """The place of the lowest bit that is set; there must be one."""

    def code(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), code


# -- exponentials ---------------------------------------------------------------------------------------------------

# e^x = 2^n · e^r with n = rint(x / ln 2): ln 2 in two parts, and e^r by the polynomial of the Cephes library (expf).
_HIGH, _LOW, _PER_LOG = 0.693359375, -2.12194440e-4, 1.44269504088896341
_POLYNOMIAL = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_LEAST = -87.0  # below, e^x is no normal number


@intrinsic
def exp_total(context, numbers, count, largest):
    """Σ exp(number − largest) of the first `count` numbers, a multiple of LANES; none is larger than the largest."""

    def code(context, builder, signature, arguments):
        given = context.make_array(signature.args[0])(context, builder, arguments[0])
        totals = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(_FLOAT, LANES), None))
        largest = _beside_each_other(builder, [arguments[2]] * LANES)
        with cgutils.for_range_slice(builder, _INT64(0), arguments[1], _INT64(LANES)) as (at, _):
            less = builder.fsub(_loaded(builder, given.data, at, _FLOAT, LANES), largest)
            builder.store(builder.fadd(builder.load(totals), _exp(builder, less)), totals)
        tree = _tree(builder, _Floats(numbers), [builder.load(totals)])
        return builder.extract_element(tree, _INT32(0))

    return types.float32(numbers, types.intp, types.float32), code


def _exp(builder, numbers):
    """e^x of LANES numbers from _LEAST to 0; what is less counts as _LEAST."""
    kind = numbers.type
    least, per_log, high, low, one, *factors = (
        ir.Constant(kind, [value] * LANES) for value in (_LEAST, _PER_LOG, -_HIGH, -_LOW, 1.0, *_POLYNOMIAL)
    )
    numbers = builder.select(builder.fcmp_ordered("<", numbers, least), least, numbers)
    whole = _called(builder, "rint", [builder.fmul(numbers, per_log)])
    rest = _called(builder, "fma", [whole, low, _called(builder, "fma", [whole, high, numbers])])
    found = factors[0]
    for factor in factors[1:]:
        found = _called(builder, "fma", [found, rest, factor])
    found = builder.fadd(_called(builder, "fma", [found, builder.fmul(rest, rest), rest]), one)
    integers = ir.VectorType(_INT32, LANES)
    power = builder.add(builder.fptosi(whole, integers), ir.Constant(integers, [127] * LANES))
    return builder.fmul(found, builder.bitcast(builder.shl(power, ir.Constant(integers, [23] * LANES)), kind))


def _called(builder, name, numbers):
    """A function of LLVM that takes vectors."""
    kind = ir.FunctionType(numbers[0].type, [number.type for number in numbers])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{numbers[0].type.count}f32")
    return builder.call(function, numbers)
