"""Opened clusters and best paths against the same in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.corpus import PAD
from longtail.kernels.paths import Edges, best_labels, log_belief_gradients, log_beliefs, opened, paths_to
from longtail.kernels.tables import Table


def beliefs_plainly(clusters, beliefs, labels, scores, add: bool) -> list[dict[int, float]]:
    """Every path of every document written down; of each label the best, or the sum."""
    rows: list[dict[int, float]] = []
    for document in range(len(clusters)):
        rows.append({})
        for cluster, belief in zip(clusters[document], beliefs[document]):
            for label, score in zip(labels[cluster].tolist(), scores[cluster]) if cluster != PAD else ():
                if label != PAD:
                    path, before = float(belief * score), rows[-1].get(label, 0.0)
                    rows[-1][label] = before + path if add else max(before, path)
    return rows


def graph(rng: np.random.Generator, clusters: int, edges: int, n_labels: int) -> np.ndarray:
    """Different labels in every row, PAD behind a random end."""
    rows = np.stack([rng.permutation(n_labels)[:edges] for _ in range(clusters)]).astype(np.int32)
    rows[np.arange(edges) >= rng.integers(0, edges + 1, clusters)[:, None]] = PAD
    return rows


def walks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nine documents, three of six clusters each, which lead to twelve labels: clusters, beliefs, labels, scores."""
    labels, scores = graph(rng, 6, 5, 12), rng.random((6, 5), np.float32)
    clusters = np.stack([rng.permutation(6)[:3] for _ in range(9)]).astype(np.int32)
    clusters[rng.random(clusters.shape) < 0.2] = PAD
    return clusters, rng.random(clusters.shape, np.float32), labels, scores


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("k", [1, 4, 40])
@pytest.mark.parametrize("n_wanted", [0, 2])
def test_best_labels_are_those_found_by_writing_all_paths_down(k: int, n_wanted: int, add: bool):
    rng = np.random.default_rng(k)
    arrays, wanted = walks(rng), rng.integers(-1, 12, (9, n_wanted)).astype(np.int32)
    found, values = best_labels(*arrays, 12, k, wanted, add)
    for at, beliefs in enumerate(beliefs_plainly(*arrays, add)):
        must = set(wanted[at].tolist())
        expected = sorted(beliefs.items(), key=lambda item: (item[0] not in must, -item[1], item[0]))[:k]
        count = len(expected)
        assert found[at, :count].tolist() == [label for label, _ in expected] and (found[at, count:] == PAD).all()
        np.testing.assert_allclose(values[at, :count], [min(1, score) for _, score in expected], atol=1e-6)


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("k", [1, 4, 40])
def test_where_many_paths_are_alike_the_smaller_labels_are_best_in_order_or_not(k: int, add: bool):
    rng = np.random.default_rng(k)
    clusters, beliefs, labels, scores = walks(rng)
    beliefs, scores = (rng.choice([0.125, 0.25], of.shape).astype(np.float32) for of in (beliefs, scores))
    edges = Edges(labels, scores, 12, add)
    found, values = edges.best(clusters, beliefs, k)
    for at, row in enumerate(beliefs_plainly(clusters, beliefs, labels, scores, add)):
        expected = sorted(row.items(), key=lambda item: (-item[1], item[0]))[:k]
        assert list(zip(found[at].tolist(), values[at].tolist()))[: len(expected)] == expected
    some, unsorted = edges.best(clusters, beliefs, k, ordered=False)
    pairs = (zip(names.tolist(), them.tolist()) for names, them in zip((*found, *some), (*values, *unsorted)))
    both = [sorted(each) for each in pairs]
    assert both[:9] == both[9:]


@pytest.mark.parametrize("add", [False, True])
def test_beliefs_in_given_labels_are_what_their_paths_say(add: bool):
    clusters, beliefs, labels, scores = walks(np.random.default_rng(0))
    wanted = np.tile(np.array([1, 4, PAD, 5, 11], np.int32), (9, 1))
    values = log_beliefs(wanted, clusters, np.log(beliefs), labels, np.log(scores), 12, add)
    expected = [
        [row.get(label, 0.0) for label in wanted[0].tolist()]
        for row in beliefs_plainly(*walks(np.random.default_rng(0)), add)
    ]
    np.testing.assert_allclose(np.exp(values), expected, rtol=1e-5)


@pytest.mark.parametrize("add", [False, True])
def test_gradients_of_beliefs_are_small_differences(add: bool):
    rng = np.random.default_rng(1)
    clusters, beliefs, labels, scores = walks(rng)
    logs, wanted = (
        [np.log(beliefs), np.log(scores)],
        rng.permuted(np.tile(np.arange(12, dtype=np.int32), (9, 1)), axis=1)[:, :5],
    )

    def value(logs: list[np.ndarray]) -> np.ndarray:
        return log_beliefs(wanted, clusters, logs[0], labels, logs[1], 12, add)

    values = value(logs)
    reached, weights = values > -np.inf, rng.standard_normal(wanted.shape).astype(np.float32)
    gradients = log_belief_gradients(weights, values, wanted, clusters, logs[0], labels, logs[1], 12, add)
    for which, gradient in enumerate(gradients):
        for at in np.ndindex(gradient.shape):
            ends = []
            for step in (-1e-2, 1e-2):
                moved = [part.copy() for part in logs]
                moved[which][at] += step
                ends.append((value(moved)[reached].astype(np.float64) * weights[reached]).sum())
            assert (ends[1] - ends[0]) / 2e-2 == pytest.approx(gradient[at], abs=2e-3)


def test_of_paths_as_good_the_first_learns():
    clusters, labels = np.array([[0, 1]], np.int32), np.array([[3], [3]], np.int32)
    nothing = np.zeros((1, 2), np.float32), np.zeros((2, 1), np.float32)
    wanted, one = np.array([[3]], np.int32), np.ones((1, 1), np.float32)
    values = log_beliefs(wanted, clusters, nothing[0], labels, nothing[1], 4, add=False)
    of_beliefs, of_scores = log_belief_gradients(
        one, values, wanted, clusters, nothing[0], labels, nothing[1], 4, False
    )
    assert of_beliefs.tolist() == [[1, 0]] and of_scores.tolist() == [[1], [0]]


def test_paths_too_weak_for_single_precision_still_say_where_to_go():
    weak = np.full((1, 1), -200, np.float32)
    clusters, labels, wanted = np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int32)
    assert log_beliefs(wanted, clusters, weak, labels, weak, 1, add=True).tolist() == [[-400]]


def test_opened_clusters_are_a_clipped_softmax():
    rng = np.random.default_rng(0)
    documents, rows = rng.standard_normal((40, 8), np.float32), rng.standard_normal((7, 8), np.float32)
    biases = rng.standard_normal(7, np.float32)
    exponents = np.exp(documents @ rows.T + biases)
    expected = np.minimum(1, 2 * exponents / exponents.sum(axis=1, keepdims=True))
    clusters, beliefs = opened(Table(rows, biases), documents, 2.0, 3)
    np.testing.assert_allclose(beliefs, -np.sort(-expected, axis=1)[:, :3], rtol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(expected, clusters, axis=1), beliefs, rtol=1e-4)


def test_a_wider_beam_than_there_are_clusters_ends_in_pads():
    one = np.ones((1, 1), np.float32)
    clusters, beliefs = opened(Table(one, np.zeros(1, np.float32)), one, 1.0, 2)
    assert clusters.tolist() == [[0, PAD]] and beliefs.tolist() == [[1, 0]]


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
