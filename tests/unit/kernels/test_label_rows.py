from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.kernels.label_rows import likeliest, likeliest_for_many, shortlist_gradients, shortlist_logits
from longtail.kernels.opening import likeliest_in_levels
from longtail.kernels.tables import Members, Table, rank_members
from longtail.precision import FP32, INT8, as_floats, stored_as


def drawn(seed: int, n_documents: int = 7, n_rows: int = 11, dim: int = 19) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((n, dim)).astype(np.float32) for n in (n_documents, n_rows))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 999), width=st.integers(1, 6))
def test_logits_and_gradients_are_those_of_the_full_matrix(seed: int, width: int):
    documents, rows = drawn(seed)
    rng = np.random.default_rng(seed)
    shortlist = rng.integers(PAD, len(rows), (len(documents), width)).astype(np.int32)
    given_ = shortlist != PAD
    full = documents @ rows.T
    expected = np.where(given_, np.take_along_axis(full, shortlist.clip(0), 1), 0)
    np.testing.assert_allclose(shortlist_logits(documents, rows, shortlist), expected, rtol=1e-4, atol=1e-5)
    gradients = rng.standard_normal(shortlist.shape).astype(np.float32)
    dense = np.zeros_like(full)
    for document, at in zip(*np.nonzero(given_)):
        dense[document, shortlist[document, at]] += gradients[document, at]
    of_documents, of_rows = shortlist_gradients(documents, rows, shortlist, gradients)
    np.testing.assert_allclose(of_documents, dense @ rows, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(of_rows, dense.T @ documents, rtol=1e-4, atol=1e-4)


def test_the_likeliest_rows_are_those_of_a_full_sort():
    documents, rows = drawn(3, n_documents=40, n_rows=30)
    biases = np.linspace(-1, 1, 30).astype(np.float32)
    chosen, beliefs = likeliest(documents, rows, biases, 5)
    full = sigmoid(documents @ rows.T + biases)
    assert np.array_equal(chosen, np.argsort(-full, axis=1)[:, :5])
    np.testing.assert_allclose(beliefs, -np.sort(-full, axis=1)[:, :5], rtol=1e-5)


def test_members_of_opened_clusters_are_ranked_by_both_beliefs():
    documents, rows = drawn(4, n_documents=3, n_rows=6)
    biases, starts = np.zeros(6, np.float32), np.array([0, 2, 5, 6])
    labels = np.array([50, 10, 40, 20, 30, 0], np.int32)
    clusters = np.array([[0, 2], [1, PAD], [2, 1]], np.int32)
    beliefs = np.array([[0.9, 0.5], [0.3, 0], [1.0, 0.1]], np.float32)
    found, scores = rank_members(Table(rows, biases), Members(starts, labels), documents, clusters, beliefs, 4)
    for row in range(3):
        expected = {}
        for cluster, belief in zip(clusters[row], beliefs[row]):
            for at in range(starts[cluster], starts[cluster + 1]) if cluster != PAD else ():
                expected[int(labels[at])] = sigmoid(documents[row] @ rows[at]) * belief
        best = sorted(expected, key=expected.__getitem__, reverse=True)[:4]
        assert found[row].tolist() == best + [PAD] * (4 - len(best))
        np.testing.assert_allclose(scores[row, : len(best)], [expected[label] for label in best], rtol=1e-5)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 999), k=st.integers(1, 12))
def test_labels_of_clusters_that_are_passed_over_would_not_have_been_among_the_best(seed: int, k: int):
    """Beliefs from nearly 1 to nearly 0, and more rows than are compared at once: the best labels are those of all."""
    rng = np.random.default_rng(seed)
    documents, rows = drawn(seed, n_documents=3, n_rows=400)
    starts, labels = np.arange(0, 401, 8), rng.permutation(400).astype(np.int32)
    clusters = np.array([rng.permutation(50)[:40] for _ in range(3)], np.int32)
    beliefs = np.sort(rng.random((3, 40), np.float32) ** 4)[:, ::-1].copy()
    found, scores = rank_members(
        Table(rows, np.zeros(400, np.float32)), Members(starts, labels), documents, clusters, beliefs, k
    )
    for row in range(3):
        inside = (clusters[row][:, None] * 8 + np.arange(8)).ravel()
        all_scores = sigmoid(rows[inside] @ documents[row]) * np.repeat(beliefs[row], 8)
        best = np.argsort(-all_scores)[:k]
        assert found[row].tolist() == labels[inside[best]].tolist()
        np.testing.assert_allclose(scores[row], all_scores[best], rtol=1e-5)


