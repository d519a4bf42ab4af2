"""The equations behind `linear`, each worked by hand on numbers small enough to check with a pencil."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.features.labels import label_centroids
from longtail.index.clusters import Tree
from longtail.kernels.dual import Problem, solve
from longtail.methods.linear.model import Descent, Level
from longtail.methods.linear.stages import nodes_of
from longtail.sparse import rows_of

ONE_PASS = Problem(cost=1.0, bias=0.0, tolerance=0.0, max_passes=1, seed=0)


def csr(rows: list) -> sp.csr_array:
    return sp.csr_array(np.array(rows, np.float32))


def weights_of(rows: list, signs: list, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    features = csr(rows)
    return solve(rows_of(features), features.shape[1], np.array(signs, np.int8), problem)


# -- dual coordinate descent (Hsieh et al. 2008) -----------------------------------------------------------------------


def test_the_first_step_divides_by_the_curvature():
    """a = 0: ∇ = −1, Q̄ = |x|² + 1/(2C) = 4 + ½, so a = 2/9 and w = a y x = ±4/9."""
    weights, _ = weights_of([[2]], [[1, -1]], ONE_PASS)
    np.testing.assert_allclose(weights, [[4 / 9, -4 / 9]], rtol=1e-6)


def test_the_constant_feature_is_learned_and_regularised_like_any_other():
    """x = (2, 1): Q̄ = 5 + ½, a = 2/11, w = (4/11, 2/11)."""
    weights, biases = weights_of([[2]], [[1]], ONE_PASS._replace(bias=1.0))
    np.testing.assert_allclose([weights[0, 0], biases[0]], [4 / 11, 2 / 11], rtol=1e-6)


def test_a_constant_of_two_is_a_weight_times_two():
    """x = (2, 2): Q̄ = 8 + ½, a = 2/17; the bias is its weight 4/17 times the constant 2."""
    _, biases = weights_of([[2]], [[1]], ONE_PASS._replace(bias=2.0))
    np.testing.assert_allclose(biases, [8 / 17], rtol=1e-6)


def test_a_document_that_is_right_by_more_than_the_margin_is_no_support():
    """x₁ = 3 and x₂ = 10, both positive: the optimum of w²/2 + Σ max(0, 1 − wx)² has x₂ inactive.

    w − 2·3(1 − 3w) = 0 gives w = 6/19, and 10·6/19 > 1.
    """
    weights, _ = weights_of([[3], [10]], [[1], [1]], ONE_PASS._replace(max_passes=1000, tolerance=1e-6))
    # x₂ alone would want w = 20/201; the larger w is right for both.
    np.testing.assert_allclose(weights, [[6 / 19]], rtol=1e-4)


def test_two_documents_that_disagree_meet_at_the_optimum():
    """x = 1, one right and one wrong: w²/2 + (1 − w)² + (1 + w)² is least at 0."""
    weights, _ = weights_of([[1], [1]], [[1], [-1]], ONE_PASS._replace(max_passes=1000, tolerance=1e-6))
    np.testing.assert_allclose(weights, [[0]], atol=1e-4)


def test_a_larger_cost_comes_nearer_to_the_margin():
    """One document x = 1: w − 2C(1 − w) = 0, so w = 2C / (1 + 2C)."""
    for cost, expected in ((0.5, 1 / 2), (1.0, 2 / 3), (10.0, 20 / 21)):
        weights, _ = weights_of([[1]], [[1]], ONE_PASS._replace(cost=cost, max_passes=100, tolerance=1e-6))
        np.testing.assert_allclose(weights, [[expected]], rtol=1e-5)


# -- labels and clusters -----------------------------------------------------------------------------------------------


def test_a_label_is_the_normalised_sum_of_its_documents():
    """PIFA: (3, 0) + (0, 4) = (3, 4), of length 5."""
    np.testing.assert_allclose(label_centroids(csr([[3, 0], [0, 4]]), csr([[1], [1]])).toarray(), [[0.6, 0.8]])


TREE = Tree([np.array([0, 2]), np.array([0, 2, 3])], np.array([5, 2, 7], np.int32))  # {5, 2} and {7} under the root


def test_a_document_belongs_to_the_clusters_of_its_labels():
    carried = np.zeros((3, 8), np.float32)
    carried[0, [2, 5]] = carried[1, [2, 7]] = 1
    assert nodes_of(TREE, 1, sp.csr_array(carried)).toarray().astype(bool).tolist() == [[1, 0], [1, 1], [0, 0]]
    assert nodes_of(TREE, 2, sp.csr_array(carried)).toarray().tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 0]]


# -- walking down (XR-Linear) ------------------------------------------------------------------------------------------


def level(weights: list, biases: list) -> Level:
    return Level(*rows_of(csr(weights)), np.array(biases, np.float32))


DESCENT = Descent(TREE, [level([[1, 0]], [0, 0.5]), level([[0.5, 0, 2]], [0, -1, 0])])


def l3(margin: float) -> float:
    return math.exp(-(max(0, 1 - margin) ** 3))


def test_beliefs_multiply_along_the_path():
    """x = 1: clusters z = 1, ½; labels z = ½, −1 under the first and 2 under the second."""
    ranking = DESCENT.rank(csr([[1]]), 3, 2, 3.0, 1.0)
    expected = {5: l3(1) * l3(0.5), 2: l3(1) * l3(-1), 7: l3(0.5) * l3(2)}
    assert ranking.labels[0].tolist() == [5, 7, 2]
    np.testing.assert_allclose(ranking.scores[0], [expected[label] for label in (5, 7, 2)], rtol=1e-5)


@pytest.mark.parametrize("weight", [0.0, 0.4])
def test_clusters_count_as_much_as_their_weight_says(weight: float):
    ranking = DESCENT.rank(csr([[1]]), 3, 2, 3.0, weight)
    scores = dict(zip(ranking.labels[0].tolist(), ranking.scores[0].tolist()))
    assert scores[7] == pytest.approx(l3(0.5) ** weight * l3(2), rel=1e-5)


def test_a_beam_of_one_opens_one_cluster():
    assert DESCENT.rank(csr([[1]]), 3, 1, 3.0, 1.0).labels.tolist() == [[5, 2, -1]]


def test_sigmoid_beliefs():
    """A document without features has its biases alone: σ(0.5)·σ(0) for label 7."""
    ranking = DESCENT.rank(csr([[0]]), 1, 2, 0.0, 1.0)
    assert ranking.labels.tolist() == [[7]]
    assert ranking.scores[0, 0] == pytest.approx(1 / (1 + math.exp(-0.5)) / 2, rel=1e-5)
