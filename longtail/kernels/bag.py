"""Texts as weighted sums of token vectors, and what the tokens learn from them.

A batch touches few tokens, so nothing here costs what the vocabulary does.
"""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check_rows, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.csr import Rows
from longtail.kernels.products import as_float, table_of
from longtail.kernels.threads import in_threads

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