@pytest.mark.parametrize("probes", [1, 2, 9])
@pytest.mark.parametrize("precisions", [(FP32, FP32), (INT8, INT8), (INT8, FP32)])
def test_in_two_levels_the_likeliest_rows_of_the_best_clusters_are_found(probes: int, precisions: tuple[str, str]):
    documents, biases = drawn(6, n_documents=40)[0], np.linspace(-1, 1, 12).astype(np.float32)
    starts, labels = np.array([0, 4, 4, 9, 12]), np.random.default_rng(0).permutation(12).astype(np.int32)
    kept = [stored_as(precision, drawn(seed, n_rows=n)[1]) for precision, seed, n in zip(precisions, (6, 7), (12, 4))]
    rows, coarse = (as_floats(*each) for each in kept)
    levels = *(Table(each[0], biases[: len(each[0])], each[1]) for each in kept), Members(starts, labels)
    found, beliefs = likeliest_in_levels(*levels, documents, probes, 5)
    single = likeliest_in_levels(*levels, documents[17:18], probes, 5)
    assert np.array_equal(found[17], single[0][0]) and np.array_equal(beliefs[17], single[1][0])
    for row, document in enumerate(documents):
        best = np.argsort(-(coarse @ document + biases[:4]))[:probes]
        inside = [at for cluster in best for at in range(starts[cluster], starts[cluster + 1])]
        expected = {int(labels[at]): sigmoid(document @ rows[at] + biases[at]) for at in inside}
        wanted = sorted(expected, key=expected.__getitem__, reverse=True)[:5]
        assert found[row].tolist() == wanted + [PAD] * (5 - len(wanted))
        rounded = 1e-5 if INT8 not in precisions else 5e-3  # vectors become integers too
        np.testing.assert_allclose(beliefs[row, : len(wanted)], [expected[label] for label in wanted], rtol=rounded)


def test_a_table_is_asked_about_other_clusters_than_before():
    documents, rows = drawn(6, n_documents=1, n_rows=4)
    table, clusters, beliefs = (
        Table(rows, np.zeros(4, np.float32)),
        np.array([[1]], np.int32),
        np.ones((1, 1), np.float32),
    )
    for starts, inside in (([0, 1, 4], {1, 2, 3}), ([0, 3, 4], {3})):
        members = Members(np.array(starts), np.arange(4, dtype=np.int32))
        assert set(rank_members(table, members, documents, clusters, beliefs, 4)[0][0].tolist()) - {PAD} == inside


@pytest.mark.parametrize("alone", [0, 17, 39])
def test_a_document_scores_the_same_bits_alone_and_in_a_batch(alone: int):
    documents, rows = drawn(5, n_documents=40, n_rows=64, dim=300)
    biases = np.zeros(64, np.float32)
    together, single = likeliest(documents, rows, biases, 9), likeliest(documents[alone : alone + 1], rows, biases, 9)
    for many, one in zip(together, single):
        assert np.array_equal(many[alone], one[0])


@pytest.mark.parametrize("k", [1, 6, 30])
def test_asked_for_many_documents_the_same_rows_are_found(k: int):
    rng = np.random.default_rng(k)
    documents, rows = (rng.standard_normal((n, 24)).astype(np.float32) for n in (2500, 30))
    biases = rng.standard_normal(30).astype(np.float32)
    assert np.array_equal(likeliest_for_many(documents, rows, biases, k), likeliest(documents, rows, biases, k)[0])
