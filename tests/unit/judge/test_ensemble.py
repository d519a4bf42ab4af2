"""The mean of several rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.errors import ConfigError, RankingError
from longtail.judge import ensemble
from longtail.judge.ensemble import average, choose_weights
from longtail.ranking import Ranking


def ranking_of(rows: list[dict[int, float]], k: int) -> Ranking:
    """From {label: score} a document, put in the project's order."""
    ordered = [sorted(row.items(), key=lambda pair: (-pair[1], pair[0]))[:k] for row in rows]
    return Ranking.of_rows([(np.array([p[0] for p in row]), np.array([p[1] for p in row])) for row in ordered], k)


def plain_average(members: list[list[dict[int, float]]], weights: list[float], k: int) -> list[list[tuple]]:
    rows = []
    for same_document in zip(*members):
        mean = {
            label: np.float32(
                sum(w * float(np.float32(row.get(label, 0))) for w, row in zip(weights, same_document)) / sum(weights)
            )
            for label in set().union(*same_document)
        }
        best = sorted(mean.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        rows.append(best + [(PAD, 0.0)] * (k - len(best)))
    return rows


def as_pairs(ranking: Ranking) -> list[list[tuple]]:
    return [list(zip(labels.tolist(), scores)) for labels, scores in zip(ranking.labels, ranking.scores)]


@st.composite
def members_of(draw: st.DrawFn) -> list[list[dict[int, float]]]:
    # Eighths are exact in float32 and in sums, so that ties are ties.
    row = st.dictionaries(st.integers(0, 9), st.sampled_from([x / 8 for x in range(9)]), max_size=4)
    n = draw(st.integers(1, 5))
    return draw(st.lists(st.lists(row, min_size=n, max_size=n), min_size=1, max_size=4))


@given(members_of(), st.integers(1, 12))
@settings(deadline=None)
def test_the_mean_agrees_with_the_plain_definition(members: list[list[dict[int, float]]], k: int):
    rankings = [ranking_of(rows, 4) for rows in members]
    got, wanted = as_pairs(average(rankings, k=k)), plain_average(members, [1.0] * len(members), k)
    for row, expected in zip(got, wanted, strict=True):
        assert [label for label, _ in row] == [label for label, _ in expected]
        np.testing.assert_allclose([score for _, score in row], [score for _, score in expected], rtol=1e-6)


def test_the_mean_of_one_ranking_is_that_ranking():
    only = ranking_of([{3: 0.7, 1: 0.7, 2: 0.1}, {5: 0.0}], 4)
    again = average([only])
    np.testing.assert_array_equal(again.labels, only.labels)
    np.testing.assert_array_equal(again.scores, only.scores)


def test_a_label_that_a_member_does_not_rank_counts_as_zero_there():
    mean = average([ranking_of([{1: 0.9}], 1), ranking_of([{2: 0.5}], 1), ranking_of([{2: 0.7}], 1)], k=2)
    assert mean.labels.tolist() == [[2, 1]]
    np.testing.assert_allclose(mean.scores, [[0.4, 0.3]], rtol=1e-6)


def test_a_label_scored_exactly_zero_stays_ranked():
    assert average([ranking_of([{1: 0.5, 8: 0.0}], 2)] * 2).labels.tolist() == [[1, 8]]


def test_weights_are_shares():
    members = [ranking_of([{1: 0.8}], 1), ranking_of([{2: 0.8}], 1)]
    mean = average(members, weights=[1, 3], k=2)
    assert mean.labels.tolist() == [[2, 1]]
    np.testing.assert_allclose(mean.scores, [[0.6, 0.2]], rtol=1e-6)
    np.testing.assert_array_equal(average(members, weights=[10, 30], k=2).scores, mean.scores)


def test_equal_means_stand_in_label_order():
    assert average([ranking_of([{9: 0.5, 4: 0.25}], 2), ranking_of([{4: 0.25}], 2)]).labels.tolist() == [[4, 9]]


def test_it_is_as_long_as_the_longest_unless_told():
    members = [ranking_of([{1: 0.9}], 1), ranking_of([{2: 0.5, 3: 0.4, 4: 0.3}], 3)]
    assert average(members).k == 3 and average(members, k=5).labels.tolist() == [[1, 2, 3, 4, PAD]]


def test_no_documents_no_answers():
    assert average([ranking_of([], 3)]).labels.shape == (0, 3)


def test_it_does_not_matter_how_many_documents_are_averaged_at_once(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    members = [ranking_of([dict(enumerate(rng.random(6))) for _ in range(11)], 4) for _ in range(3)]
    at_once = average(members)
    monkeypatch.setattr(ensemble, "ROWS_AT_ONCE", 2)
    np.testing.assert_array_equal(average(members).labels, at_once.labels)
    np.testing.assert_array_equal(average(members).scores, at_once.scores)


def test_rankings_of_different_documents_are_refused():
    with pytest.raises(RankingError, match=r"\[1, 2\] rows"):
        average([ranking_of([{}], 1), ranking_of([{}, {}], 1)])


def test_a_mean_of_nothing_is_refused():
    with pytest.raises(ConfigError, match="at least one"):
        average([])


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [1, np.nan], [1, np.inf], [[1, 1]]])
def test_impossible_weights_are_refused(weights: list):
    with pytest.raises(ConfigError, match="2 rankings need as many weights"):
        average([ranking_of([{}], 1)] * 2, weights)


