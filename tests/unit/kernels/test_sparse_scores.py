from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.kernels.sparse_scores import open_nodes, score_candidates
from longtail.sparse import rows_of

N_DOCUMENTS, N_FEATURES, N_NODES = 30, 20, 6


def sparse(n_rows: int, n_columns: int, seed: int) -> np.ndarray:
    drawn = sp.random_array((n_rows, n_columns), density=0.4, rng=np.random.default_rng(seed), dtype=np.float32)
    return drawn.toarray() - 0.5 * (drawn.toarray() > 0)


# -- candidates ------------------------------------------------------------------------------------------------------


def test_candidates_score_as_in_the_whole_matrix():
    documents, weights = sparse(N_DOCUMENTS, N_FEATURES, 0), sparse(9, N_FEATURES, 1)
    biases = np.linspace(-1, 1, 9).astype(np.float32)
    candidates = np.random.default_rng(2).integers(PAD, 9, (N_DOCUMENTS, 5)).astype(np.int32)
    scores = score_candidates(
        rows_of(sp.csr_array(documents)), rows_of(sp.csr_array(weights)), biases, candidates, N_FEATURES
    )
    whole = documents @ weights.T + biases
    expected = np.where(candidates == PAD, 0, np.take_along_axis(whole, np.maximum(candidates, 0), 1))
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert (candidates == PAD).any()


# -- children --------------------------------------------------------------------------------------------------------

CHILD_STARTS = np.array([0, 3, 3, 7, 8, 12, 15])  # node 1 has no children
N_CHILDREN = CHILD_STARTS[-1]


def beams(seed: int, width: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in no order, each once, some places PAD."""
    rng = np.random.default_rng(seed)
    nodes = np.array([rng.permutation(N_NODES)[:width] for _ in range(N_DOCUMENTS)], np.int32)
    nodes[rng.random(nodes.shape) < 0.2] = PAD
    return nodes, np.where(nodes == PAD, 0, rng.random(nodes.shape)).astype(np.float32)


def belief(margin: float, power: float) -> float:
    return 1 / (1 + np.exp(-margin)) if power == 0 else np.exp(-(max(0.0, 1 - margin) ** power))


def plain_opening(documents, weights, biases, names, beam, k, power):
    """Every child of every node in the beam, sorted by belief and then by name."""
    margins = documents @ weights + biases
    for row, (nodes, beliefs) in enumerate(zip(*beam)):
        found = [
            (-believed * belief(margins[row, child], power), names[child])
            for node, believed in zip(nodes, beliefs)
            if node != PAD
            for child in range(CHILD_STARTS[node], CHILD_STARTS[node + 1])
        ]
        yield sorted(found)[:k]


@pytest.mark.parametrize("power", [0, 1, 2, 3])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_opening_nodes_finds_what_looking_at_every_child_finds(power: float, k: int):
    documents, weights = sparse(N_DOCUMENTS, N_FEATURES, 0), sparse(N_FEATURES, N_CHILDREN, 1)
    documents[3] = 0
    biases = np.random.default_rng(4).normal(size=N_CHILDREN).astype(np.float32)
    names = np.random.default_rng(5).permutation(100)[:N_CHILDREN].astype(np.int32)
    rows, by_feature, beam = rows_of(sp.csr_array(documents)), rows_of(sp.csr_array(weights)), beams(6)
    best, beliefs = open_nodes(rows, by_feature, biases, CHILD_STARTS, names, beam, k, power)
    for row, expected in enumerate(plain_opening(documents, weights, biases, names, beam, k, power)):
        assert best[row, : len(expected)].tolist() == [name for _, name in expected]
        np.testing.assert_allclose(beliefs[row, : len(expected)], [-score for score, _ in expected], atol=1e-6)
        assert (best[row, len(expected) :] == PAD).all() and (beliefs[row, len(expected) :] == 0).all()


def test_children_believed_alike_stand_in_the_order_of_their_names():
    nothing = rows_of(sp.csr_array((1, N_FEATURES), dtype=np.float32))
    weights = rows_of(sp.csr_array((N_FEATURES, N_CHILDREN), dtype=np.float32))
    names = np.arange(N_CHILDREN)[::-1]
    beam = np.array([[4, 0]], np.int32), np.array([[1, 1]], np.float32)
    best, _ = open_nodes(nothing, weights, np.zeros(N_CHILDREN), CHILD_STARTS, names, beam, 4, 3.0)
    assert best.tolist() == [[3, 4, 5, 6]]


def test_the_number_of_threads_changes_nothing():
    documents, weights = sparse(N_DOCUMENTS, N_FEATURES, 0), sparse(N_FEATURES, N_CHILDREN, 1)
    given = rows_of(sp.csr_array(documents)), rows_of(sp.csr_array(weights)), np.zeros(N_CHILDREN), CHILD_STARTS
    one, three = (open_nodes(*given, np.arange(N_CHILDREN), beams(6), 5, 3.0, threads) for threads in (1, 3))
    assert np.array_equal(one[0], three[0]) and np.array_equal(one[1], three[1])
