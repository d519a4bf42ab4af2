"""Proposed labels ranked by sparse classifiers and a tree of scores, beside the same in NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.kernels.candidates import top_of_candidates
from longtail.kernels.reranking import Classifiers, Reranker, Tree, no_tree
from longtail.kernels.score_tree import shares_at_leaves
from longtail.sparse import Rows, rows_of

# Asks for the ranker's belief, then for the number of documents.
TREE = Tree(
    np.array([0, -1, 2, -1, -1], np.int32), np.array([0.3, 0, 4.5, 0, 0]), np.array([1, 1, 3, 3, 4], np.int32),
    np.array([2, 1, 4, 3, 4], np.int32), np.array([0.5, 0.1, 0.6, 0.4, 0.9], np.float32), 2,
)  # fmt: skip


def drawn(seed: int, shape: tuple[int, int]) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    return sp.csr_array(np.where(rng.random(shape) < 0.4, rng.standard_normal(shape), 0), dtype=np.float32)


def proposals(seed: int, documents: int = 7, labels: int = 30, width: int = 9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    names = np.stack([rng.permutation(labels)[:width] for _ in range(documents)]).astype(np.int32)
    names[rng.random(names.shape) < 0.1] = PAD
    return names, np.where(names == PAD, 0, rng.random(names.shape)).astype(np.float32)


def plain(
    features: sp.csr_array, weights: sp.csr_array, biases: np.ndarray, counts: np.ndarray, tree: Tree, share: float,
    weight: float, names: np.ndarray, scores: np.ndarray, k: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The formula in NumPy."""
    margins = np.take_along_axis((features @ weights.T).toarray(), names, axis=1) + biases[names]
    hinge = np.maximum(0, 1 - margins) ** 3
    ranker = np.exp(-np.minimum(hinge, 60) - np.log1p(np.maximum(hinge - 60, 0)))
    both = ranker**weight * scores ** (1 - weight)
    if len(tree.columns):
        asked = np.stack([each.astype(np.float32).ravel() for each in (ranker, scores, counts[names])])
        both = share * shares_at_leaves(*tree, asked).reshape(names.shape) + (1 - share) * both
    return top_of_candidates(names, both.astype(np.float32), k)


def made(tree: Tree, weight: float = 0.3) -> tuple[Reranker, tuple]:
    features, weights = drawn(0, (7, 12)), drawn(1, (30, 12))
    biases = np.linspace(-6, 1, 30).astype(np.float32)  # some labels are denied firmly
    counts = np.arange(30, dtype=np.float32)
    given = features, weights, biases, counts, tree, 0.3, weight
    return Reranker(Classifiers(*rows_of(weights), biases, counts), 12, tree, 0.3, weight), given


@pytest.mark.parametrize("tree", [no_tree(), TREE], ids=["no tree", "tree"])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_it_ranks_as_numpy_does(tree: Tree, weight: float):
    reranker, given = made(tree, weight)
    proposed = proposals(1)
    labels, scores = reranker.rank(rows_of(given[0]), *proposed, 4)
    expected = plain(*given, *proposed, 4)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(scores, expected[1], rtol=1e-5)


def test_a_document_is_answered_the_same_alone_in_a_batch_and_after_a_copy():
    reranker, given = made(TREE)
    names, scores = proposals(2)
    expected = reranker.rank(rows_of(given[0]), names, scores, 4)
    for asked in (reranker, pickle.loads(pickle.dumps(reranker))):
        alone = [
            asked.rank(rows_of(given[0][[row]]), names[row : row + 1], scores[row : row + 1], 4) for row in range(7)
        ]
        for one, other in zip(expected, zip(*alone)):
            np.testing.assert_array_equal(one, np.concatenate(other))


def bag(*columns: int) -> Rows:
    return np.array([0, len(columns)]), np.array(columns, np.int32), np.ones(len(columns), np.float32)


def test_what_does_not_exist_is_refused_and_leaves_nothing_behind():
    reranker, given = made(TREE)
    name, score = np.array([[3]], np.int32), np.ones((1, 1), np.float32)
    before = reranker.rank(bag(1, 2), name, score, 1)
    for mistaken in (bag(1, 12), bag(-1)):
        with pytest.raises(ValueError, match="features of documents"):
            reranker.rank(mistaken, name, score, 1)
    with pytest.raises(ValueError, match="proposed labels"):
        reranker.rank(bag(5), np.array([[30]], np.int32), score, 1)
    with pytest.raises(ValueError, match="NaN"):
        reranker.rank(bag(5), name, np.full((1, 1), np.nan, np.float32), 1)
    assert reranker.rank(bag(1, 2), name, score, 1)[1] == before[1]
    with pytest.raises(ValueError, match="proposed labels"):
        reranker.rank(rows_of(given[0]), name, score, 1)
