from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from sklearn.svm import LinearSVC

from longtail.kernels.dual import Problem, solve, train_block
from longtail.sparse import rows_of

EXACT = Problem(cost=1.0, bias=1.0, tolerance=1e-4, max_passes=2000, seed=0)


def documents(n_documents: int = 80, n_features: int = 30, seed: int = 0) -> sp.csr_array:
    rows = sp.random_array((n_documents, n_features), density=0.2, rng=np.random.default_rng(seed), dtype=np.float32)
    return sp.csr_array(rows)


def signs(n_documents: int = 80, n_labels: int = 5, seed: int = 1) -> np.ndarray:
    carried = np.random.default_rng(seed).random((n_documents, n_labels)) < np.linspace(0.05, 0.5, n_labels)
    return np.where(carried, 1, -1).astype(np.int8)


def objective(features: sp.csr_array, sign: np.ndarray, weights: np.ndarray, bias: float, cost: float) -> float:
    loss = np.maximum(0, 1 - sign * (features @ weights + bias)) ** 2
    return 0.5 * (weights @ weights + bias**2) + cost * loss[sign != 0].sum()


@njit
def orders(seed: int, n_documents: int, n_passes: int):
    """The orders in which documents are visited, drawn as the kernel draws them."""
    np.random.seed(seed)  # noqa: NPY002
    order = np.arange(n_documents)
    drawn = np.empty((n_passes, n_documents), np.int64)
    for at in range(n_passes):
        np.random.shuffle(order)  # noqa: NPY002
        drawn[at] = order
    return drawn


def plain_descent(features: sp.csr_array, sign: np.ndarray, problem: Problem, n_passes: int) -> np.ndarray:
    """Hsieh et al., Algorithm 1, one label, in double precision; the bias last."""
    x = np.hstack([features.toarray().astype(float), np.full((features.shape[0], 1), problem.bias)])
    alphas, w = np.zeros(len(x)), np.zeros(x.shape[1])
    for order in orders(problem.seed, len(x), n_passes):
        for i in order:
            gradient = sign[i] * (w @ x[i]) - 1 + alphas[i] / (2 * problem.cost)
            new = max(alphas[i] - gradient / (x[i] @ x[i] + 1 / (2 * problem.cost)), 0)
            w += (new - alphas[i]) * sign[i] * x[i]
            alphas[i] = new
    return w


@pytest.mark.parametrize("n_passes", [1, 2, 7])
def test_takes_the_steps_of_the_plain_algorithm(n_passes: int):
    features, sign = documents(), signs()
    problem = Problem(cost=0.7, bias=1.0, tolerance=0.0, max_passes=n_passes, seed=3)
    weights, biases = solve(rows_of(features), features.shape[1], sign, problem)
    for label in range(sign.shape[1]):
        expected = plain_descent(features, sign[:, label], problem, n_passes)
        np.testing.assert_allclose(np.append(weights[:, label], biases[label]), expected, atol=2e-5)


@pytest.mark.parametrize("cost", [0.3, 1.0, 10.0])
def test_reaches_the_optimum_that_liblinear_reaches(cost: float):
    features, sign = documents(), signs()
    weights, biases = solve(rows_of(features), features.shape[1], sign, EXACT._replace(cost=cost))
    for label in range(sign.shape[1]):
        theirs = LinearSVC(C=cost, loss="squared_hinge", dual=True, tol=1e-6, max_iter=100_000)
        theirs.fit(sp.csr_matrix(features), sign[:, label])
        least = objective(features, sign[:, label], theirs.coef_[0], theirs.intercept_[0], cost)
        assert objective(features, sign[:, label], weights[:, label], biases[label], cost) == pytest.approx(least, 1e-4)


def test_a_loose_tolerance_stops_near_the_optimum():
    features, sign = documents(), signs()
    loose = solve(rows_of(features), features.shape[1], sign, EXACT._replace(tolerance=0.1))
    exact = solve(rows_of(features), features.shape[1], sign, EXACT)
    for label in range(sign.shape[1]):
        reached = objective(features, sign[:, label], loose[0][:, label], loose[1][label], 1.0)
        least = objective(features, sign[:, label], exact[0][:, label], exact[1][label], 1.0)
        assert least <= reached * 1.0001 and reached < 1.02 * least


