"""Clusters, paths and labels in one pass, beside the three steps that they are."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.kernels import graph_ranking, tables
from longtail.kernels.fusion import weighed_top
from longtail.kernels.graph_ranking import GraphRanking
from longtail.kernels.paths import Edges, opened
from longtail.kernels.tables import Table
from longtail.precision import stored_as


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch):
    """Labels are sketched, and at once."""
    monkeypatch.setattr(tables, "MANY", 1)
    monkeypatch.setattr(graph_ranking, "ASKED", 0)


def drawn(seed: int, n: int, dim: int, precision: str = "fp32") -> Table:
    rng = np.random.default_rng(seed)
    rows, scales = stored_as(precision, rng.standard_normal((n, dim)).astype(np.float32))
    return Table(rows, rng.standard_normal(n).astype(np.float32), scales)


def edges(seed: int, n_clusters: int, n_labels: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """To different labels of each cluster, with PAD behind some."""
    rng = np.random.default_rng(seed)
    labels = np.stack([np.resize(rng.permutation(n_labels), width) for _ in range(n_clusters)]).astype(np.int32)
    labels[np.arange(width) >= rng.integers(0, min(width, n_labels) + 1, n_clusters)[:, None]] = PAD
    return labels, np.where(labels == PAD, 0, rng.random(labels.shape)).astype(np.float32)


def by_three_steps(clusters: Table, ways: tuple, labels: Table, beam: int, shortlist: int, how: tuple, vectors, k):  # type: ignore[no-untyped-def]
    add, alpha, weight = how
    found = Edges(*ways, len(labels), add).best(*opened(clusters, vectors, alpha, min(beam, len(clusters))), shortlist)
    return weighed_top(labels, vectors, found[0], found[1] ** weight, k)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 99), documents=st.integers(1, 18), n_clusters=st.integers(1, 50), n_labels=st.integers(1, 300),
    beam=st.integers(1, 12), shortlist=st.integers(1, 60), k=st.integers(1, 6), add=st.booleans(),
)  # fmt: skip
def test_one_pass_finds_what_three_steps_find(
    seed: int, documents: int, n_clusters: int, n_labels: int, beam: int, shortlist: int, k: int, add: bool
):
    clusters, labels = drawn(seed, n_clusters, 9), drawn(seed + 1, n_labels, 9)
    ways, shortlist = edges(seed, n_clusters, n_labels, 11), min(shortlist, n_labels)
    vectors = np.random.default_rng(seed + 2).standard_normal((documents, 9)).astype(np.float32)
    made = GraphRanking(clusters, ways, labels, beam, shortlist, (add, 3.0, 0.4))
    found = made.rank(vectors, k)
    expected = by_three_steps(clusters, ways, labels, beam, shortlist, (add, 3.0, 0.4), vectors, k)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_a_document_is_answered_the_same_alone_in_a_batch_and_before_labels_are_sketched(
    precision: str, monkeypatch: pytest.MonkeyPatch
):
    given = drawn(0, 40, 16, precision), edges(0, 40, 300, 20), drawn(1, 300, 16, precision)
    vectors = np.random.default_rng(2).standard_normal((20, 16)).astype(np.float32)
    monkeypatch.setattr(graph_ranking, "ASKED", 1000)
    several = GraphRanking(*given, 12, 100, (True, 3.0, 0.4))
    expected = several.rank(vectors, 5)
    monkeypatch.setattr(graph_ranking, "ASKED", 0)
    for asked in (several, pickle.loads(pickle.dumps(several))):
        alone = [asked.rank(vectors[row : row + 1], 5) for row in range(20)]
        for one, other in zip(expected, zip(*alone)):
            np.testing.assert_array_equal(one, np.concatenate(other))


def test_a_score_in_numbers():
    """Both clusters have logit 0, so α · softmax is 1 at α = 2; ŷ is ¼ and ½ + ½; σ(0) = ½: ½ · √¼ and ½ · √1."""
    flat = Table(np.zeros((2, 1), np.float32), np.zeros(2, np.float32))
    ways = np.array([[0, 1], [1, PAD]], np.int32), np.array([[0.25, 0.5], [0.5, 0]], np.float32)
    labels, scores = GraphRanking(flat, ways, flat, 2, 2, (True, 2.0, 0.5)).rank(np.ones((1, 1), np.float32), 3)
    assert labels.tolist() == [[1, 0, PAD]]
    np.testing.assert_allclose(scores, [[0.5, 0.25, 0]], rtol=1e-6)


def test_exponentials_of_all_clusters_add_up():
    """At large and small logits, and where the clusters are no multiple of sixteen."""
    rows = np.linspace(-120, 30, 37).astype(np.float32)[:, None]
    clusters, labels = (
        Table(rows, np.zeros(37, np.float32)),
        Table(np.zeros((37, 1), np.float32), np.zeros(37, np.float32)),
    )
    ways = np.arange(37, dtype=np.int32)[:, None], np.ones((37, 1), np.float32)
    for factor in (1.0, 0.01, 0.0):
        names, scores = GraphRanking(clusters, ways, labels, 37, 37, (False, 1.0, 1.0)).rank(
            np.full((1, 1), factor, np.float32), 37
        )
        powers = np.exp(factor * rows[:, 0].astype(np.float64) - factor * 30)
        np.testing.assert_allclose(scores[0], 0.5 * (powers / powers.sum())[names[0]], rtol=1e-5, atol=1e-37)


def test_what_does_not_fit_together_is_refused():
    clusters, labels, ways = drawn(0, 4, 16), drawn(1, 30, 16), edges(0, 4, 30, 5)
    with pytest.raises(ValueError, match="clusters, edges"):
        GraphRanking(drawn(0, 5, 16), ways, labels, 2, 3, (True, 1.0, 1.0))
    with pytest.raises(ValueError, match="rows of labels"):
        GraphRanking(clusters, ways, drawn(1, 30, 15), 2, 3, (True, 1.0, 1.0))
    with pytest.raises(ValueError, match="document vectors"):
        GraphRanking(clusters, ways, labels, 2, 3, (True, 1.0, 1.0)).rank(np.zeros((1, 15), np.float32), 1)


def test_no_documents_and_no_edges():
    clusters, labels = drawn(0, 4, 16), drawn(1, 30, 16)
    none = np.full((4, 2), PAD, np.int32), np.zeros((4, 2), np.float32)
    made = GraphRanking(clusters, none, labels, 2, 3, (True, 1.0, 1.0))
    assert made.rank(np.zeros((0, 16), np.float32), 3)[0].shape == (0, 3)
    assert made.rank(np.ones((1, 16), np.float32), 2)[0].tolist() == [[PAD, PAD]]
