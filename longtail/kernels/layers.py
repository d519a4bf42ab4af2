"""The layers of a transformer of BERT's kind (Devlin et al., 2019), over the tokens of many texts in one run, unpadded.

    x    = norm(words + positions)                                   (tokens, hidden)
    a    = softmax(q · k / √size) v,  q, k, v = three · x            for every head, among the tokens of one text
    y    = norm(x + out · a)
    next = norm(y + down · gelu(up · y))

`read` embeds tokens, `through_layer` is one layer.  Both compute a range of the tokens, so that threads can share a
text, and `three` of the next layer is computed with a layer, so that threads wait for each other once a layer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.kernels.compiled import Later, compiled
from longtail.kernels.matmul import COLUMNS, ROWS, Packed, block_products, dense
from longtail.kernels.products import as_float
from longtail.kernels.standalone import standalone

_of_bits = Later("longtail.kernels.vector_code", "of_bits")

# Sums may be taken in any order, which lets them run in vector registers; the order depends on their length alone.
ANY_ORDER = {"reassoc", "contract", "nsz"}


class Norm(NamedTuple):
    """Layer normalisation."""

    weight: np.ndarray  # (hidden,) float32
    bias: np.ndarray
    eps: float


class Words(NamedTuple):
    """Vectors of tokens and positions; `before` is the position before the first token."""

    rows: np.ndarray  # (tokens, hidden) float32, int8, or uint16 as the bits of fp16
    scales: np.ndarray  # (tokens,) float32
    positions: np.ndarray  # (positions, hidden) float32
    norm: Norm
    before: int


class Layer(NamedTuple):
    """Weights of a layer, of its normalisations, and `three` of the next layer, which for the last has no outputs."""

    out: Packed
    after_attention: Norm
    up: Packed
    down: Packed
    after: Norm
    next_three: Packed
    heads: int


class Space(NamedTuple):
    """A thread's buffers; sums and codes are integers, or floats where weights are floats."""

    sums: np.ndarray  # (ROWS · COLUMNS,)
    codes: np.ndarray  # (STRIP · widest,)
    scales: np.ndarray  # (STRIP,)
    context: np.ndarray  # (STRIP, hidden)
    mixed: np.ndarray  # (STRIP, hidden)
    middle: np.ndarray  # (STRIP, inner)
    keys: np.ndarray  # of a head, in panels of COLUMNS tokens
    values: np.ndarray  # of a head, in panels of COLUMNS numbers
    attention: np.ndarray  # (ROWS, tokens up to a whole panel)
    attended: np.ndarray  # (ROWS · COLUMNS,) float32
    largest: int  # code; 0 for floats


STRIP = 96  # tokens that go through a layer together: their vectors stay in the cache of a core


# -- a range of tokens -------------------------------------------------------------------------------------------------


@standalone
def read(words, three, space, ids, offsets, start, stop, states, threes):
    """Embed the tokens from `start` to `stop`: their first states, and `three` of the first layer."""
    for text in range(len(offsets) - 1):
        position = words.before
        for at in range(offsets[text], min(offsets[text + 1], stop)):
            padding = ids[at] == words.before  # RoBERTa counts tokens of padding at the position before the first
            position += 0 if padding else 1
            if at >= start:
                _embed(words, ids[at], words.before if padding else position, states[at])
    for first in range(start, stop, STRIP):
        end = min(first + STRIP, stop)
        _multiplied(states[first:end], three, space, threes[first:end])
    return 0


@standalone
def through_layer(layer, space, offsets, start, stop, states, threes, next_threes):
    """One layer for the tokens from `start` to `stop`; `threes` holds q, k and v of all tokens of their texts."""
    text = 0
    for first in range(start, stop, STRIP):
        end = min(first + STRIP, stop)
        while offsets[text + 1] <= first:
            text += 1
        _attended(offsets, text, first, end, layer.heads, threes, space)
        x, mixed, middle = states[first:end], space.mixed[: end - first], space.middle[: end - first]
        _multiplied(space.context[: end - first], layer.out, space, mixed)
        _added_and_normalised(mixed, layer.after_attention, x)
        _multiplied(x, layer.up, space, middle)
        _gelu(middle)
        _multiplied(middle, layer.down, space, mixed)
        _added_and_normalised(mixed, layer.after, x)
        if len(layer.next_three.bias) > 0:
            _multiplied(x, layer.next_three, space, next_threes[first:end])
    return 0


