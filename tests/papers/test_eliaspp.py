"""ELIAS++: what the ranker sees, what a score is made of, and who learns from which documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import fit
from longtail.corpus import PAD, Corpus, Documents, LabelSet, Splits
from longtail.errors import ConfigError
from longtail.features.bags import beside_dense
from longtail.judge.calibration import Tuning
from longtail.methods.eliaspp import Config, EliasPlusPlus
from longtail.methods.shared.preparation import held_out
from longtail.methods.shared.reranked import choose_weight, grow_tree, hinge_beliefs, train_ranker
from longtail.predict.predictor import Predictor
from longtail.rankers.score_tree import LEAF, ScoreTree
from longtail.rankers.sparse_linear import SparseLinear
from longtail.ranking import Ranking
from longtail.sparse import rows_of
from tests.planted import N_LABELS, word

QUICK = {
    "elias.bag.subwords": 0, "elias.bag.dim": 32, "elias.dropout": 0.1, "elias.labels_per_cluster": 8,
    "elias.walk.beam": 4, "elias.optim.epochs": 3, "candidates": 20,
    "elias.optim.row_lr": 0.04, "elias.optim.cluster_lr": (0.02, 0.01), "elias.valid_documents": 0,
    "elias.optim.lr": (0.02, 0.01),
}  # fmt: skip
# Feature 0 speaks for label 0, feature 1 against label 1.
RANKER = SparseLinear(sp.csr_array(np.array([[1, 0], [0, -1]], np.float32)), np.zeros(2, np.float32))
PROPOSED = Ranking(np.array([[0, 1, PAD]], np.int32), np.array([[0.64, 0.25, 0]], np.float32))
FEATURES = sp.csr_array(np.array([[1, 1]], np.float32))
SURE = ScoreTree(*(np.array([value]) for value in (LEAF, 0.0, 0, 0)), np.array([0.5], np.float32), depth=0)


@pytest.fixture(scope="module")
def fitted(planted: Splits) -> Predictor:
    return fit("elias++", planted.train, **QUICK)


def plus(tree: ScoreTree | None, weight: float = 0.5) -> EliasPlusPlus:
    return EliasPlusPlus(None, None, RANKER, np.ones(2, np.float32), tree, 0.3, 2, "both", weight)


def scores_of(model: EliasPlusPlus, features: sp.csr_array, proposed: Ranking) -> np.ndarray:
    """Of each proposed label, as they stand there; 0 at PAD."""
    width = proposed.labels.shape[1]
    labels, scores = model._reranker.rank(rows_of(features), proposed.labels, proposed.scores, width)
    known = dict(zip(labels[0].tolist(), scores[0].tolist()))
    return np.array([[known[label] for label in proposed.labels[0].tolist()]])


def test_vectors_and_words_stand_side_by_side_each_of_length_1():
    both = beside_dense(np.array([[3, 4], [0, 0]], np.float32), sp.csr_array(np.array([[0, 2.0], [1, 0]])))
    np.testing.assert_allclose(both.toarray(), [[0.6, 0.8, 0, 1], [0, 0, 1, 0]])


def test_the_rankers_belief_is_the_cubed_hinge():
    """Margins 1 and −1: exp(0) and exp(−2³)."""
    np.testing.assert_allclose(hinge_beliefs(RANKER, FEATURES, PROPOSED)[0, :2], [1, np.exp(-8)], rtol=1e-5)


def test_labels_that_the_ranker_denies_firmly_stay_in_its_order():
    """Margins −2, −3.7, −5 and −40: exp(−4.7³) is below every float32, and labels that tie stand by their numbers."""
    ranker = SparseLinear(sp.csr_array(np.array([[-40], [-5], [-3.7], [-2]], np.float32)), np.zeros(4, np.float32))
    proposed = Ranking(np.arange(4, dtype=np.int32)[None], np.full((1, 4), 0.5, np.float32))
    beliefs = hinge_beliefs(ranker, sp.csr_array(np.ones((1, 1), np.float32)), proposed)
    assert (np.diff(beliefs[0]) > 0).all() and beliefs[0, 0] > np.finfo(np.float32).tiny
    model = EliasPlusPlus(None, None, ranker, np.ones(4, np.float32), None, 0.3, 4, "words", 1.0)
    scores = scores_of(model, sp.csr_array(np.ones((1, 1), np.float32)), proposed)
    assert Ranking.of_candidates(proposed.labels, scores, 4).labels.tolist() == [[3, 2, 1, 0]]


def test_a_score_is_the_root_of_both_and_a_share_of_the_tree():
    roots = np.sqrt([0.64 * 1, 0.25 * np.exp(-8)])
    np.testing.assert_allclose(scores_of(plus(None), FEATURES, PROPOSED)[0, :2], roots, rtol=1e-5)
    np.testing.assert_allclose(scores_of(plus(SURE), FEATURES, PROPOSED)[0, :2], 0.3 * 0.5 + 0.7 * roots, rtol=1e-5)


def test_the_ranker_may_weigh_more_than_elias():
    """w = ¾: 0.64^¼ · 1 and 0.25^¼ · exp(−8)^¾."""
    np.testing.assert_allclose(
        scores_of(plus(None, 0.75), FEATURES, PROPOSED)[0, :2], [0.64**0.25, 0.25**0.25 * np.exp(-6)], rtol=1e-5
    )


def test_what_the_ranker_weighs_is_chosen_by_documents_that_nobody_saw():
    """Label 0 is true; ELIAS says so with 0.6 against 0.5, the ranker denies it: w must stay below the point where
    0.6^(1 − w) · 0.1^w falls under 0.5^(1 − w) · 0.9^w, which is w = 0.077, so 0."""
    proposed = Ranking(np.array([[0, 1]], np.int32), np.array([[0.6, 0.5]], np.float32))
    valid = Corpus.of(["a"], [["0"]])
    valid = replace(valid, labels=sp.csr_array(np.array([[1.0, 0.0]], np.float32)), label_set=LabelSet.of(["0", "1"]))
    right, wrong = (np.array([row], np.float32) for row in ([0.9, 0.1], [0.1, 0.9]))
    assert choose_weight(proposed, wrong, valid) == 0.0
    other = replace(proposed, scores=np.array([[0.5, 0.6]], np.float32))  # now ELIAS errs, and the ranker is to decide
    assert choose_weight(other, right, valid) == 0.1


@pytest.mark.parametrize("reads", ["words", "both"])
def test_the_ranker_reads_words_or_vectors_too(reads: str, fitted: Predictor, planted: Splits):
    other = fit("elias++", planted.train, **QUICK | {"reads": reads, "tree_share": 0})
    words, both = len(other.model.words.tfidf.vocabulary), QUICK["elias.bag.dim"]
    assert other.model.ranker.weights.shape[1] == words + (both if reads == "both" else 0)
    first = other.rank(Documents.of([word(label) for label in range(N_LABELS)]), k=1).labels[:, 0]
    assert (first == np.arange(N_LABELS)).mean() >= 0.9


def test_a_label_learns_from_documents_it_is_proposed_for_and_from_its_own():
    """Document 1 has feature 1 and label 1: where label 0 is proposed for it, feature 1 speaks against label 0."""
    features, labels = sp.csr_array(np.eye(2, dtype=np.float32)), sp.csr_array(np.eye(2, dtype=np.float32))
    config = Config(smallest_weight=0.0, tolerance=0.01)
    apart = Ranking(np.array([[0], [1]], np.int32), np.ones((2, 1), np.float32))
    meeting = Ranking(np.array([[0], [0]], np.int32), np.ones((2, 1), np.float32))
    weights = [train_ranker(features, labels, ranking, config).weights.toarray()[0, 1] for ranking in (apart, meeting)]
    assert weights[0] == 0 and weights[1] < -0.1


def test_finds_the_planted_words(fitted: Predictor):
    first = fitted.rank(Documents.of([word(label) for label in range(N_LABELS)]), k=1).labels[:, 0]
    assert (first == np.arange(N_LABELS)).mean() >= 0.9


def test_a_tree_grows_on_held_out_documents_unless_it_has_no_share(fitted: Predictor, planted: Splits):
    assert fitted.model.tree is not None and len(fitted.model.tree.shares) > 1
    without = replace(fitted.model, tree=None).rank(planted.test.documents, 3)
    assert not np.array_equal(without.scores, fitted.rank(planted.test.documents, 3).scores)


def test_a_tree_counts_no_pair_that_evaluation_leaves_out():
    """40 documents: label 0 is true of each, label 1 of none but filtered, so every pair that counts is true."""
    proposed = Ranking(np.tile(np.array([0, 1], np.int32), (40, 1)), np.full((40, 2), 0.5, np.float32))
    first, second = (sp.csr_array(np.tile(np.array(row, np.float32), (40, 1))) for row in ([1, 0], [0, 1]))
    valid = Corpus(Documents.of(["a"] * 40), first, LabelSet.of(["0", "1"]))
    ranker = np.full((40, 2), 0.5, np.float32)
    assert grow_tree(plus(None), proposed, ranker, valid, 1).shares[0] == 0.5
    assert grow_tree(plus(None), proposed, ranker, replace(valid, filtered=second), 1).shares[0] == 1


def test_a_model_remembers_which_documents_of_the_validation_split_it_is_tuned_by(planted: Splits, tmp_path: Path):
    assert fit("elias++", planted.train, **QUICK | {"tree_share": 0, "ranker_weight": 0.5}).model.tuning is None
    official = replace(planted.test, role="valid")
    train = replace(planted.train, official_valid=official)
    tuning = fit("elias++", train, run=tmp_path, valid_documents=50, **QUICK).model.tuning
    assert isinstance(tuning, Tuning) and tuning.split == official.fingerprint and len(tuning.rows) == 50
    # The stage that weighs saw these rows and no others.
    assert official.subset(tuning.rows, "valid").fingerprint == held_out(train, 50, 0)[1].fingerprint


@pytest.mark.parametrize("name", ["candidates", "tree_depth", "cost"])
def test_impossible_settings_are_refused(name: str, planted: Splits):
    with pytest.raises(ConfigError, match=name):
        fit("elias++", planted.train, **{name: 0})


def test_more_labels_than_candidates_follow_in_the_order_of_elias(fitted: Predictor, planted: Splits):
    documents, candidates = planted.test.documents, QUICK["candidates"]
    many, few = fitted.rank(documents, 40), fitted.rank(documents, candidates)
    assert np.array_equal(many.labels[:, :candidates], few.labels)
    assert np.array_equal(many.labels[:, candidates:], fitted.model.proposer.rank(documents, 40).labels[:, candidates:])
    behind = (many.labels != PAD)[:, 1:]
    assert behind.sum() > len(documents) * candidates and (np.diff(many.scores)[behind] < 0).all()
