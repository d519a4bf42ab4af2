"""Matrix products for the layers of a transformer, in floats or in integers.

Weights (outputs, inputs) are packed once, in panels of COLUMNS outputs, so that a loop reads one run of memory:

    fp32    (panels, inputs, COLUMNS)                    vectors are float32
    int8    (panels, inputs / 2, COLUMNS, 2)             vectors are int16 codes, each with a scale (`in_codes`)
    int16   the same, for weights of fp16, of which int8 would lose more than half of the digits

ROWS vectors meet a panel at a time, in ROWS · COLUMNS sums that stay in registers.  Each sum is taken in the order of
the inputs, whatever is computed beside it, and sums of integers are exact: a vector has the same products alone, in a
batch and on any number of threads, to the last bit.  The blocks are written as vector instructions of LLVM
(matmul_code.py): AVX-512 and VNNI do sixteen sums by one vfmadd231ps or by one vpdpwssd, which does two inputs at once.

Reading weights takes a short text nearly as long as multiplying: while vectors meet one panel, the next is fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from llvmlite import binding

from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import Later, compiled

LANES = 16
ROWS = 6  # vectors of a block
VECTORS = 4 if "avx512f" in binding.get_host_cpu_features() and binding.get_host_cpu_features()["avx512f"] else 1
COLUMNS = LANES * VECTORS  # outputs of a block: what 32 registers hold of ROWS vectors, or 16 of half the width
LINE = 64  # bytes that a processor reads at once


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


def in_one_run(products: Sequence[Packed]) -> list[Packed]:
    """The same, their panels one behind the other, so that what is fetched behind the last is the first of the next."""
    starts = np.cumsum([0, *(len(each.panels) for each in products)]).tolist()
    dtype = products[0].panels.dtype
    room = np.empty(starts[-1] + LINE // dtype.itemsize, dtype)
    whole = room[-room.ctypes.data % LINE // dtype.itemsize :]  # a vector of numbers lies in one line
    for start, each in zip(starts, products):
        whole[start : start + len(each.panels)] = each.panels
    return [each._replace(panels=whole[start:stop]) for each, (start, stop) in zip(products, pairwise(starts))]


def _in_short_integers(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    numbers = weights.astype(np.float32)
    scales = np.abs(numbers).max(axis=1, initial=0) / np.float32(LARGEST_WEIGHT)
    return np.rint(numbers / np.where(scales > 0, scales, 1)[:, None]).astype(np.int16), scales


# -- blocks ------------------------------------------------------------------------------------------------------------

_of_1, _of_2, _of_3, _of_4, _of_5, _of_6 = (
    Later("longtail.kernels.matmul_code", f"of_{rows}") for rows in range(1, ROWS + 1)
)


@compiled
def block_products(rows, vectors, start, stride, panels, first, inputs, ahead, sums):
    """Products of one to ROWS vectors with a panel, into sums (…, COLUMNS); `ahead`: see matmul_code.py."""
    if rows == 6:
        _of_6(vectors, start, stride, panels, first, inputs, ahead, sums)
    elif rows == 5:
        _of_5(vectors, start, stride, panels, first, inputs, ahead, sums)
    elif rows == 4:
        _of_4(vectors, start, stride, panels, first, inputs, ahead, sums)
    elif rows == 3:
        _of_3(vectors, start, stride, panels, first, inputs, ahead, sums)
    elif rows == 2:
        _of_2(vectors, start, stride, panels, first, inputs, ahead, sums)
    else:
        _of_1(vectors, start, stride, panels, first, inputs, ahead, sums)


@compiled
def dense(vectors, scales, start, stop, packed, sums, found):
    """weights · vector + bias of the vectors from `start` to `stop`, into found (vectors, outputs).

    The numbers of `vectors` are one run of memory, with one axis or two.
    """
    outputs = len(packed.bias)
    for column in range(0, outputs, COLUMNS):
        end = min(column + COLUMNS, outputs)
        own, bias = packed.scales[column:end], packed.bias[column:end]
        for row in range(start, stop, ROWS):
            rows, ahead = min(ROWS, stop - row), _part_ahead(packed, column, (row - start) // ROWS)
            for first in range(0, packed.inputs, packed.run):
                block_products(
                    rows, vectors, row * packed.inputs + first, packed.inputs,
                    packed.panels, column * packed.inputs + first * COLUMNS,
                    min(packed.run, packed.inputs - first), ahead, sums,
                )  # fmt: skip
                part = found[row : row + rows, column:end]
                _scaled(sums, rows, first == 0, scales[row : row + rows], own, bias, part)
                ahead += packed.run // _together(packed) * (LINE // packed.panels.itemsize)


@compiled
def _part_ahead(packed, column, block):
    """Where the part of the next panel begins that a block fetches: a line a step, until the panel is complete."""
    lines = COLUMNS * _together(packed) * packed.panels.itemsize // LINE  # of a panel, a step
    parts = packed.inputs // _together(packed) * (LINE // packed.panels.itemsize)
    return (column + COLUMNS) * packed.inputs + min(block, lines - 1) * parts


@compiled
def _together(packed):
    """Inputs of a step."""
    return 1 if packed.panels.itemsize == 4 else 2


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
