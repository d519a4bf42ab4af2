from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import RunError
from longtail.index.balanced import Points, balanced_clusters, right_half, tree_over
from longtail.index.clusters import Tree
from longtail.kernels import threads


def sparse_points(n_points: int, seed: int, n_features: int = 12) -> sp.csr_array:
    """Some rows are zero and some are copies of others."""
    rng = np.random.default_rng(seed)
    points = sp.random_array((n_points, n_features), density=0.2, rng=rng, dtype=np.float32, format="csr").toarray()
    points[rng.integers(0, max(n_points, 1), n_points // 3)] = points[: n_points // 3]
    return sp.csr_array(points)


@settings(max_examples=60, deadline=None)
@given(n_points=st.integers(0, 70), max_size=st.integers(1, 20), seed=st.integers(0, 5), dense=st.booleans())
def test_every_label_is_in_one_cluster_and_sizes_differ_by_at_most_one(n_points, max_size, seed, dense):
    points = sparse_points(n_points, seed)
    clusters = balanced_clusters(points.toarray() if dense else points, max_size, seed)
    sizes = np.diff(clusters.starts)
    assert np.sort(clusters.labels).tolist() == list(range(n_points))
    assert sizes.max() <= max_size and sizes.max() - sizes.min() <= 1
    # No more halving than needed: half as many clusters would be too large.
    assert len(clusters) == 1 or -(-n_points // (len(clusters) // 2)) > max_size


def test_groups_that_share_no_feature_are_told_apart():
    rng = np.random.default_rng(3)
    group = rng.permutation(np.repeat(np.arange(4), 25))
    points = np.zeros((100, 40), np.float32)
    for row, of in enumerate(group):
        points[row, of * 10 : of * 10 + 10] = rng.random(10)
    clusters = balanced_clusters(sp.csr_array(points), 25, seed=0)
    assert all(len(set(group[clusters[at]])) == 1 for at in range(4))


def test_sparse_and_dense_points_make_the_same_clusters():
    points = sparse_points(300, 1, n_features=30)
    sparse, dense = balanced_clusters(points, 20, seed=2), balanced_clusters(points.toarray(), 20, seed=2)
    assert np.array_equal(sparse.labels, dense.labels) and np.array_equal(sparse.starts, dense.starts)


def test_the_same_seed_gives_the_same_clusters_whatever_the_threads(monkeypatch: pytest.MonkeyPatch):
    points = sparse_points(400, 7, n_features=40)
    several = balanced_clusters(points, 10, seed=5)
    monkeypatch.setattr(threads, "available_cores", lambda: 1)
    assert np.array_equal(balanced_clusters(points, 10, seed=5).labels, several.labels)


def test_another_seed_gives_other_clusters():
    points = sparse_points(400, 7, n_features=40)
    assert not np.array_equal(
        balanced_clusters(points, 10, seed=5).labels, balanced_clusters(points, 10, seed=6).labels
    )


def plain_right_half(rows: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Spherical 2-means with equal halves, by the book."""
    centres, previous, similarity = rows[first].astype(float), -np.inf, -1.0
    while similarity - previous > 1e-4:
        lengths = np.linalg.norm(centres, axis=1, keepdims=True)
        cosines = rows @ np.divide(centres, lengths, out=np.zeros_like(centres), where=lengths > 0).T
        right = np.zeros(len(rows), bool)
        right[np.argsort(cosines[:, 1] - cosines[:, 0], kind="stable")[len(rows) - len(rows) // 2 :]] = True
        previous, similarity = similarity, np.where(right, cosines[:, 1], cosines[:, 0]).mean()
        centres = np.stack([rows[~right].sum(0), rows[right].sum(0)])
    return right


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(5))
def test_one_split_is_that_of_plain_two_means(kind: type, seed: int):
    points = np.random.default_rng(seed).random((41, 8)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    members = np.arange(41, dtype=np.int32)
    first = np.random.default_rng(seed).choice(41, 2, replace=False)
    half = right_half(Points(kind(points)), members, np.random.default_rng(seed))
    assert half.sum() == 20
    assert np.array_equal(half, plain_right_half(points, first))


def test_a_split_leaves_nothing_behind_for_the_next():
    points = Points(sparse_points(30, 0))
    rng = np.random.default_rng
    alone = right_half(points, np.arange(15, dtype=np.int32), rng(1))
    right_half(points, np.arange(15, 30, dtype=np.int32), rng(2))
    assert np.array_equal(right_half(points, np.arange(15, dtype=np.int32), rng(1)), alone)


# -- trees -----------------------------------------------------------------------------------------------------------


def tree_of(n_labels: int, max_size: int, branching: int) -> Tree:
    return tree_over(balanced_clusters(sparse_points(n_labels, 0), max_size, seed=0), branching)


@settings(max_examples=40, deadline=None)
@given(n_labels=st.integers(1, 200), max_size=st.integers(1, 30), branching=st.sampled_from([2, 3, 4, 16, 100]))
def test_a_tree_leads_from_the_root_to_every_label_once(n_labels, max_size, branching):
    tree = tree_of(n_labels, max_size, branching)
    nodes = [0]
    for level in range(tree.depth):
        sizes = np.diff(tree.starts[level])
        assert sizes.min() >= (max_size > 1)
        assert sizes.max() <= (max_size if level == tree.depth - 1 else branching)
        nodes = [child for node in nodes for child in range(tree.starts[level][node], tree.starts[level][node + 1])]
        assert nodes == list(range(tree.width(level + 1)))
    assert sorted(tree.labels.tolist()) == list(range(n_labels))


@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_few_labels_hang_on_the_root(n_labels: int):
    assert tree_of(n_labels, 100, 16).depth == 1


@pytest.mark.parametrize("dense", [True, False])
def test_points_that_are_not_finite_are_refused_with_advice(dense: bool):
    points = np.array([[1, 0], [np.nan, 1], [0, 1]], np.float32)
    with pytest.raises(RunError, match="not finite numbers; use a smaller learning rate"):
        balanced_clusters(points if dense else sp.csr_array(points), 1, 0)
