"""Sums of token vectors, their gradients, the block behind them, and what tokens add to a product with its vector."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.kernels.bag import ON_DESK, Encoding, bag_gradients, bag_sums
from longtail.precision import as_floats, stored_as
from longtail.sparse import Rows, rows_of


def random_bags(n_bags: int, n_tokens: int, seed: int) -> sp.csr_array:
    bags = sp.random_array((n_bags, n_tokens), density=0.3, rng=seed, dtype=np.float32)
    return sp.csr_array(bags)


def test_a_bag_is_the_weighed_sum_of_its_tokens_vectors():
    vectors = np.array([[1, 2], [10, 20], [100, 200]], np.float32)
    bags = sp.csr_array(np.array([[0.5, 0, 1], [0, 0, 0], [0, 2, 0]], np.float32))
    assert bag_sums(rows_of(bags), vectors).tolist() == [[100.5, 201], [0, 0], [20, 40]]


@settings(deadline=None, max_examples=20)
@given(n_bags=st.integers(0, 12), n_tokens=st.integers(1, 9), dim=st.integers(1, 17), seed=st.integers(0, 99))
def test_sums_and_gradients_are_two_matrix_products(n_bags: int, n_tokens: int, dim: int, seed: int):
    bags, rng = random_bags(n_bags, n_tokens, seed), np.random.default_rng(seed)
    vectors = rng.standard_normal((n_tokens, dim)).astype(np.float32)
    gradients = rng.standard_normal((n_bags, dim)).astype(np.float32)
    np.testing.assert_allclose(bag_sums(rows_of(bags), vectors), bags @ vectors, rtol=1e-4, atol=1e-5)
    tokens, learned = bag_gradients(rows_of(bags), gradients)
    everywhere = np.zeros_like(vectors)
    everywhere[tokens] = learned
    assert tokens.tolist() == sorted(set(bags.indices.tolist()))
    np.testing.assert_allclose(everywhere, bags.T @ gradients, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads: int):
    bags = random_bags(40, 25, 0)
    vectors = np.random.default_rng(0).standard_normal((25, 33)).astype(np.float32)
    gradients = np.random.default_rng(1).standard_normal((40, 33)).astype(np.float32)
    assert np.array_equal(bag_sums(rows_of(bags), vectors, 1), bag_sums(rows_of(bags), vectors, threads))
    for one, many in zip(bag_gradients(rows_of(bags), gradients, 1), bag_gradients(rows_of(bags), gradients, threads)):
        assert np.array_equal(one, many)


def test_a_nan_stays_a_nan():
    vectors = np.array([[np.nan, 1]], np.float32)
    sums = bag_sums(rows_of(sp.csr_array(np.array([[0.5]], np.float32))), vectors)
    assert np.isnan(sums[0, 0]) and sums[0, 1] == 0.5


# -- through a block, which around a bag is linear: what tokens add is exact -------------------------------------------


def made(gated: bool, precision: str = "fp32", dim: int = 21) -> tuple[Encoding, tuple]:
    rng = np.random.default_rng(0)
    vectors, scales = stored_as(precision, rng.standard_normal((40, dim)).astype(np.float32))
    residual, offset = (rng.standard_normal(shape).astype(np.float32) for shape in ((dim, dim), dim))
    identity = rng.random(dim).astype(np.float32) if gated else None
    own = as_floats(vectors, scales).astype(np.float64)
    return Encoding(vectors, residual, offset, identity, scales), (own, residual, offset, identity)


def bag(*tokens: int) -> Rows:
    weights = np.linspace(0.2, 1, len(tokens)).astype(np.float32)
    return np.array([0, len(tokens)]), np.array(tokens, np.int32), weights


def plain(parts: tuple, read: Rows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (rows, tokens) and constants (rows,) by the block's derivative at the sum of the bag."""
    vectors, residual, offset, identity = parts
    total = read[2] @ vectors[read[1]]
    inner, positive = residual @ np.maximum(total, 0) + offset, total > 0
    if identity is None:
        kept = rows * (inner > 0)
        directions = (rows + kept @ residual) * positive
    else:
        kept = rows * (identity * total + inner > 0)
        directions = identity * kept + (kept @ residual) * positive
    return (directions @ vectors[read[1]].T) * read[2], kept @ offset


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_tokens_and_constant_add_up_to_the_product(gated: bool, precision: str):
    encoding, parts = made(gated, precision)
    rows = np.random.default_rng(1).standard_normal((3, 21)).astype(np.float32)
    for read in (bag(3, 7, 8, 39), bag(5), bag()):
        vector, values, constants, logits = encoding.explained(read, rows)
        np.testing.assert_array_equal(vector, encoding(read))
        np.testing.assert_allclose(values.sum(axis=1) + constants, rows @ vector[0], atol=1e-4)
        np.testing.assert_allclose(logits, rows @ vector[0], atol=1e-5)
        for one, other in zip((values, constants), plain(parts, read, rows)):
            np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_bag_is_read_the_same_alone_and_in_a_batch_however_long_it_is():
    encoding, _ = made(True)
    many = bag(*(np.arange(ON_DESK + 5) % 40).tolist())
    for read in (bag(3, 7, 8, 39), many):
        _, tokens, weights = read
        two = np.array([0, len(tokens), 2 * len(tokens)]), np.tile(tokens, 2), np.tile(weights, 2)
        np.testing.assert_array_equal(encoding(read)[0], encoding(two)[1])


def test_bags_that_are_mistaken_are_refused():
    encoding, _ = made(True)
    rows = np.ones((1, 21), np.float32)
    for mistaken in (bag(40), bag(-1), (np.array([0, 3]), *bag(1)[1:]), (np.array([-1, 1]), *bag(1)[1:])):
        with pytest.raises(ValueError, match="bag"):
            encoding(mistaken)
        with pytest.raises(ValueError, match="bag"):
            encoding.explained(mistaken, rows)
    with pytest.raises(ValueError, match="rows to explain"):
        encoding.explained(bag(1), rows[:, :3])