# -- weights that are chosen ----------------------------------------------------------------------------------------


def hits(truth: list[int]):
    """Documents whose first label is the true one."""
    return lambda ranking: float((ranking.labels[:, 0] == truth).sum())


def test_the_better_of_two_gets_the_weight_it_needs():
    """The second is right on all four; in the mean it is when its share is above a third: 0.8 w > 0.4 (1 − w)."""
    wrong, right = ranking_of([{9: 0.4}] * 4, 1), ranking_of([{at: 0.8} for at in range(4)], 1)
    weights, value = choose_weights([wrong, right], hits([0, 1, 2, 3]), k=1)
    assert value == 4 and weights[1] > 1 / 3 and sum(weights) == pytest.approx(1)


def test_a_weight_is_found_where_neither_alone_nor_both_alike_are_best():
    """Document 0 needs more than 60/79 of the first, document 1 less than 9/10: 0.8 and 0.85 serve both."""
    first = ranking_of([{0: 0.19, 5: 0.0}, {6: 0.1, 1: 0.0}], 2)
    second = ranking_of([{5: 0.6, 0: 0.0}, {1: 0.9, 6: 0.0}], 2)
    weights, value = choose_weights([first, second], hits([0, 1]), k=1)
    assert value == 2 and weights == pytest.approx((0.8, 0.2))


def test_equal_weights_stay_where_nothing_is_better():
    one = ranking_of([{1: 0.5}], 1)
    assert choose_weights([one, one, one], hits([1]), k=1) == (pytest.approx((1 / 3, 1 / 3, 1 / 3)), 1.0)


def test_weights_are_never_worse_than_each_alone_or_all_alike_and_always_the_same():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 6, 60)
    members = []
    for sureness in (0.2, 0.5, 0.8):
        rows = [dict(enumerate(rng.random(6))) for _ in truth]
        for row, label in zip(rows, truth):
            row[int(label)] += sureness * rng.random()
        members.append(ranking_of(rows, 6))
    worth = hits(truth)
    weights, value = choose_weights(members, worth, k=1)
    assert value == worth(average(members, weights, 1)) and min(weights) >= 0 and sum(weights) == pytest.approx(1)
    assert value > max(worth(average(members, [at == one for at in range(3)], 1)) for one in range(3))
    assert value >= worth(average(members, k=1)) and choose_weights(members, worth, k=1) == (weights, value)


def test_one_ranking_has_all_the_weight():
    assert choose_weights([ranking_of([{1: 0.5}], 1)], hits([1]), k=1) == ((1.0,), 1.0)
