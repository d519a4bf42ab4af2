"""What explanations ask of compiled code, against dense matrices and plain Python."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.kernels.reasons import paths_to, weights_of
from longtail.sparse import rows_of


def test_weights_are_those_of_the_dense_matrix_whatever_the_order_inside_a_row():
    rng = np.random.default_rng(0)
    made = sp.csr_array(sp.random_array((20, 15), density=0.3, rng=rng), dtype=np.float32)
    turned = sp.csr_array(made)[:, ::-1][:, ::-1]  # scipy leaves columns out of order
    labels, columns = np.array([3, 19, 3, 0], np.int32), np.array([0, 4, 7, 14], np.int32)
    for matrix in (made, sp.csr_array(turned)):
        np.testing.assert_array_equal(weights_of(rows_of(matrix), labels, columns), made.toarray()[labels][:, columns])


def plain_paths(
    edges: np.ndarray, scores: np.ndarray, clusters: np.ndarray, beliefs: np.ndarray, label: int, few: int
) -> list[tuple[int, float]]:
    found = []
    for cluster, belief in zip(clusters.tolist(), beliefs):
        if cluster != PAD and label in edges[cluster].tolist():
            found.append((-float(belief * scores[cluster, edges[cluster].tolist().index(label)]), cluster))
    return [(cluster, -less) for less, cluster in sorted(found)[:few]]


def test_paths_are_the_best_ones_and_those_as_good_stand_by_the_number_of_the_cluster():
    rng = np.random.default_rng(1)
    edges = np.array([rng.permutation(30)[:12] for _ in range(20)], np.int32)
    edges[:, 9:][rng.random((20, 3)) < 0.5] = PAD
    scores = (rng.integers(1, 4, edges.shape) / 4).astype(np.float32)  # many are equal
    clusters = np.append(rng.permutation(20)[:9], PAD).astype(np.int32)
    beliefs = (rng.integers(1, 3, 10) / 2).astype(np.float32)
    labels = np.arange(31, dtype=np.int32)  # the last one hangs nowhere
    best, values = paths_to(edges, scores, clusters, beliefs, labels, 3)
    for label in labels.tolist():
        inside = best[label] != PAD
        found = list(zip(best[label][inside].tolist(), values[label][inside].tolist()))
        assert found == plain_paths(edges, scores, clusters, beliefs, label, 3)
    assert (best[30] == PAD).all() and (values[30] == 0).all() and (best != PAD).any()
