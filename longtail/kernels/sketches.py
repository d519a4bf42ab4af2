"""The k rows with the largest logits, exactly, by a look at rows of 8-bit integers first.

Comparing one document with thousands of fp32 rows takes as long as reading them.  A sketch is a copy of a quarter of
the size, which tells every logit up to an error that is known before:

    |⟨x, r⟩ − ⟨x', r'⟩| ≤ ‖x‖·‖r − r'‖ + ‖x − x'‖·‖r'‖          x', r' what integers and scales say of x and r

A row is not among the k if the most that its logit can be is less than the least that those of k others can be.  The
few rows that this leaves are compared as they are, so the answer has the same bits as without.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.kernels.compiled import compiled
from longtail.kernels.standalone import standalone
from longtail.kernels.top import gather_largest, put_largest_first

LARGEST = 127
# Beside the error of the integers: those of all sums of floats, relative to the lengths of both, and to the bias.
ROUNDING, OF_BIAS = 1e-5, 1e-6
ROUNDED_UP = 1 + 1e-6  # a number that was rounded to float32 may have become smaller


class Sketch(NamedTuple):
    """Rows as integers with a scale each, and how far these may lead from the rows."""

    codes: np.ndarray  # (rows, dim) int8
    scales: np.ndarray  # (rows,) float32
    offs: np.ndarray  # (rows,) float32: ‖r − r'‖, with what sums may be off
    worst: np.ndarray  # (3,) float32: the largest of these, the largest ‖r'‖, and what biases may be off


def sketch_of(rows: np.ndarray, biases: np.ndarray) -> Sketch:
    """The sketch of fp32 rows (rows, dim) with biases (rows,)."""
    scales, offs = np.empty(len(rows), np.float32), np.empty(len(rows), np.float32)
    sketch = Sketch(np.empty(rows.shape, np.int8), scales, offs, np.zeros(3, np.float32))
    _fill(rows, biases, sketch)
    return sketch


def no_sketch(dim: int) -> Sketch:
    """An empty sketch: all rows are compared exactly."""
    nothing = np.empty(0, np.float32)
    return Sketch(np.empty((0, dim), np.int8), nothing, nothing, np.zeros(3, np.float32))


@standalone
def _fill(rows, biases, sketch):
    worst = sketch.worst
    for row in range(len(rows)):
        largest = np.float32(0)
        for d in range(rows.shape[1]):
            largest = max(largest, abs(rows[row, d]))
        scale = largest / np.float32(LARGEST)
        turn = np.float32(1) / scale if scale > np.float32(1e-30) else np.float32(0)
        off = own = coded = 0.0
        for d in range(rows.shape[1]):
            code = min(max(np.rint(rows[row, d] * turn), np.float32(-LARGEST)), np.float32(LARGEST))
            sketch.codes[row, d] = np.int8(code)
            said = np.float64(code) * np.float64(scale)
            off += (np.float64(rows[row, d]) - said) ** 2
            own += np.float64(rows[row, d]) ** 2
            coded += said**2
        sketch.scales[row] = scale
        sketch.offs[row] = np.float32((np.sqrt(off) + ROUNDING * np.sqrt(own)) * ROUNDED_UP)
        worst[0] = max(worst[0], sketch.offs[row])
        worst[1] = max(worst[1], np.float32(np.sqrt(coded) * ROUNDED_UP))
        worst[2] = max(worst[2], np.float32(OF_BIAS * abs(biases[row])))
    return 0


@compiled
def errors(vectors, document, codes, scales, at, worst):
    """(a, b): the exact logit of a row can be a · offs[row] + b from the approximate one, for this document.

    `codes` and `scales` have the document at `at`.
    """
    own = off = 0.0
    for d in range(vectors.shape[1]):
        number = np.float64(vectors[document, d])
        own += number**2
        off += (number - np.float64(codes[at, d]) * np.float64(scales[at])) ** 2
    return np.float32(np.sqrt(own) * ROUNDED_UP), np.float32((np.sqrt(off) * worst[1] + worst[2]) * ROUNDED_UP)


@compiled
def find_possible(logits, wanted, sketch, length, more, places, values):
    """The rows that can be among those with the `wanted` largest logits, into `places`; how many they are.

    `length` and `more` are what `errors` gives.  Logits become the least that they can be.  `values` is room for as
    many numbers as there are logits.
    """
    for row in range(len(logits)):
        logits[row] -= length * sketch.offs[row] + more
    largest = np.float32(2) * (length * sketch.worst[0] + more)
    found = gather_largest(logits, wanted, largest, places, values)
    put_largest_first(places, values, found, wanted)
    least = values[0]
    for place in range(wanted):
        least = min(least, values[place])
    count = wanted
    for place in range(wanted, found):
        # Written so that a number that is not one keeps its row.
        if not values[place] + np.float32(2) * (length * sketch.offs[places[place]] + more) < least:
            places[count] = places[place]
            count += 1
    return count
