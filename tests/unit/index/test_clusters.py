from __future__ import annotations

import numpy as np

from longtail import store
from longtail.index.balanced import balanced_clusters, tree_over
from longtail.index.clusters import Clusters, Tree


def tree_of(n_labels: int, max_size: int, branching: int) -> Tree:
    points = np.random.default_rng(0).random((n_labels, 4)).astype(np.float32)
    return tree_over(balanced_clusters(points, max_size, seed=0), branching)


def test_cluster_of_every_label():
    clusters = Clusters(np.array([3, 0, 2, 1], np.int32), np.array([0, 1, 3, 4]))
    assert clusters.of_label.tolist() == [1, 2, 1, 0]
    assert clusters[1].tolist() == [0, 2]


def test_parents_are_the_other_way_round_of_children():
    tree = tree_of(100, 5, 4)
    for level in range(1, tree.depth + 1):
        starts = tree.starts[level - 1]
        for child, parent in enumerate(tree.parents(level)):
            assert starts[parent] <= child < starts[parent + 1]


def test_the_node_above_a_label_is_found_by_climbing():
    tree = tree_of(100, 5, 4)
    climbed = np.arange(100)
    for level in range(tree.depth, -1, -1):
        assert np.array_equal(tree.above_labels(level), climbed)
        climbed = tree.parents(level)[climbed] if level else climbed


def test_a_tree_can_be_stored(tmp_path):
    tree = tree_of(50, 5, 4)
    store.write(tmp_path, tree)
    back = store.read(tmp_path, Tree)
    assert all(np.array_equal(one, other) for one, other in zip(back.starts, tree.starts))
    assert np.array_equal(back.labels, tree.labels)