@pytest.mark.parametrize("n_labels", [1, 7, 8, 9, 40])
def test_labels_side_by_side_are_solved_as_each_alone(n_labels: int):
    features, sign = documents(), signs(n_labels=n_labels)
    problem = EXACT._replace(tolerance=0.1)
    together, biases = solve(rows_of(features), features.shape[1], sign, problem)
    for label in range(n_labels):
        alone, bias = solve(rows_of(features), features.shape[1], sign[:, [label]], problem)
        assert np.array_equal(together[:, label], alone[:, 0]) and biases[label] == bias[0]


def test_documents_that_are_not_asked_change_nothing():
    features, sign = documents(), signs(n_labels=1)
    asked = np.random.default_rng(5).random(80) < 0.6
    sign[~asked] = 0
    weights, bias = solve(rows_of(features), features.shape[1], sign, EXACT)
    only, only_bias = solve(rows_of(features[asked]), features.shape[1], sign[asked], EXACT)
    np.testing.assert_allclose(weights, only, atol=1e-3)
    np.testing.assert_allclose(bias, only_bias, atol=1e-3)


def test_without_a_constant_feature_there_is_no_bias():
    features, sign = documents(), signs()
    assert (solve(rows_of(features), features.shape[1], sign, EXACT._replace(bias=0.0))[1] == 0).all()


def test_another_seed_ends_at_the_same_optimum():
    features, sign = documents(), signs()
    one, _ = solve(rows_of(features), features.shape[1], sign, EXACT)
    other, _ = solve(rows_of(features), features.shape[1], sign, EXACT._replace(seed=9))
    assert not np.array_equal(one, other)
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_numpys_own_generator_is_left_alone():
    features, sign = documents(), signs()
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.random(3)  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    solve(rows_of(features), features.shape[1], sign, EXACT)
    assert np.array_equal(np.random.random(3), expected)  # noqa: NPY002


# -- a block of labels with lists of documents -----------------------------------------------------------------------

PROBLEM = Problem(cost=1.0, bias=1.0, tolerance=0.01, max_passes=500, seed=0)


def by_column(matrix: np.ndarray):
    return rows_of(sp.csr_array(matrix.T.astype(np.float32)))


def test_a_block_is_trained_on_its_lists_and_on_its_positives():
    rng = np.random.default_rng(2)
    features, carried, listed = documents(), rng.random((80, 6)) < 0.1, rng.random((80, 3)) < 0.4
    labels, lists = np.array([4, 1, 5], np.int32), np.array([0, 0, 2], np.int32)
    block = train_block(rows_of(features), by_column(carried), by_column(listed), labels, lists, 30, PROBLEM, 0.0)
    sign = np.where(carried[:, labels], 1, np.where(listed[:, lists], -1, 0)).astype(np.int8)
    some = np.flatnonzero(sign.any(axis=1))
    weights, biases = solve(rows_of(features[some]), 30, sign[some], PROBLEM)
    rows = sp.csr_array((block.weights, block.features, block.starts), shape=(3, 30))
    np.testing.assert_allclose(rows.toarray(), weights.T, atol=1e-6)
    np.testing.assert_allclose(block.biases, biases, atol=1e-6)


def test_small_weights_are_left_out_and_the_rest_is_in_order():
    features, carried = documents(), np.random.default_rng(2).random((80, 4)) < 0.2
    inputs = rows_of(features), by_column(carried), by_column(np.ones((80, 1)))
    labels, lists = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    whole = train_block(*inputs, labels, lists, 30, PROBLEM, 0.0)
    large = train_block(*inputs, labels, lists, 30, PROBLEM, 0.3)
    everything = sp.csr_array((whole.weights, whole.features, whole.starts), shape=(4, 30)).toarray()
    kept = sp.csr_array((large.weights, large.features, large.starts), shape=(4, 30))
    assert 0 < kept.nnz < np.count_nonzero(everything)
    assert np.array_equal(kept.toarray(), np.where(abs(everything) >= np.float32(0.3), everything, 0))
    assert kept.has_sorted_indices


def test_a_label_that_nobody_carries_or_lists_has_no_weights():
    features, nobody = documents(), np.zeros((80, 2))
    labels = np.arange(2, dtype=np.int32)
    block = train_block(rows_of(features), by_column(nobody), by_column(nobody), labels, labels, 30, PROBLEM, 0.1)
    assert block.starts.tolist() == [0, 0, 0] and (block.biases == 0).all()
