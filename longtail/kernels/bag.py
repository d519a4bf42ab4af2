"""Texts as weighted sums of token vectors, what the tokens learn from them, and the block behind in the same pass.

    gated block       x̂ = ReLU(identity ⊙ s + R · ReLU(s) + offset)       s = Σ weight · token vector
    residual block    x̂ = h + ReLU(R · h + offset)                         h = ReLU(s)

A batch touches few tokens, so nothing here costs what the vocabulary does.  Texts go through the block a few at a time,
every one in the same order of sums, so that a text is read the same alone and in a batch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.kernels.borders import check, check_rows, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.products import as_float, table_of, tile_products
from longtail.kernels.standalone import standalone
from longtail.kernels.threads import PerThread, in_threads
from longtail.sparse import Rows

# Sums may be taken in any order, which lets them run in vector registers; NaN and infinities keep their meaning.
ANY_ORDER = {"reassoc", "contract", "nsz", "arcp"}


def bag_sums(
    bags: Rows, vectors: np.ndarray, threads: int | None = None, scales: np.ndarray | None = None
) -> np.ndarray:
    """Each bag's token vectors, in any precision, weighed and added up: (bags, dim) float32."""
    check_rows(bags, len(vectors), "tokens of bags")
    if scales is not None:
        check_shape(scales, (len(vectors),), "scales of token vectors")
    sums = np.empty((len(bags[0]) - 1, vectors.shape[1]), np.float32)
    work, table = _numbers_a_bag(bags[1], sums), table_of(vectors, scales)
    in_threads(lambda start, stop: _bag_sums(*bags, table, start, stop, sums), len(sums), threads, work)
    return sums


