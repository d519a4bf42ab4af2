"""Opened clusters and best paths against the same in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.corpus import PAD
from longtail.kernels.paths import best_paths, opened, paths_to


def best_paths_plainly(clusters, beliefs, labels, scores, k, wanted) -> list[list[tuple[int, float]]]:
    """Every path written down; of each label the best; wanted labels first, then by score and label."""
    rows = []
    for document in range(len(clusters)):
        best: dict[int, float] = {}
        for cluster, belief in zip(clusters[document], beliefs[document]):
            for label, score in zip(labels[cluster], scores[cluster]) if cluster != PAD else ():
                if label != PAD:
                    best[int(label)] = max(best.get(int(label), -1.0), float(np.float32(belief) * np.float32(score)))
        must = set(wanted[document].tolist())
        rows.append(sorted(best.items(), key=lambda item: (item[0] not in must, -item[1], item[0]))[:k])
    return rows


def graph(rng: np.random.Generator, clusters: int, edges: int, n_labels: int) -> np.ndarray:
    """Different labels in every row, PAD behind a random end."""
    rows = np.stack([rng.permutation(n_labels)[:edges] for _ in range(clusters)]).astype(np.int32)
    rows[np.arange(edges) >= rng.integers(0, edges + 1, clusters)[:, None]] = PAD
    return rows


@pytest.mark.parametrize("k", [1, 4, 40])
@pytest.mark.parametrize("n_wanted", [0, 2])
def test_best_paths_are_those_found_by_writing_all_of_them_down(k: int, n_wanted: int):
    rng = np.random.default_rng(k)
    labels, scores = graph(rng, 6, 5, 12), rng.random((6, 5), np.float32)
    clusters = np.stack([rng.permutation(6)[:3] for _ in range(9)]).astype(np.int32)
    clusters[rng.random(clusters.shape) < 0.2] = PAD
    beliefs, wanted = rng.random(clusters.shape, np.float32), rng.integers(-1, 12, (9, n_wanted)).astype(np.int32)
    found, values, edges = best_paths(clusters, beliefs, labels, scores, 12, k, wanted)
    for at, expected in enumerate(best_paths_plainly(clusters, beliefs, labels, scores, k, wanted)):
        count = len(expected)
        assert found[at, :count].tolist() == [label for label, _ in expected] and (found[at, count:] == PAD).all()
        np.testing.assert_allclose(values[at, :count], [score for _, score in expected], atol=1e-6)
        assert labels.ravel()[edges[at, :count]].tolist() == found[at, :count].tolist()


def test_paths_to_given_labels_are_the_best_ones_that_lead_there():
    rng = np.random.default_rng(0)
    labels, scores = graph(rng, 6, 5, 12), rng.random((6, 5), np.float32)
    clusters = np.stack([rng.permutation(6)[:3] for _ in range(9)]).astype(np.int32)
    clusters[rng.random(clusters.shape) < 0.2] = PAD
    beliefs, candidates = rng.random(clusters.shape, np.float32), np.array([1, 4, 5, 11])
    edges = paths_to(candidates, clusters, beliefs, labels, scores, 12)
    found, _, at = best_paths(clusters, beliefs, labels, scores, 12, 12)
    for document in range(9):
        ends = dict(zip(found[document].tolist(), at[document].tolist()))
        assert edges[document].tolist() == [ends.get(label, PAD) for label in candidates.tolist()]


def test_opened_clusters_are_a_clipped_softmax():
    rng = np.random.default_rng(0)
    documents, rows = rng.standard_normal((40, 8), np.float32), rng.standard_normal((7, 8), np.float32)
    biases = rng.standard_normal(7, np.float32)
    exponents = np.exp(documents @ rows.T + biases)
    expected = np.minimum(1, 2 * exponents / exponents.sum(axis=1, keepdims=True))
    clusters, beliefs = opened(documents, rows, biases, 2.0, 3)
    np.testing.assert_allclose(beliefs, -np.sort(-expected, axis=1)[:, :3], rtol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(expected, clusters, axis=1), beliefs, rtol=1e-4)


def test_a_wider_beam_than_there_are_clusters_ends_in_pads():
    one = np.ones((1, 1), np.float32)
    clusters, beliefs = opened(one, one, np.zeros(1, np.float32), 1.0, 2)
    assert clusters.tolist() == [[0, PAD]] and beliefs.tolist() == [[1, 0]]
