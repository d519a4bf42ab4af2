from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import store
from longtail.corpus import PAD
from longtail.kernels import threads
from longtail.kernels.dual import Problem, solve
from longtail.rankers import sparse_linear
from longtail.rankers.sparse_linear import SparseLinear, train
from longtail.shortlist import Shortlist
from longtail.sparse import rows_of

N_DOCUMENTS, N_FEATURES, N_LABELS = 120, 30, 21


@pytest.fixture
def features() -> sp.csr_array:
    rows = sp.random_array((N_DOCUMENTS, N_FEATURES), density=0.2, rng=np.random.default_rng(0), dtype=np.float32)
    return sp.csr_array(rows)


def marks(n_columns: int, share: float, seed: int) -> sp.csr_array:
    return sp.csr_array((np.random.default_rng(seed).random((N_DOCUMENTS, n_columns)) < share).astype(np.float32))


@pytest.fixture
def labels() -> sp.csr_array:
    return marks(N_LABELS, 0.1, 1)


def same(one: SparseLinear, other: SparseLinear) -> bool:
    return np.array_equal(one.weights.toarray(), other.weights.toarray()) and np.array_equal(one.biases, other.biases)


def exact(features: sp.csr_array, carried: np.ndarray, listed: np.ndarray) -> np.ndarray:
    """Weights of one label trained on the listed documents and its own, the bias last."""
    sign = np.where(carried, 1, np.where(listed, -1, 0)).astype(np.int8)
    some = np.flatnonzero(sign)
    problem = Problem(1.0, 1.0, 1e-4, 1000, 0)
    weights, bias = solve(rows_of(features[some]), N_FEATURES, sign[some, None], problem)
    return np.append(weights[:, 0], bias)


def test_each_label_learns_from_its_shortlist_and_its_own_documents(features, labels):
    shortlist = marks(N_LABELS, 0.3, 2)
    trained = train(features, labels, shortlist, tolerance=1e-4, max_passes=1000, threshold=0)
    for label in range(N_LABELS):
        expected = exact(features, labels.toarray()[:, label] > 0, shortlist.toarray()[:, label] > 0)
        found = np.append(trained.weights.toarray()[label], trained.biases[label])
        np.testing.assert_allclose(found, expected, atol=2e-3)


def test_labels_can_share_lists_in_any_order(features, labels):
    lists = np.random.default_rng(3).integers(0, 4, N_LABELS)
    shared = marks(4, 0.4, 4)
    spelled_out = sp.csr_array(shared.toarray()[:, lists])
    settings = {"tolerance": 1e-4, "max_passes": 1000, "threshold": 0.0}
    one = train(features, labels, shared, lists, **settings)
    other = train(features, labels, spelled_out, **settings)
    np.testing.assert_allclose(one.weights.toarray(), other.weights.toarray(), atol=2e-3)
    np.testing.assert_allclose(one.biases, other.biases, atol=2e-3)


def test_how_many_labels_are_solved_side_by_side_changes_nothing(features, labels, monkeypatch):
    everyone, lists = sp.csr_array(np.ones((N_DOCUMENTS, 1), np.float32)), np.zeros(N_LABELS, int)
    together = train(features, labels, everyone, lists)
    monkeypatch.setattr(sparse_linear, "TOGETHER", 3)
    assert same(train(features, labels, everyone, lists), together)


def test_the_number_of_threads_changes_nothing(features, labels, monkeypatch):
    shortlist = marks(N_LABELS, 0.3, 2)
    several = train(features, labels, shortlist)
    monkeypatch.setattr(threads, "available_cores", lambda: 1)
    assert same(train(features, labels, shortlist), several)


def test_small_weights_are_dropped(features, labels):
    trained = train(features, labels, marks(N_LABELS, 0.3, 2), threshold=0.2)
    assert trained.weights.nnz and abs(trained.weights.data).min() >= np.float32(0.2)


def test_a_label_without_documents_says_no(features):
    labels, shortlist = marks(3, 0.2, 1).toarray(), marks(3, 0.3, 2).toarray()
    labels[:, 1:] = shortlist[:, 2] = 0
    trained = train(features, sp.csr_array(labels), sp.csr_array(shortlist))
    assert trained.biases[1] == trained.biases[2] == -1 and trained.weights[[2]].nnz == 0


def test_margins_of_a_shortlist_are_those_columns_of_all_margins(features, labels):
    trained = train(features, labels, marks(N_LABELS, 0.3, 2))
    candidates = np.random.default_rng(5).integers(PAD, N_LABELS, (N_DOCUMENTS, 4)).astype(np.int32)
    margins = trained.margins(features, Shortlist(candidates, np.ones(candidates.shape, np.float32)))
    whole = features @ trained.weights.toarray().T + trained.biases
    expected = np.where(candidates == PAD, 0, np.take_along_axis(whole, np.maximum(candidates, 0), 1))
    np.testing.assert_allclose(margins, expected, atol=1e-5)


def test_a_stored_ranker_scores_the_same(features, labels, tmp_path):
    trained = train(features, labels, marks(N_LABELS, 0.3, 2))
    store.write(tmp_path, trained)
    candidates = np.tile(np.arange(N_LABELS, dtype=np.int32), (N_DOCUMENTS, 1))
    shortlist = Shortlist(candidates, np.ones(candidates.shape, np.float32))
    again = store.read(tmp_path, SparseLinear).margins(features, shortlist)
    assert np.array_equal(again, trained.margins(features, shortlist))


def test_a_document_alone_has_the_margins_that_it_has_among_others(features, labels):
    trained = train(features, labels, labels)
    candidates = np.random.default_rng(3).integers(-1, labels.shape[1], (features.shape[0], 4)).astype(np.int32)
    together = trained.margins(features, Shortlist(candidates, np.ones(candidates.shape, np.float32)))
    for row in range(features.shape[0]):
        alone = Shortlist(candidates[[row]], np.ones((1, 4), np.float32))
        assert np.array_equal(trained.margins(features[[row]], alone), together[[row]])
        assert np.array_equal(trained.margins(rows_of(features[[row]]), alone), together[[row]])