def bag_gradients(bags: Rows, gradients: np.ndarray, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The tokens in the bags, in order, and the gradient of each, given those of the bags' sums (bags, dim)."""
    check_rows(bags, ANY_TOKEN, "tokens of bags")
    check_shape(gradients, (len(bags[0]) - 1, gradients.shape[1]), "gradients of bags")
    inside, *by_token = _turned_round(*bags)
    table = table_of(gradients, None)
    result = np.empty((len(inside), gradients.shape[1]), np.float32)
    work = _numbers_a_bag(bags[1], result)
    # A bag's gradient is to its tokens what a token's vector was to the bag: the same sum, turned round.
    in_threads(lambda start, stop: _bag_sums(*by_token, table, start, stop, result), len(result), threads, work)
    return inside, result


ANY_TOKEN = 1 << 31  # how many there are is for the table to know that learns


def _numbers_a_bag(tokens: np.ndarray, sums: np.ndarray) -> int:
    """Average number of additions per sum."""
    return len(tokens) * sums.shape[1] // max(len(sums), 1)


@compiled
def _bag_sums(starts, tokens, weights, table, start, stop, sums):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for bag in range(start, stop):
        add_up(starts, tokens, weights, table, bag, sums[bag])


@compiled(fastmath=ANY_ORDER)
def add_up(starts, tokens, weights, table, bag, total):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The token vectors of one bag, for other kernels to call; False where a token has none, or the bag no entries."""
    vectors, scales = table
    for d in range(len(total)):
        total[d] = 0
    if starts[bag] < 0 or starts[bag + 1] > len(tokens):
        return False
    for at in range(starts[bag], starts[bag + 1]):
        token, weight = tokens[at], weights[at]
        if token < 0 or token >= len(vectors):
            return False
        if len(scales) > 0:
            weight *= scales[token]
        for d in range(len(total)):
            total[d] += weight * as_float(vectors[token, d])
    return True


@compiled
def _turned_round(starts, tokens, weights):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Transpose the bags: the distinct tokens in order, and for each the bags it is in, with its weights."""
    count, n_inside, order = len(tokens), 0, _order(tokens)
    bag_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    inside, begins = np.empty(count, tokens.dtype), np.empty(count + 1, np.int64)
    for place in range(count):
        token = tokens[order[place]]
        if n_inside == 0 or token != inside[n_inside - 1]:
            inside[n_inside], begins[n_inside] = token, place
            n_inside += 1
    begins[n_inside] = count
    return inside[:n_inside], begins[: n_inside + 1], bag_of[order], weights[order]


DIGIT = 11  # bits that a pass sorts by: its 2,048 counters stay in the fastest cache


@compiled
def _order(numbers):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Stable argsort of token numbers by radix sort, linear in the size of the batch.

    Counting by token would cost what the vocabulary does, and a sort by comparison takes four times as long.
    """
    most = numbers.max() if len(numbers) else 0
    order, other, shift = np.arange(len(numbers)), np.empty(len(numbers), np.int64), 0
    while shift == 0 or most >> shift:
        ends = np.zeros((1 << DIGIT) + 1, np.int64)
        for number in numbers:
            ends[((number >> shift) & ((1 << DIGIT) - 1)) + 1] += 1
        ends = np.cumsum(ends)
        for place in order:
            digit = (numbers[place] >> shift) & ((1 << DIGIT) - 1)
            other[ends[digit]] = place
            ends[digit] += 1
        order, other, shift = other, order, shift + DIGIT
    return order


# -- through a block ---------------------------------------------------------------------------------------------------

TILE = 16  # texts that go through the block while a row of it is in the cache


class Encoding:
    """Token vectors in any precision and a block; without an `identity` it is the residual one."""

    def __init__(
        self, vectors: np.ndarray, residual: np.ndarray, offset: np.ndarray, identity: np.ndarray | None = None,
        scales: np.ndarray | None = None,
    ):  # fmt: skip
        dim = vectors.shape[1]
        check_shape(residual, (dim, dim), "weights of the block")
        check_shape(offset, (dim,), "offsets of the block")
        check(identity is None or identity.shape == (dim,), "gates of the block are of another length")
        check(scales is None or scales.shape == (len(vectors),), "scales of token vectors are more or fewer")
        table, block = table_of(vectors, scales), table_of(np.ascontiguousarray(residual, np.float32), None)
        gates = np.empty(0, np.float32) if identity is None else np.ascontiguousarray(identity, np.float32)
        self._dim, self._arrays = dim, (table, block, np.ascontiguousarray(offset, np.float32), gates)
        self._given = vectors, residual, offset, identity, scales
        self._run, self._desks = _encode.bound(*self._arrays), PerThread(lambda: _Desk(self._arrays, dim))
        self._explaining = PerThread(lambda: _Explaining(self._arrays, dim, LABELS, ON_DESK))

    def __reduce__(self) -> tuple:
        return Encoding, self._given

    def __call__(self, bags: Rows, threads: int | None = None) -> np.ndarray:
        """x̂ of every bag, (bags, dim) float32."""
        check(len(bags[0]) > 0 and len(bags[1]) == len(bags[2]), "bags: entries lack a token or a weight")
        if len(bags[0]) == 2 and len(bags[1]) <= ON_DESK and self._desks.here is not None:
            return self._desks.here.vector(bags)
        vectors = np.empty((len(bags[0]) - 1, self._dim), np.float32)

        def part(start: int, stop: int) -> None:
            sums = np.empty((2, min(TILE, stop - start), self._dim), np.float32)
            check(self._run(*bags, start, stop, sums, vectors) == 0, MISTAKEN)

        in_threads(part, len(vectors), threads)
        return vectors

    def explained(self, bag: Rows, rows: np.ndarray) -> Explained:
        """What the tokens of one bag add to ⟨row, x̂⟩ of some rows (rows, dim).

        Blocks are piecewise linear: around x̂, with p = [s > 0],

            gated       ⟨w, x̂⟩ = ⟨a⊙w, identity⊙s + R(p⊙s) + offset⟩                a = [x̂ > 0]
            residual    ⟨w, x̂⟩ = ⟨w, p⊙s⟩ + ⟨a⊙w, R(p⊙s) + offset⟩                  a = [R(p⊙s) + offset > 0]
        """
        check(len(bag[0]) == 2 and len(bag[1]) == len(bag[2]), "one bag whose entries have a token and a weight")
        check_shape(rows, (len(rows), self._dim), "rows to explain")
        fits = len(rows) <= LABELS and len(bag[1]) <= ON_DESK
        desk = self._explaining.here if fits else None
        return (desk or _Explaining(self._arrays, self._dim, len(rows), len(bag[1]))).explained(bag, rows)


class Explained(NamedTuple):
    """What the tokens of one bag add to ⟨row, x̂⟩ of some rows."""

    vector: np.ndarray  # (1, dim) float32: x̂
    values: np.ndarray  # (rows, tokens) float64
    constants: np.ndarray  # (rows,) float64: what no token adds
    logits: np.ndarray  # (rows,) float64: ⟨row, x̂⟩


class _Desk:
    """Arrays for one short bag, reused by a thread from call to call."""

    def __init__(self, arrays: tuple, dim: int):
        self._starts = np.zeros(2, np.int64)
        self._tokens, self._weights = np.zeros(ON_DESK, np.int32), np.zeros(ON_DESK, np.float32)
        self._vectors, sums = np.zeros((1, dim), np.float32), np.zeros((2, 1, dim), np.float32)
        bag = self._starts, self._tokens, self._weights
        self._call = _encode.ready(*arrays, *bag, 0, 1, sums, self._vectors)

    def vector(self, bag: Rows) -> np.ndarray:
        """x̂ of a bag, (1, dim)."""
        (start, stop), count = bag[0].tolist(), len(bag[1])
        check(0 <= start <= stop <= count, MISTAKEN)
        self._starts[:] = start, stop
        self._tokens[:count], self._weights[:count] = bag[1:]
        check(self._call() == 0, MISTAKEN)
        return self._vectors.copy()


class _Explaining:
    """Arrays for one bag and some rows, and the call that explains them."""

    def __init__(self, arrays: tuple, dim: int, rows: int, tokens: int):
        self._starts, self._count = np.zeros(2, np.int64), np.zeros(1, np.int64)
        self._tokens, self._weights = np.zeros(tokens, np.int32), np.zeros(tokens, np.float32)
        self._rows, vector = np.zeros((rows, dim), np.float32), np.zeros((1, dim), np.float32)
        self._made = Explained(vector, np.zeros((rows, tokens)), np.zeros(rows), np.zeros(rows))
        given = self._starts, self._tokens, self._weights, self._rows, self._count
        room = np.zeros((2, 1, dim), np.float32), np.zeros((rows, dim), np.float32)
        self._call = _explain.ready(*arrays, *given, *room, *self._made)

    def explained(self, bag: Rows, rows: np.ndarray) -> Explained:
        """What the tokens of the bag add to the rows, of which there are no more than there is room for."""
        (start, stop), tokens, count = bag[0].tolist(), len(bag[1]), len(rows)
        check(start == 0 and stop == tokens, MISTAKEN)
        self._starts[1], self._count[0], self._rows[:count] = tokens, count, rows
        self._tokens[:tokens], self._weights[:tokens] = bag[1:]
        check(self._call() == 0, MISTAKEN)
        vector, values, constants, logits = self._made
        parts = values[:count, :tokens], constants[:count], logits[:count]
        return Explained(vector.copy(), *(part.copy() for part in parts))


MISTAKEN = "bags: a token has no vector, or a row no entries"
ON_DESK = 1024  # entries of a bag for which there is room
LABELS = 16  # rows that are explained in arrays that a thread keeps


@standalone
def _encode(table, block, offset, identity, starts, tokens, weights, start, stop, sums, vectors):
    """`sums` (2, TILE or fewer, dim) is room for what enters the block, as it is and without negative numbers."""
    whole, positive = sums[0], sums[1]
    for first in range(start, stop, TILE):
        tile, out = min(TILE, stop - first), vectors[first:]
        for at in range(tile):
            if not add_up(starts, tokens, weights, table, first + at, whole[at]):
                return 1
            for d in range(len(offset)):
                positive[at, d] = max(whole[at, d], np.float32(0))
        tile_products((positive, table[1][:0]), 0, tile, block, out)
        for at in range(tile):
            for d in range(len(offset)):
                if len(identity) > 0:
                    out[at, d] = max(identity[d] * whole[at, d] + out[at, d] + offset[d], np.float32(0))
                else:
                    out[at, d] = positive[at, d] + max(out[at, d] + offset[d], np.float32(0))
    return 0


@standalone
def _explain(
    table, block, offset, identity, starts, tokens, weights, all_rows, count, sums, all_directions, vectors, values,
    constants, logits,
):  # fmt: skip
    """The first count[0] rows; `all_directions` (rows, dim) is room for what s is multiplied with."""
    rows, directions, tokens = all_rows[: count[0]], all_directions[: count[0]], tokens[: starts[1]]
    if _encode(table, block, offset, identity, starts, tokens, weights, 0, 1, sums, vectors) != 0:
        return 1
    _through_block(rows, block[0], offset, len(identity) > 0, sums[0, 0], vectors[0], directions, constants)
    _past_block(rows, identity, sums[0, 0], vectors[0], directions)
    _add_tokens(table, tokens, weights, directions, values)
    for row in range(len(rows)):
        logits[row] = _product(rows[row], vectors[0])
    return 0


@compiled
def _through_block(rows, block, offset, gated, whole, vector, directions, constants):
    """Rows as they meet the positive part of s, into `directions`, and what no token adds.

    A row of the block is read once for all.
    """
    directions[:], constants[:] = 0, 0
    for d in range(len(vector)):
        if vector[d] > (np.float32(0) if gated else max(whole[d], np.float32(0))):
            for row in range(len(rows)):
                constants[row] += np.float64(rows[row, d]) * offset[d]
                _add_times(rows[row, d], block[d], directions[row])


@compiled
def _past_block(rows, identity, whole, vector, directions):
    """Leave out what is not positive in s, and add what goes past the block."""
    gated = len(identity) > 0
    for row in range(len(rows)):
        for d in range(len(vector)):
            past = identity[d] * rows[row, d] if gated else rows[row, d]
            goes = vector[d] > 0 if gated else whole[d] > 0
            directions[row, d] = (directions[row, d] if whole[d] > 0 else 0) + (past if goes else 0)


@compiled(fastmath=ANY_ORDER)
def _product(one, other):
    total = 0.0
    for d in range(len(one)):
        total += np.float64(one[d]) * other[d]
    return total


@compiled(fastmath=ANY_ORDER)
def _add_times(factor, numbers, totals):
    for d in range(len(totals)):
        totals[d] += factor * numbers[d]


@compiled(fastmath=ANY_ORDER)
def _add_tokens(table, tokens, weights, directions, values):
    """weight · ⟨direction, token vector⟩, (directions, tokens)."""
    vectors, scales = table
    for at in range(len(tokens)):
        token, weight = tokens[at], np.float64(weights[at])
        if len(scales) > 0:
            weight *= scales[token]
        for row in range(len(directions)):
            total = np.float32(0)
            for d in range(directions.shape[1]):
                total += directions[row, d] * as_float(vectors[token, d])
            values[row, at] = weight * total
