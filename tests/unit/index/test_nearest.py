"""The nearest labels by cosine: all compared, and by a walk through a graph that must find the same."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from longtail import store
from longtail.corpus import PAD
from longtail.errors import MissingExtraError
from longtail.index.nearest import Graph, Nearest, Search, built, nearest_over, unit
from longtail.kernels.tables import Table
from longtail.rankers.label_rows import LabelRows
from longtail.shortlist import Shortlist

ALL, GRAPH = Search(), Search(links=8, width=60)


def parts(found: Shortlist) -> tuple[np.ndarray, np.ndarray]:
    return found.labels, found.belief


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def cloud(count: int, seed: int, dim: int = 16) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


@pytest.fixture(scope="module")
def graph() -> Nearest:
    return nearest_over(cloud(2000, 0), GRAPH)


def test_the_length_of_a_vector_does_not_matter_its_direction_does():
    index = nearest_over(np.array([[0, 9], [0.1, 0], [3, 3]], np.float32), ALL)
    labels, beliefs = parts(index.find(np.array([[5, 0.5]], np.float32), 3))
    assert labels.tolist() == [[1, 2, 0]]
    cosines = np.array([5, 5.5 / np.sqrt(2), 0.5]) / np.sqrt(25.25)
    np.testing.assert_allclose(beliefs[0], sigmoid(cosines), rtol=1e-5)


@pytest.mark.parametrize("search", [ALL, GRAPH])
def test_a_label_without_a_vector_is_never_found(search: Search):
    vectors = cloud(40, 1)
    vectors[::2] = 0
    labels, _ = parts(nearest_over(vectors, search).find(cloud(5, 2), 40))
    assert labels.shape == (5, 20) and (np.sort(labels, axis=1) == np.arange(1, 40, 2)).all()


@pytest.mark.parametrize("search", [ALL, GRAPH])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_labels_are_all_found(search: Search, count: int):
    labels, beliefs = parts(nearest_over(cloud(count, 3), search).find(cloud(3, 4), 10))
    assert (np.sort(labels, axis=1) == np.arange(count)).all() and (np.diff(beliefs, axis=1) <= 0).all()


@pytest.mark.parametrize("search", [ALL, GRAPH])
def test_no_labels_no_answer(search: Search):
    index = nearest_over(np.zeros((3, 4), np.float32), search)
    assert index.find(cloud(2, 0, 4), 5).labels.shape == index.find_for_many(cloud(2, 0, 4), 5).shape == (2, 0)


def test_a_graph_over_no_labels_as_older_models_have_it_finds_nothing():
    no_ints = np.zeros(0, np.int32)
    empty = Graph(no_ints, np.zeros(1, np.int64), np.array([0, 16], np.int64), entry=-1, top=-1)
    index = Nearest(no_ints, LabelRows(np.zeros((0, 4), np.float32), np.zeros(0, np.float32)), empty)
    assert index.find(cloud(2, 0, 4), 5).labels.shape == (2, 0)


def test_comparing_all_agrees_with_numpy():
    vectors, documents = cloud(300, 5), cloud(20, 6)
    found = nearest_over(vectors, ALL).find(documents, 10)
    cosines = unit(documents) @ unit(vectors).T
    expected = np.argsort(-cosines, axis=1)[:, :10]
    assert np.array_equal(found.labels, expected)
    np.testing.assert_allclose(found.belief, sigmoid(np.take_along_axis(cosines, expected, 1)), rtol=1e-5)


def test_a_graph_finds_nearly_all_that_comparing_all_finds(graph: Nearest):
    documents = cloud(100, 7)
    exact = dataclasses.replace(graph, graph=None).find(documents, 50).labels
    found = graph.find(documents, 50).labels
    recall = np.mean([len(set(one) & set(other)) / 50 for one, other in zip(found.tolist(), exact.tolist())])
    assert recall > 0.9


def test_the_walk_finds_what_the_library_that_built_the_graph_finds(graph: Nearest):
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(16, GRAPH.links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = GRAPH.width, 50
    index.add(graph.directions.rows)
    documents = cloud(100, 8)
    theirs = index.search(unit(documents), 50)[1]
    ours = graph.find(documents, 50).labels
    assert np.mean([set(one) == set(other) for one, other in zip(ours.tolist(), theirs.tolist())]) > 0.95


def test_a_graph_is_the_same_every_time(graph: Nearest):
    again = built(graph.directions.rows, GRAPH)
    assert np.array_equal(again.links, graph.graph.links) and again.entry == graph.graph.entry


def test_a_walk_is_the_same_alone_and_in_a_batch(graph: Nearest):
    documents = cloud(30, 9)
    together = parts(graph.find(documents, 20))
    for row in range(30):
        alone = parts(graph.find(documents[row : row + 1], 20))
        assert np.array_equal(alone[0][0], together[0][row]) and np.array_equal(alone[1][0], together[1][row])


def test_what_is_not_reached_is_padding():
    vectors = np.eye(3, dtype=np.float32)
    lonely = nearest_over(vectors, GRAPH)
    cut = dataclasses.replace(lonely.graph, links=np.full_like(lonely.graph.links, PAD))
    labels, beliefs = parts(dataclasses.replace(lonely, graph=cut).find(np.ones((1, 3), np.float32), 3))
    assert (labels[0, 1:] == PAD).all() and labels[0, 0] == cut.entry and (beliefs[0, 1:] == 0).all()


def test_a_document_of_zeros_is_as_near_to_all():
    labels, beliefs = parts(nearest_over(cloud(5, 0), ALL).find(np.zeros((1, 16), np.float32), 5))
    assert labels.tolist() == [[0, 1, 2, 3, 4]] and (beliefs == 0.5).all()


def test_an_index_survives_the_disk(graph: Nearest, tmp_path: Path):
    with store.whole_directory(tmp_path / "index") as building:
        store.write(building, graph)
    again, documents = store.read(tmp_path / "index", Nearest), cloud(5, 1)
    assert np.array_equal(again.find(documents, 9).labels, graph.find(documents, 9).labels)


def test_walking_needs_no_library_and_building_names_the_missing_one(graph: Nearest, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert graph.find(cloud(1, 0), 3).labels.shape == (1, 3)
    with pytest.raises(MissingExtraError, match=r"longtail\[hnsw\]"):
        nearest_over(cloud(10, 0), GRAPH)


def test_walks_share_their_marks_and_forget_none(monkeypatch: pytest.MonkeyPatch):
    """Marks of earlier walks stay in memory; a later one must not take them for its own, nor run out of numbers."""
    from longtail.kernels import graph_search

    monkeypatch.setattr(graph_search, "MOST_WALKS", 7)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((9, 4)).astype(np.float32)
    links = np.array([[other for other in range(9) if other != node] for node in range(9)], np.int32)
    graph = graph_search.Links(links.ravel(), np.arange(0, 73, 8), np.array([0, 8]), 0, 0)
    table = Table(rows, np.zeros(9, np.float32))
    documents = rng.standard_normal((3, 4)).astype(np.float32)
    expected = np.argsort(-(documents @ rows.T), axis=1)[:, :5]
    for _ in range(6):
        assert np.array_equal(graph_search.walk(table, graph, documents, 5, threads=1)[0], expected)
