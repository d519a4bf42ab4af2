"""Products of many vectors with packed weights: NumPy's numbers, and the same bits whatever is computed beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.kernels.compiled import compiled
from longtail.kernels.matmul import COLUMNS, LARGEST, LARGEST_WEIGHT, ROWS, RUN, dense, packed
from longtail.precision import as_floats, stored_as

PRECISIONS = ["fp32", "fp16", "int8"]


@compiled
def _dense(vectors, scales, start, stop, weights, sums, found):  # type: ignore[no-untyped-def]
    dense(vectors, scales, start, stop, weights, sums, found)


def multiplied(vectors: np.ndarray, weights: np.ndarray, scales: np.ndarray | None, bias: np.ndarray, step: int = 99):
    """weights · vector + bias of all vectors, `step` at a time."""
    ready = packed(weights, scales, bias)
    found = np.full((len(vectors), len(bias)), np.nan, np.float32)
    codes, own = in_codes(vectors, LARGEST[ready.panels.dtype])
    sums = np.empty(ROWS * COLUMNS, np.float32 if weights.dtype == np.float32 else np.int32)
    for start in range(0, len(vectors), step):
        _dense(codes, own, start, min(start + step, len(vectors)), ready, sums, found)
    return found


def in_codes(vectors: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    if largest == 0:
        return vectors, np.ones(len(vectors), np.float32)
    own = (np.abs(vectors).max(axis=1) / largest).astype(np.float32)
    return np.rint(vectors / own[:, None]).astype(np.int16), own


def test_two_vectors_by_hand():
    weights, bias = np.array([[1, 2], [3, 4], [0, -1]], np.float32), np.array([10, 20, 30], np.float32)
    found = multiplied(np.array([[1, 1], [2, 0]], np.float32), weights, None, bias)
    assert found.tolist() == [[13, 27, 29], [12, 26, 30]]


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 99), precision=st.sampled_from(PRECISIONS), n_vectors=st.integers(1, 2 * ROWS + 1),
    outputs=st.sampled_from([1, 3, COLUMNS - 1, COLUMNS, COLUMNS + 1, 150]), inputs=st.sampled_from([2, 6, 64, 1030]),
)  # fmt: skip
def test_products_are_those_of_numpy_and_the_same_bits_alone_and_together(
    seed: int, precision: str, n_vectors: int, outputs: int, inputs: int
):
    rng = np.random.default_rng(seed)
    vectors, weights = (rng.standard_normal((n, inputs)).astype(np.float32) for n in (n_vectors, outputs))
    rows, scales = stored_as(precision, weights)
    bias = rng.standard_normal(outputs).astype(np.float32)
    together = multiplied(vectors, rows, scales, bias)
    np.testing.assert_allclose(together, vectors @ as_floats(rows, scales).T + bias, atol=6e-3 * inputs**0.5)
    for step in (1, 4, ROWS):
        assert np.array_equal(multiplied(vectors, rows, scales, bias, step), together)


@pytest.mark.parametrize("kind", [np.int8, np.int16])
def test_the_largest_sums_fit(kind: type):
    """Every code and every weight as large as can be: what 32 bits would overflow with if runs were longer."""
    dtype, inputs = np.dtype(kind), 2 * RUN[np.dtype(kind)]
    largest = 127 if kind is np.int8 else LARGEST_WEIGHT
    assert largest * LARGEST[dtype] * RUN[dtype] < 2**31
    ones = np.ones((1, inputs), np.float32)
    rows, scales = stored_as("int8", ones) if kind is np.int8 else (ones.astype(np.float16), None)
    for sign in (1, -1):
        assert multiplied(sign * ones, rows, scales, np.zeros(1, np.float32)) == pytest.approx(sign * inputs, rel=1e-5)


def test_a_row_of_zeros_has_no_scale_to_divide_by():
    rows, scales = stored_as("int8", np.zeros((2, 4), np.float32))
    vectors, bias = np.ones((1, 4), np.float32), np.array([1, 2], np.float32)
    assert multiplied(vectors, rows, scales, bias).tolist() == [[1, 2]]
    assert multiplied(vectors, np.zeros((2, 4), np.float16), None, bias).tolist() == [[1, 2]]


@pytest.mark.parametrize(("rows", "scales", "bias", "words"), [
    (np.zeros((2, 4), np.int8), None, 2, "without scales"),
    (np.zeros((2, 3), np.int8), np.ones(2, np.float32), 2, "must be even"),
    (np.zeros((2, 4), np.float32), None, 3, "biases"),
])  # fmt: skip
def test_weights_that_do_not_fit_are_refused(rows: np.ndarray, scales: np.ndarray, bias: int, words: str):
    with pytest.raises(ValueError, match=words):
        packed(rows, scales, np.zeros(bias, np.float32))
