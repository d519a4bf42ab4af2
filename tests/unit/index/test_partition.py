from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.index.clusters import Clusters
from longtail.index.partition import cluster_targets, in_cluster_order, members_of, recall_at


def drawn(seed: int) -> tuple[sp.csr_array, Clusters]:
    rng = np.random.default_rng(seed)
    labels = sp.csr_array((rng.random((30, 12)) < 0.2).astype(np.float32))
    return labels, Clusters(rng.permutation(12).astype(np.int32), np.array([0, 3, 5, 9, 12]))


def test_targets_are_a_product_with_the_membership_matrix():
    labels, clusters = drawn(0)
    member = np.zeros((12, 4), np.float32)
    member[np.arange(12), clusters.of_label] = 1
    assert np.array_equal(cluster_targets(labels, clusters).toarray(), labels.toarray() @ member > 0)


def test_columns_in_cluster_order_are_the_same_columns():
    labels, clusters = drawn(2)
    assert np.array_equal(in_cluster_order(labels, clusters).toarray(), labels.toarray()[:, clusters.labels])


def test_members_of_opened_clusters_stand_row_after_row():
    _, clusters = drawn(5)
    opened = np.array([[2, 0], [1, 3]])
    starts, members = members_of(clusters.starts, opened)
    expected = [[at for c in row for at in range(clusters.starts[c], clusters.starts[c + 1])] for row in opened]
    assert [members[one:two].tolist() for one, two in pairwise(starts)] == expected


def test_recall_agrees_with_looking_every_label_up():
    labels, clusters = drawn(3)
    rng = np.random.default_rng(4)
    opened = np.stack([rng.permutation(4)[:3] for _ in range(30)]).astype(np.int32)
    for beam in range(1, 4):
        found = sum(clusters.of_label[label] in opened[row, :beam] for row, label in zip(*labels.nonzero()))
        assert recall_at(opened, labels, clusters)[beam - 1] == found / labels.nnz


def test_padding_and_documents_without_labels_hold_nothing():
    _, clusters = drawn(5)
    last = int(clusters.labels[-1])  # a label of the last cluster, which the document did not open
    labels = sp.csr_array((np.ones(1, np.float32), ([0], [last])), shape=(2, 12))
    opened = np.array([[0, PAD], [0, PAD]], np.int32)
    assert recall_at(opened, labels, clusters).tolist() == [0.0, 0.0]
