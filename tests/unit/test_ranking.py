"""Rankings: one order, one tie rule."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.errors import RankingError
from longtail.ranking import Ranking


def stored(rows: list[dict[int, float]], n_labels: int = 10, kind: type = np.float32) -> sp.csr_array:
    """Sparse scores that keep their zeros and the order given."""
    labels = [label for row in rows for label in row]
    scores = [score for row in rows for score in row.values()]
    starts = np.cumsum([0, *map(len, rows)])
    return sp.csr_array((np.array(scores, kind), np.array(labels, int), starts), shape=(len(rows), n_labels))


def test_scores_fall_and_short_rows_are_padded():
    ranking = Ranking.of_scores(stored([{4: 0.1, 7: 0.9, 2: 0.5}, {}, {0: 0.3}]), k=2)
    assert ranking.labels.tolist() == [[7, 2], [PAD, PAD], [0, PAD]]
    np.testing.assert_array_equal(ranking.scores, np.array([[0.9, 0.5], [0, 0], [0.3, 0]], np.float32))
    assert (ranking.labels.dtype, ranking.scores.dtype) == (np.int32, np.float32)


@given(st.permutations(range(8)), st.integers(1, 8))
@settings(deadline=None)
def test_equal_scores_stand_in_label_order_however_they_are_stored(order: list[int], k: int):
    ranking = Ranking.of_scores(stored([dict.fromkeys(order, 0.5)]), k)
    assert ranking.labels[0].tolist() == list(range(k))


def test_ties_are_those_of_the_scores_we_keep():
    # Different in float64, equal in float32: the smaller label must come first.
    scores = stored([{3: 0.5, 6: 0.5 + 1e-12}], kind=np.float64)
    assert Ranking.of_scores(scores, k=2).labels.tolist() == [[3, 6]]
    assert Ranking.of_scores(scores, k=1).labels.tolist() == [[3]]


def test_a_stored_zero_is_a_candidate_and_an_absent_one_is_not():
    ranking = Ranking.of_scores(stored([{1: -0.5, 5: 0.0}]), k=3)
    assert ranking.labels.tolist() == [[5, 1, PAD]]


def test_a_nan_is_refused_with_its_row():
    with pytest.raises(RankingError, match="row 2 of the scores holds a NaN"):
        Ranking.of_scores(stored([{1: 0.5}, {}, {2: 0.1, 3: np.nan}]), k=1)


def test_labels_and_scores_must_have_one_shape():
    with pytest.raises(RankingError, match=r"\(2, 3\) and \(2, 2\)"):
        Ranking(np.zeros((2, 3), np.int32), np.zeros((2, 2), np.float32))
    with pytest.raises(RankingError):
        Ranking(np.zeros(3, np.int32), np.zeros(3, np.float32))


def test_batches_join_in_order():
    one, other = Ranking.of_scores(stored([{1: 0.5}]), 2), Ranking.of_scores(stored([{2: 0.5}, {3: 1.0}]), 2)
    joined = Ranking.joined([one, other])
    assert joined.labels[:, 0].tolist() == [1, 2, 3] and len(joined) == 3 and joined.k == 2


def test_rows_that_are_in_order_already_are_padded():
    rows = [(np.array([4, 2]), np.array([0.9, 0.3])), (np.array([], int), np.array([]))]
    ranking = Ranking.of_rows(rows, k=3)
    assert ranking.labels.tolist() == [[4, 2, PAD], [PAD] * 3]
    np.testing.assert_array_equal(ranking.scores[0], np.array([0.9, 0.3, 0], np.float32))


def test_the_top_is_the_first_columns():
    ranking = Ranking.of_scores(stored([{4: 0.1, 7: 0.9, 2: 0.5}]), k=3)
    assert ranking.top(2).labels.tolist() == [[7, 2]]


def test_a_ranking_is_padded_to_a_width_and_never_cut():
    ranking = Ranking.of_rows([(np.array([4, 2]), np.array([0.9, 0.1]))], 2)
    wider = ranking.padded(4)
    assert wider.labels.tolist() == [[4, 2, PAD, PAD]] and wider.scores[0, 2:].tolist() == [0, 0]
    assert ranking.padded(1) is ranking


def test_labels_below_a_threshold_become_pad():
    ranking = Ranking.of_scores(stored([{4: 0.25, 7: 0.75, 2: 0.5}]), k=4).above(0.5)
    assert ranking.labels.tolist() == [[7, 2, PAD, PAD]] and ranking.scores.tolist() == [[0.75, 0.5, 0, 0]]
    assert ranking.scores.dtype == np.float32


def test_a_threshold_half_way_between_two_neighbours_keeps_the_upper_one_alone():
    """As a suggestion is compared, in float64: in float32 there is nothing between the two."""
    low, high = np.float32(0.5), np.nextafter(np.float32(0.5), np.float32(1))
    ranking = Ranking(np.array([[1, 0]], np.int32), np.array([[high, low]], np.float32))
    assert ranking.above((float(low) + float(high)) / 2).labels.tolist() == [[1, PAD]]


def test_candidates_in_any_order_become_a_ranking():
    labels, scores = (
        np.array([[3, PAD, 1, 2], [PAD] * 4], np.int32),
        np.array([[0.1, 9, 0.5, 0.1], [9] * 4], np.float32),
    )
    ranking = Ranking.of_candidates(labels, scores, k=2)
    assert ranking.labels.tolist() == [[1, 2], [PAD, PAD]] and ranking.scores[1].tolist() == [0, 0]


def test_rankings_of_batches_in_any_order_are_put_in_their_places():
    parts = [Ranking(np.array([[label]], np.int32), np.array([[0.5]], np.float32)) for label in (7, 8)]
    gathered = Ranking.gathered(zip((np.array([2]), np.array([0])), parts), documents=3, k=1)
    assert gathered.labels.tolist() == [[8], [PAD], [7]]


# -- other scores, other companions -------------------------------------------------------------------------------


def ranked(labels: list[list[int]], scores: list[list[float]]) -> Ranking:
    return Ranking(np.array(labels, np.int32), np.array(scores, np.float32))


SOME = ranked([[4, 1, 3], [2, 0, PAD]], [[0.9, 0.5, 0.1], [0.8, 0.7, 0]])


def test_which_labels_are_among_pairs():
    pairs = sp.csr_array(np.array([[0, 1, 0, 0, 1], [1, 0, 0, 0, 1]]))
    assert SOME.among(pairs).tolist() == [[True, True, False], [False, True, False]]


def test_a_stored_zero_is_no_pair_and_pad_is_in_none():
    pairs = sp.csr_array((np.array([0.0, 1.0]), np.array([4, 4]), np.array([0, 1, 2])), shape=(2, 5))
    assert not SOME.among(pairs).any()


def test_labels_that_leave_let_later_ones_move_up():
    left = SOME.without(sp.csr_array(np.array([[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]])))
    assert left.labels.tolist() == [[4, 3, PAD], [0, PAD, PAD]]
    np.testing.assert_allclose(left.scores, [[0.9, 0.1, 0], [0.7, 0, 0]])


def test_new_scores_keep_the_order_even_where_they_are_equal():
    again = SOME.rescored(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]))
    assert again.labels.tolist() == SOME.labels.tolist()
    assert (np.diff(again.scores[0]) < 0).all() and again.scores[1, 0] > again.scores[1, 1] == again.scores[1, 2] == 0
    np.testing.assert_allclose(again.scores, [[0.5, 0.5, 0], [0, 0, 0]], atol=1e-7)
    assert again.scores.max() <= 1 and again.scores.dtype == np.float32


def test_a_ranking_followed_by_another_keeps_both_orders_and_lies_above():
    both = SOME.followed_by(ranked([[7, 6], [PAD, PAD]], [[0.6, 0.3], [0, 0]]))
    assert both.labels.tolist() == [[4, 1, 3, 7, 6], [2, 0, PAD, PAD, PAD]]
    np.testing.assert_allclose(both.scores[0], [0.9, 0.5, 0.1, 0.0999, 0.04995], rtol=1e-5)
    np.testing.assert_allclose(both.scores[1], [0.8, 0.7, 0, 0, 0], rtol=1e-6)


def test_a_ranking_that_ends_in_zero_still_lies_above_what_follows():
    both = ranked([[5]], [[0.0]]).followed_by(ranked([[9, 2]], [[0.5, 0.4]]))
    assert both.labels.tolist() == [[5, 9, 2]] and (np.diff(both.scores[0]) < 0).all() and both.scores.min() >= 0