@standalone
def pool(states, offsets, token, found, column):
    """The state of a text's first or last token (`token` 0 or −1), or with 1 the mean of all, from a column on."""
    hidden = states.shape[1]
    for text in range(len(offsets) - 1):
        begin, end, mine = offsets[text], offsets[text + 1], found[text, column : column + hidden]
        first, last = (end - 1 if token < 0 else begin), (end if token != 0 else begin + 1)
        for d in range(hidden):
            mine[d] = states[first, d]
        for at in range(first + 1, last):
            state = states[at]
            for d in range(hidden):
                mine[d] += state[d]
        count = np.float32(last - first)
        for d in range(hidden):
            mine[d] /= count
    return 0


# -- products ----------------------------------------------------------------------------------------------------------


@compiled
def _multiplied(vectors, packed, space, found):
    rows, inputs = vectors.shape
    for row in range(rows):
        space.scales[row] = _coded(vectors[row], space.largest, space.codes[row * inputs : (row + 1) * inputs])
    dense(space.codes, space.scales, 0, rows, packed, space.sums, found)


@compiled
def _coded(vector, largest, codes):
    """Quantise a vector to integers and a scale; unchanged if `largest` is 0."""
    if largest == 0:
        for d in range(len(vector)):
            codes[d] = vector[d]
        return np.float32(1)
    most = _of_bits(_largest_bits(vector.view(np.int32)))
    turn = np.float32(largest) / most if most > 0 else np.float32(0)
    for d in range(len(vector)):
        codes[d] = np.int32((vector[d] * turn + TO_WHOLE) - TO_WHOLE)
    return most / np.float32(largest)


TO_WHOLE = np.float32(1.5 * 2**23)  # next to it floats have no digits after the point, so that sums are rounded


@compiled
def _largest_bits(bits):
    """The bits of the largest size of some floats: without signs these are in order as integers, 16 at a time."""
    most = np.int32(0)
    for d in range(len(bits)):
        most = max(most, bits[d] & np.int32(0x7FFFFFFF))
    return most


# -- attention ---------------------------------------------------------------------------------------------------------


@compiled
def _attended(offsets, text, first, end, heads, threes, space):
    """Attention of the tokens from `first` to `end` to the tokens of their texts, into space.context."""
    at = first
    while at < end:
        begin, stop = offsets[text], offsets[text + 1]
        until = min(stop, end)
        tokens, size = stop - begin, threes.shape[1] // (3 * heads)
        for head in range(heads):
            _pack_keys(threes, begin, tokens, head * size, size, space.keys)
            _pack_values(threes, begin, tokens, head * size, size, space.values)
            for row in range(at, until, ROWS):
                rows = min(ROWS, until - row)
                _attention_weights(threes, row, rows, tokens, head * size, size, space)
                context = space.context[row - first : row - first + rows, head * size : (head + 1) * size]
                _mix_values(rows, tokens, space, context)
        at, text = until, text + 1


@compiled
def _pack_keys(threes, begin, tokens, column, size, keys):
    hidden = threes.shape[1] // 3
    for token in range(tokens):
        key = threes[begin + token, hidden + column : hidden + column + size]
        place = token // COLUMNS * size * COLUMNS + token % COLUMNS
        for d in range(size):
            keys[place + d * COLUMNS] = key[d]


@compiled
def _pack_values(threes, begin, tokens, column, size, values):
    hidden = threes.shape[1] // 3
    for first in range(0, size, COLUMNS):
        width = min(COLUMNS, size - first)
        for token in range(tokens):
            place, start = first * tokens + token * COLUMNS, 2 * hidden + column + first
            mine, value = values[place : place + width], threes[begin + token, start : start + width]
            for d in range(width):
                mine[d] = value[d]


@compiled
def _attention_weights(threes, row, rows, tokens, column, size, space):
    """softmax(q · k / √size) of some tokens with all of their text."""
    keys, weights, sums = space.keys, space.attention, space.attended
    width, scale = threes.shape[1], np.float32(1 / np.sqrt(size))
    for first in range(0, tokens, COLUMNS):
        block_products(rows, threes, row * width + column, width, keys, first * size, size, first * size, sums)
        for at in range(rows):
            found, new = weights[at, first : first + COLUMNS], sums[at * COLUMNS : (at + 1) * COLUMNS]
            for d in range(COLUMNS):
                found[d] = new[d] * scale
    for at in range(rows):
        _softmax(weights[at, :tokens])


@compiled
def _mix_values(rows, tokens, space, context):
    weights, values, sums = space.attention, space.values, space.attended
    size = context.shape[1]
    for first in range(0, size, COLUMNS):
        block_products(rows, weights, 0, weights.shape[1], values, first * tokens, tokens, first * tokens, sums)
        for at in range(rows):
            new, mine = sums[at * COLUMNS : (at + 1) * COLUMNS], context[at, first : first + COLUMNS]
            for d in range(len(mine)):
                mine[d] = new[d]


