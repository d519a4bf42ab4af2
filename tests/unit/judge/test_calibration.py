"""Probabilities, how far scores are from them, and thresholds: worked by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from longtail.corpus import PAD
from longtail.errors import ConfigError, CorpusError
from longtail.judge.calibration import (
    SUREST,
    Target,
    choose_threshold,
    cut_offs,
    fit_curve,
    fit_isotonic,
    reached,
    reliability,
)
from longtail.ranking import Ranking


def one_label(scores: list[float], true: list[int]) -> tuple[Ranking, sp.csr_array]:
    """A document a score, each with label 0 ranked and true or not."""
    ranking = Ranking(np.zeros((len(scores), 1), np.int32), np.array(scores, np.float32)[:, None])
    return ranking, sp.csr_array(np.array(true)[:, None])


# -- the curve ----------------------------------------------------------------------------------------------------


def test_neighbours_that_fall_are_pooled():
    """Truth 0 1 0 0 1 1 by rising score: the 1 is pooled with the two 0s behind it to a third, at their mean score."""
    curve = fit_isotonic(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), np.array([0, 1, 0, 0, 1, 1], bool))
    np.testing.assert_allclose(curve.scores, [0.1, 0.3, 0.55])
    np.testing.assert_allclose(curve.probabilities, [0, 1 / 3, SUREST])


def test_pooling_goes_back_as_far_as_it_must():
    """1 1 0 0 0: (1) and (1) are one group, 0 pulls it to 2/3, the next to 2/4, the last to 2/5: level all the way."""
    curve = fit_isotonic(np.arange(5) / 10, np.array([1, 1, 0, 0, 0], bool))
    np.testing.assert_allclose(curve.probability(np.array([-1, 0.2, 9])), 0.4)


def test_equal_scores_are_one_point_whatever_their_order():
    """Half of those at 0.5 are true, in either order."""
    for true in ([1, 0, 1], [0, 1, 1]):
        curve = fit_isotonic(np.array([0.5, 0.5, 0.9]), np.array(true, bool))
        assert curve.scores.tolist() == [0.5, 0.9]
        np.testing.assert_allclose(curve.probabilities, [0.5, SUREST])


def test_between_two_points_the_curve_is_straight_and_beyond_the_ends_level():
    curve = fit_isotonic(np.array([0.2, 0.6, 0.6]), np.array([0, 1, 0], bool))
    np.testing.assert_allclose(curve.probability(np.array([0.0, 0.2, 0.3, 0.6, 1.0])), [0, 0, 0.125, 0.5, 0.5])


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=40))
@settings(deadline=None)
def test_the_points_lie_on_the_curve_of_scikit_learn(pairs: list[tuple[int, bool]]):
    scores, true = np.array([pair[0] for pair in pairs]) / 12, np.array([pair[1] for pair in pairs])
    theirs, ours = IsotonicRegression(out_of_bounds="clip").fit(scores, true), fit_isotonic(scores, true)
    np.testing.assert_allclose(ours.probabilities, theirs.predict(ours.scores), atol=2e-5)
    assert len(ours.scores) == len(np.unique(theirs.predict(scores).round(9)))  # a point for every step, no more
    assert (np.diff(ours.scores) > 0).all() and (np.diff(ours.probabilities) > 0).all()


def test_calibrated_scores_keep_the_order_of_labels():
    ranking = Ranking(np.array([[3, 1, 2], [2, 0, PAD]], np.int32), np.array([[0.9, 0.8, 0.1], [0.5, 0.4, 0]]))
    truth = sp.csr_array(np.array([[0, 1, 0, 0], [1, 0, 0, 0]]))
    again = fit_curve(ranking, truth).calibrated(ranking)
    assert again.labels.tolist() == ranking.labels.tolist()
    assert (np.diff(again.scores[0]) < 0).all() and again.scores[1, 0] > again.scores[1, 1] > again.scores[1, 2] == 0
    # By rising score: false, true, false, true, false; all but the first are pooled to a half.
    np.testing.assert_allclose(again.scores[0], [0.5, 0.5, 0], atol=1e-6)


def test_a_ranking_without_labels_teaches_nothing():
    with pytest.raises(CorpusError, match="no ranked label"):
        fit_isotonic(np.zeros(0), np.zeros(0, bool))


# -- how far scores are from probabilities --------------------------------------------------------------------------


def test_the_error_of_two_bins():
    """Bins {0.1, 0.3} with no true pair and {0.6, 0.8} with one: (2·|0.2 − 0| + 2·|0.7 − 0.5|) / 4 = 0.2."""
    judged = reliability(*one_label([0.8, 0.1, 0.6, 0.3], [1, 0, 0, 0]), k=1, n_bins=2)
    assert judged.ece == pytest.approx(20) and judged.pairs == 4
    assert [(one.pairs, one.true) for one in judged.bins] == [(2, 0), (2, 0.5)]
    np.testing.assert_allclose([(one.lowest, one.score, one.highest) for one in judged.bins],
                               [(0.1, 0.2, 0.3), (0.6, 0.7, 0.8)], rtol=1e-6)  # fmt: skip


def test_equal_scores_share_a_bin():
    """Ten pairs of one score, half of them true: no bin can tell them apart, and nothing is wrong with 0.5."""
    judged = reliability(*one_label([0.5] * 10, [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]), k=1, n_bins=5)
    assert len(judged.bins) == 1 and judged.ece == 0


def test_only_the_first_k_labels_count_and_pad_is_none():
    ranking = Ranking(np.array([[0, 1], [1, PAD]], np.int32), np.array([[1, 0.5], [1, 0]], np.float32))
    truth = sp.csr_array(np.array([[1, 0], [0, 1]]))
    assert reliability(ranking, truth, k=1).ece == 0 and reliability(ranking, truth, k=1).pairs == 2
    both = reliability(ranking, truth, k=2, n_bins=1)
    assert both.pairs == 3 and both.ece == pytest.approx(100 * (2.5 / 3 - 2 / 3))


def test_no_labels_no_error():
    judged = reliability(Ranking(np.full((2, 1), PAD, np.int32), np.zeros((2, 1), np.float32)), sp.csr_array((2, 3)), 1)
    assert (judged.pairs, judged.ece, judged.bins) == (0, 0, [])


# -- thresholds -----------------------------------------------------------------------------------------------------

# By falling score: true, false, true, true, false; and one true label that is not ranked at all.
LABELS = np.array([[0], [0], [0], [0], [0], [PAD]], np.int32)
FIVE = Ranking(LABELS, np.array([[0.9], [0.8], [0.7], [0.6], [0.1], [0]], np.float32))
TRUTH = sp.csr_array(np.array([[1], [0], [1], [1], [0], [1]]))


@pytest.mark.parametrize(
    ("target", "between", "precision", "recall", "f1", "given"),
    [
        ("f1", (0.6, 0.1), 3 / 4, 3 / 4, 3 / 4, 4),
        ("precision=0.75", (0.6, 0.1), 3 / 4, 3 / 4, 3 / 4, 4),
        ("precision=0.9", (0.9, 0.8), 1, 1 / 4, 2 / 5, 1),  # after the first, 1/2, 2/3, 3/4 are all below
        ("precision=0.6", (0.1, 0.1), 3 / 5, 3 / 4, 6 / 9, 5),  # the lowest threshold: it finds most
        ("recall=0.5", (0.7, 0.6), 2 / 3, 2 / 4, 4 / 7, 3),  # the highest threshold: it errs least
        ("recall=0.25", (0.9, 0.8), 1, 1 / 4, 2 / 5, 1),
    ],
)
def test_a_threshold_for_every_target(target, between, precision, recall, f1, given):
    chosen = choose_threshold(FIVE, TRUTH, Target.of(target))
    assert chosen.value == pytest.approx(sum(between) / 2)
    assert (chosen.precision, chosen.recall, chosen.f1) == pytest.approx((100 * precision, 100 * recall, 100 * f1))
    assert chosen.labels == pytest.approx(given / 6) and chosen.target == target and chosen.k == 1


def test_what_a_threshold_keeps_is_what_it_was_chosen_for():
    for target in ("f1", "precision=0.9", "recall=0.5", "precision=0.6"):
        chosen = choose_threshold(FIVE, TRUTH, Target.of(target))
        assert reached(FIVE, TRUTH, chosen) == chosen


def test_equal_scores_pass_together():
    """One of the two at 0.5 is true; a threshold cannot have it alone, so precision 1 ends above."""
    ranking, truth = one_label([0.9, 0.5, 0.5], [1, 1, 0])
    assert choose_threshold(ranking, truth, Target.of("precision=1")).recall == pytest.approx(50)
    assert choose_threshold(ranking, truth, Target.of("recall=1")).precision == pytest.approx(200 / 3)


def test_cut_offs_tell_precision_and_recall_at_every_hundredth_that_a_label_reaches():
    """Scores 0.9, 0.5 and 0.5, the first two right, of three true labels: 1 of 1 above 0.5, else 2 of 3."""
    ranking, truth = one_label([0.9, 0.5, 0.5, 0.0], [1, 1, 0, 1])
    ranking.labels[3] = PAD
    told = cut_offs(ranking, truth)
    np.testing.assert_allclose(told.thresholds, np.arange(90) / 100)  # the score 0.9 is a little less in 32 bits
    np.testing.assert_allclose(told.precision, [200 / 3] * 51 + [100] * 39)
    np.testing.assert_allclose(told.recall, [200 / 3] * 51 + [100 / 3] * 39)


def test_cut_offs_agree_with_thresholds_that_are_applied():
    told = cut_offs(FIVE, TRUTH)
    chosen = choose_threshold(FIVE, TRUTH, Target.of("f1"))
    for value, precision, recall in zip(told.thresholds, told.precision, told.recall):
        there = reached(FIVE, TRUTH, dataclasses.replace(chosen, value=float(value)))
        assert (precision, recall) == pytest.approx((there.precision, there.recall))


def test_a_target_that_cannot_be_reached_is_told_with_what_can():
    with pytest.raises(ConfigError, match=r"recall=0\.8: no threshold reaches it .* best recall is 0\.7500"):
        choose_threshold(FIVE, TRUTH, Target.of("recall=0.8"))


@pytest.mark.parametrize(
    "text", ["f2", "f1=0.5", "precision", "precision=", "recall=1.5", "recall=0", "precision=x", ""]
)
def test_targets_that_mean_nothing_are_refused(text: str):
    with pytest.raises(ConfigError, match="write f1, precision="):
        Target.of(text)


def test_nothing_true_gives_no_threshold():
    with pytest.raises(CorpusError, match="true labels"):
        choose_threshold(FIVE, sp.csr_array((6, 1)), Target.of("f1"))
