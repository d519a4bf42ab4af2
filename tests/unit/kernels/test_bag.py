from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.kernels.bag import bag_gradients, bag_sums
from longtail.sparse import rows_of


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