@compiled
def _softmax(numbers):
    most = _most(numbers)
    for d in range(len(numbers)):
        numbers[d] = _exp(numbers[d] - most)
    share = np.float32(1) / _sum(numbers)
    for d in range(len(numbers)):
        numbers[d] *= share


@compiled(fastmath={"reassoc", "nnan", "nsz"})
def _most(numbers):
    most = numbers[0]
    for d in range(len(numbers)):
        most = numbers[d] if numbers[d] > most else most
    return most


@compiled(fastmath=ANY_ORDER)
def _sum(numbers):
    total = np.float32(0)
    for d in range(len(numbers)):
        total += numbers[d]
    return total


# -- one vector at a time ----------------------------------------------------------------------------------------------


@compiled
def _embed(words, token, position, state):
    row, place = words.rows[token], words.positions[position]
    scale = words.scales[token] if len(words.scales) else np.float32(1)
    for d in range(len(state)):
        state[d] = as_float(row[d]) * scale + place[d]
    _normalise(words.norm, state)


@compiled
def _added_and_normalised(added, norm, states):
    """norm(states + added), in place of the states."""
    for row in range(len(states)):
        state, more = states[row], added[row]
        for d in range(len(state)):
            state[d] += more[d]
        _normalise(norm, state)


@compiled
def _normalise(norm, state):
    mean = _sum(state) / np.float32(len(state))
    for d in range(len(state)):
        state[d] -= mean
    turn = np.float32(1) / np.float32(np.sqrt(_sum_of_squares(state) / np.float32(len(state)) + np.float32(norm.eps)))
    weight, bias = norm.weight, norm.bias
    for d in range(len(state)):
        state[d] = state[d] * turn * weight[d] + bias[d]


@compiled(fastmath=ANY_ORDER)
def _sum_of_squares(numbers):
    total = np.float32(0)
    for d in range(len(numbers)):
        total += numbers[d] * numbers[d]
    return total


@compiled
def _gelu(rows):
    """x · Φ(x), in place; Φ(x) = (1 + erf(x / √2)) / 2."""
    for row in range(len(rows)):
        numbers = rows[row]
        for d in range(len(numbers)):
            x = numbers[d]
            numbers[d] = HALF * x * (ONE + _erf(x * ROOT_HALF))


@compiled(error_model="numpy")  # which divides without asking whether by zero, and so several numbers at once
def _erf(x):
    """The error function, to 4e-7: an odd polynomial by an even one, as Eigen has it."""
    x = x if x < FOUR else FOUR
    x = x if x > -FOUR else -FOUR
    t = x * x
    above = A0 + t * (A1 + t * (A2 + t * (A3 + t * (A4 + t * (A5 + t * A6)))))
    below = B0 + t * (B1 + t * (B2 + t * (B3 + t * B4)))
    return x * above / below


HALF, ONE, FOUR, ROOT_HALF = (np.float32(number) for number in (0.5, 1, 4, 0.5**0.5))
A0, A1, A2, A3, A4, A5, A6 = (
    np.float32(number)
    for number in (-1.60960333262415e-02, -2.95459980854025e-03, -7.34990630326855e-04, -5.69250639462346e-05,
                   -2.10102402082508e-06, 2.77068142495902e-08, -2.72614225801306e-10)
)  # fmt: skip
B0, B1, B2, B3, B4 = (
    np.float32(number)
    for number in (-1.42647390514189e-02, -7.37332916720468e-03, -1.68282697438203e-03, -2.13374055278905e-04,
                   -1.45660718464996e-05)
)  # fmt: skip


@compiled
def _exp(x):
    """e^x of x ≤ 0, to 3e-7 of itself: a power of two, and a polynomial of what is left; below −87 as at −87."""
    x = x if x > LEAST else LEAST
    whole = (x * LOG2_E + TO_WHOLE) - TO_WHOLE
    rest = x - whole * LN2_HIGH - whole * LN2_LOW
    power = ONE + rest * (ONE + rest * (C2 + rest * (C3 + rest * (C4 + rest * (C5 + rest * C6)))))
    return power * _of_bits((np.int32(whole) + np.int32(127)) << np.int32(23))


LEAST, LOG2_E, LN2_HIGH, LN2_LOW = (np.float32(n) for n in (-87, 1.44269504, 0.693359375, -2.12194440e-4))
C2, C3, C4, C5, C6 = (np.float32(1 / n) for n in (2, 6, 24, 120, 720))
