"""Label rows: scores against plain NumPy, new labels, and parts of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from longtail.corpus import PAD
from longtail.errors import LongtailError
from longtail.index.clusters import Clusters
from longtail.kernels.fusion import fused_top
from longtail.kernels.graph_search import Links, walk
from longtail.kernels.paths import opened as opened_by_softmax
from longtail.kernels.products import in_integers
from longtail.precision import as_floats, stored_as
from longtail.rankers.label_rows import Coarse, LabelRows
from longtail.shortlist import Shortlist

LABELS, DIM = 7, 4
CLUSTERS = Clusters(np.array([4, 0, 2, 6, 1, 3, 5], np.int32), np.array([0, 2, 4, 7]))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def in_precision(precision: str, clusters: Clusters | None = None, n: int = LABELS) -> LabelRows:
    rng = np.random.default_rng(0)
    numbers, scales = stored_as(precision, rng.standard_normal((n, DIM), np.float32))
    return LabelRows(numbers, rng.standard_normal(n).astype(np.float32), clusters, scales)


@pytest.fixture(params=["fp32", "fp16", "int8"])
def rows(request: pytest.FixtureRequest) -> LabelRows:
    return in_precision(request.param)


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((5, DIM), np.float32)


def plain(rows: LabelRows, vectors: np.ndarray) -> np.ndarray:
    return as_vectors_are_read(rows, vectors) @ as_floats(rows.rows, rows.scales).T + rows.biases


def as_vectors_are_read(rows: LabelRows, vectors: np.ndarray) -> np.ndarray:
    """Rows of int8 are multiplied with whole numbers."""
    if rows.precision != "int8":
        return vectors
    codes, scales = in_integers(vectors)
    return codes * scales[:, None]


def test_logits_are_those_of_a_matrix_product(rows: LabelRows, vectors: np.ndarray):
    wanted = np.array([[3, 0], [6, PAD], [1, 1], [0, 5], [2, 4]], np.int32)
    expected = np.take_along_axis(plain(rows, vectors), wanted.clip(min=0), axis=1)
    inside = wanted != PAD
    np.testing.assert_allclose(rows.logits(vectors, wanted)[inside], expected[inside], rtol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_the_sum_is_that_of_all_rows(precision: str):
    many = np.random.default_rng(0).standard_normal((1100, 3), np.float32)  # more than are added up at once
    numbers, scales = stored_as(precision, many)
    rows = LabelRows(numbers, np.zeros(1100, np.float32), scales=scales)
    np.testing.assert_allclose(rows.total, as_floats(numbers, scales).sum(axis=0), rtol=1e-4)


def test_the_top_is_sorted_by_score(rows: LabelRows, vectors: np.ndarray):
    best, order = rows.top(vectors, 3), np.argsort(-plain(rows, vectors), axis=1)[:, :3]
    assert np.array_equal(best.labels, order) and np.array_equal(rows.top_for_many(vectors, 3), order)
    np.testing.assert_allclose(best.belief, sigmoid(np.take_along_axis(plain(rows, vectors), order, 1)), rtol=1e-5)


def test_more_labels_than_there_are_end_in_padding(rows: LabelRows, vectors: np.ndarray):
    best = rows.top(vectors, LABELS + 2)
    assert (best.labels[:, LABELS:] == PAD).all() and (best.belief[:, LABELS:] == 0).all()


def test_a_softmax_is_cut_at_one(rows: LabelRows, vectors: np.ndarray):
    logits = plain(rows, vectors).astype(np.float64)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    _, beliefs = opened_by_softmax(rows.table_for(vectors), vectors, 2.0, 2)
    expected = np.minimum(1, 2 * -np.sort(-shares, axis=1)[:, :2])
    np.testing.assert_allclose(beliefs, expected, rtol=1e-5)


def test_labels_of_opened_clusters_are_ranked_by_both_scores(rows: LabelRows, vectors: np.ndarray):
    in_order = replace(rows, clusters=CLUSTERS)
    opened = Shortlist(np.array([[2, 0]] * 5, np.int32), np.array([[0.5, 0.25]] * 5, np.float32))
    found = in_order.top_inside(vectors, opened, 9)
    scores = sigmoid(plain(rows, vectors))
    for row in range(5):
        expected = {int(CLUSTERS.labels[at]): scores[row, at] * (0.5 if at >= 4 else 0.25) for at in (0, 1, 4, 5, 6)}
        best = sorted(expected, key=expected.__getitem__, reverse=True)
        assert found.labels[row].tolist() == best + [PAD] * 4


def test_vectors_of_another_length_are_refused(rows: LabelRows):
    with pytest.raises(LongtailError, match="document vectors and rows do not agree: 3, 4"):
        rows.top(np.zeros((1, 3), np.float32), 1)


def test_a_new_label_is_found_and_old_ones_keep_their_scores(rows: LabelRows, vectors: np.ndarray):
    grown = rows.append(10 * vectors[:1], np.zeros(1, np.float32))
    assert grown.top(vectors[:1], 1).labels.tolist() == [[LABELS]]
    assert np.array_equal(grown.rows[:LABELS], rows.rows) and len(rows) == LABELS


def test_new_labels_go_to_the_end_of_their_clusters(rows: LabelRows):
    in_order = replace(rows, clusters=CLUSTERS)
    new = np.arange(3 * DIM, dtype=np.float32).reshape(3, DIM)
    grown = in_order.append(new, np.array([1, 2, 3], np.float32), np.array([2, 0, 2]))
    assert grown.clusters is not None and [each.tolist() for each in map(grown.clusters.__getitem__, range(3))] == [
        [4, 0, 8], [2, 6], [1, 3, 5, 7, 9],
    ]  # fmt: skip
    place = {label: at for at, label in enumerate(grown.clusters.labels.tolist())}
    for label, row in zip((7, 8, 9), new):
        assert np.array_equal(as_floats(grown.rows, grown.scales)[place[label]].round(1), row)
    before = {label: at for at, label in enumerate(CLUSTERS.labels.tolist())}
    assert all(np.array_equal(grown.rows[place[label]], rows.rows[before[label]]) for label in range(LABELS))


def test_a_new_label_among_clusters_needs_one(rows: LabelRows):
    with pytest.raises(LongtailError, match="2 new labels need a cluster each"):
        replace(rows, clusters=CLUSTERS).append(rows.rows[:2], rows.biases[:2])


@pytest.mark.parametrize("parts", [1, 2, 3, 9])
def test_parts_are_all_rows_once_and_copy_nothing(rows: LabelRows, parts: int):
    shares = [rows.part(number, parts) for number in range(parts)]
    assert np.array_equal(np.concatenate([share.rows for share in shares]), rows.rows)
    assert all(np.shares_memory(share.rows, rows.rows) for share in shares if len(share))


def test_a_shortlist_is_scored_by_both(rows: LabelRows, vectors: np.ndarray):
    shortlist = Shortlist(np.array([[3, 0, PAD]] * 5, np.int32), np.array([[0.5, 0.25, 0]] * 5, np.float32))
    expected = 0.75 * sigmoid(plain(rows, vectors)[:, [3, 0]]) + 0.25 * np.array([0.5, 0.25])
    _, scores = fused_top(rows.table_for(vectors), vectors, shortlist.labels, shortlist.belief, 0.75, 2)
    np.testing.assert_allclose(scores, -np.sort(-expected, axis=1), rtol=1e-5)


def test_a_graph_that_links_all_labels_finds_the_nearest(rows: LabelRows, vectors: np.ndarray):
    links = np.array([[other for other in range(LABELS) if other != node] for node in range(LABELS)], np.int32)
    graph = Links(links.ravel(), np.arange(0, LABELS * 6 + 1, 6), np.array([0, 6]), 0, 0)
    table = replace(rows, biases=np.zeros(LABELS, np.float32)).table_for(vectors)
    found, _ = walk(table, graph, vectors, 3)
    assert np.array_equal(found, np.argsort(-(plain(rows, vectors) - rows.biases), axis=1)[:, :3])


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize("alone", [0, 17, 39])
def test_scores_have_the_same_bits_alone_and_in_a_batch(precision: str, alone: int):
    rng = np.random.default_rng(5)
    rows, vectors = in_precision(precision, n=301), rng.standard_normal((40, DIM), np.float32)
    halves = Clusters(np.arange(301, dtype=np.int32), np.array([0, 100, 301]))
    inside, one = replace(rows, clusters=halves), slice(alone, alone + 1)
    wanted = rng.integers(0, 301, (40, 9)).astype(np.int32)
    opened = Shortlist(np.array([[1, 0]] * 40, np.int32), rng.random((40, 2), np.float32))
    assert np.array_equal(rows.logits(vectors, wanted)[one], rows.logits(vectors[one], wanted[one]))
    for ask in (lambda v: rows.top(v, 9).belief, lambda v: opened_by_softmax(rows.table_for(v), v, 3.0, 9)[1]):
        assert np.array_equal(ask(vectors)[one], ask(vectors[one]))
    few = Shortlist(opened.labels[one], opened.belief[one])
    assert np.array_equal(
        inside.top_inside(vectors, opened, 9).scores[one], inside.top_inside(vectors[one], few, 9).scores
    )


# -- two levels --------------------------------------------------------------------------------------------------------


def in_two_levels(rows: LabelRows, probes: int) -> LabelRows:
    clusters = Clusters(np.arange(LABELS, dtype=np.int32), np.array([0, 3, 3, 7]))
    numbers, scales = stored_as(rows.precision, np.eye(3, DIM, dtype=np.float32))
    return replace(rows, clusters=clusters, coarse=Coarse(numbers, np.zeros(3, np.float32), probes, scales))


def test_with_all_clusters_opened_two_levels_find_what_one_does(rows: LabelRows, vectors: np.ndarray):
    exact, found = rows.top(vectors, 4), in_two_levels(rows, 3).top(vectors, 4)
    assert np.array_equal(exact.labels, found.labels) and np.array_equal(exact.belief, found.belief)
    assert np.array_equal(in_two_levels(rows, 3).top_for_many(vectors, 4), exact.labels)


def test_with_one_cluster_opened_only_its_labels_are_found(rows: LabelRows):
    last = np.array([[0, 0, 1, 0]], np.float32)
    assert sorted(in_two_levels(rows, 1).top(last, 7).labels[0].tolist()) == [PAD, PAD, PAD, 3, 4, 5, 6]
