"""Products in every precision, against NumPy, and with the same bits whatever is computed beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.kernels.compiled import compiled
from longtail.kernels.products import as_float, in_integers, product, run_products, sides, tile_products
from longtail.precision import as_floats, stored_as

PRECISIONS = ["fp32", "fp16", "int8"]


@compiled
def _one_by_one(queries, table, found):  # type: ignore[no-untyped-def]
    for document in range(found.shape[0]):
        for row in range(found.shape[1]):
            found[document, row] = product(queries, document, table, row)


@compiled
def _in_runs(queries, table, size, found):  # type: ignore[no-untyped-def]
    for document in range(found.shape[0]):
        for first in range(0, found.shape[1], size):
            run_products(queries, document, table, first, min(first + size, found.shape[1]), found[document, first:])


@compiled
def _in_tiles(queries, table, size, found):  # type: ignore[no-untyped-def]
    for first in range(0, found.shape[0], size):
        tile_products(queries, first, min(size, found.shape[0] - first), table, found[first:])


def drawn(seed: int, precision: str, n_documents: int, n_rows: int, dim: int):
    rng = np.random.default_rng(seed)
    documents, rows = (rng.standard_normal((n, dim)).astype(np.float32) for n in (n_documents, n_rows))
    return documents, *stored_as(precision, rows)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 99), precision=st.sampled_from(PRECISIONS), n_documents=st.integers(1, 9),
    n_rows=st.integers(1, 11), dim=st.sampled_from([0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 100]),
)  # fmt: skip
def test_products_are_those_of_numpy_and_the_same_bits_in_every_block(
    seed: int, precision: str, n_documents: int, n_rows: int, dim: int
):
    documents, rows, scales = drawn(seed, precision, n_documents, n_rows, dim)
    queries, table = sides(documents, rows, scales, "rows")
    found = [np.full((n_documents, n_rows), np.nan, np.float32) for _ in range(7)]
    _one_by_one(queries, table, found[0])
    for at, size in enumerate((1, 4, 7), 1):
        _in_runs(queries, table, size, found[at])
        _in_tiles(queries, table, size, found[at + 3])
    assert all(np.array_equal(found[0], other) for other in found[1:])
    np.testing.assert_allclose(found[0], documents @ as_floats(rows, scales).T, rtol=1e-3, atol=1e-2)


def test_integers_by_hand():
    """Codes of the largest number are 2,047 and 127: 2 · 3 = (2047 · 2/2047) · (127 · 3/127)."""
    queries, table = sides(np.array([[2, 0]], np.float32), np.array([[127, 5]], np.int8), np.float32([3 / 127]), "rows")
    assert queries[0].tolist() == [[2047, 0]] and queries[1].tolist() == [np.float32(2 / 2047)]
    found = np.empty((1, 1), np.float32)
    _one_by_one(queries, table, found)
    assert found[0, 0] == pytest.approx(6, rel=1e-6)


def test_no_sum_of_integers_overflows():
    dim = 40_000
    rows, scales = np.full((1, dim), -128, np.int8), np.ones(1, np.float32)
    queries, table = sides(np.ones((1, dim), np.float32), rows, scales, "rows")
    found = np.empty((1, 1), np.float32)
    _one_by_one(queries, table, found)
    assert found[0, 0] == pytest.approx(-128 * dim, rel=1e-5)


def test_a_vector_of_zeros_has_no_scale_and_scores_nothing():
    codes, scales = in_integers(np.zeros((2, 3), np.float32))
    assert not codes.any() and not scales.any()


@compiled
def _floats(numbers, found):  # type: ignore[no-untyped-def]
    for at in range(len(numbers)):
        found[at] = as_float(numbers[at])


def test_sixteen_bits_are_the_number_that_numpy_reads():
    halves = np.array([0, -0.0, 1, -2.5, 65504, 6e-8, 1e-5, np.inf], np.float16)
    found = np.empty(len(halves), np.float32)
    _floats(halves.view(np.uint16), found)
    assert np.array_equal(found, halves.astype(np.float32))


@pytest.mark.parametrize(
    ("rows", "scales", "sentence"),
    [
        (np.zeros((2, 3), np.int8), None, "lack scales"),
        (np.zeros((2, 3), np.int8), np.ones(1, np.float32), "lack scales"),
        (np.zeros((2, 3), np.float32), np.ones(2, np.float32), "have scales"),
        (np.zeros((2, 3), np.float64), None, "float64, which is no precision"),
        (np.zeros((2, 4), np.float32), None, "where the others ask for"),
        (np.zeros((3, 2), np.float32).T, None, "not one run of memory"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows: np.ndarray, scales: np.ndarray | None, sentence: str):
    with pytest.raises(ValueError, match=sentence):
        sides(np.zeros((1, 3), np.float32), rows, scales, "rows")
