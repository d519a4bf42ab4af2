"""One score of several rankings and of what is known of labels."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.corpus import PAD, Corpus, Documents, Splits
from longtail.invariants import Unsound
from longtail.rankers.joint import ROWS_AT_ONCE, Joint, Known, candidates, evidence, looked_up
from longtail.ranking import Ranking

ONE = Ranking(np.array([[4, 7, PAD], [1, 0, 2]], np.int32), np.array([[0.9, 0.2, 0], [0.8, 0.5, 0.1]], np.float32))
OTHER = Ranking(np.array([[7, 5], [PAD, PAD]], np.int32), np.array([[0.8, 0.6], [0, 0]], np.float32))


def test_every_label_that_somebody_ranks_is_a_candidate_once():
    assert candidates([ONE, OTHER]).tolist() == [[4, 5, 7], [0, 1, 2]]
    assert candidates([OTHER]).tolist() == [[5, 7], [PAD, PAD]]


def test_scores_are_found_by_document_and_label():
    asked = candidates([ONE, OTHER])
    assert looked_up(ONE, asked).tolist() == ONE.scores[[[0], [1]], [[0, 2, 1], [1, 0, 2]]].tolist()
    assert np.allclose(looked_up(OTHER, asked), [[0, 0.6, 0.8], [0, 0, 0]])


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.of(["red fox", "red sea", "blue sea"], [["fox"], ["sea"], ["sea", "blue"]])


def test_what_is_known_of_a_label_is_its_text_its_documents_and_their_number(corpus: Corpus):
    known = Known.of(corpus)  # labels: blue, fox, sea
    assert known.counts.tolist() == [1, 1, 2]
    labels = np.array([[0, 1, 2]], np.int32)
    texts, centroids = known.scores(Documents.of(["fox"]), labels)
    assert texts.tolist() == [[0, 1, 0]]
    assert centroids[0, 1] > 0.5 and centroids[0, 0] == centroids[0, 2] == 0


def joint(known: Known, weights: dict[int, float], scores: int) -> Joint:
    every = np.zeros(1 + 8 * (scores + 2))
    every[list(weights)] = list(weights.values())
    return Joint(known, every, 0.0)


def test_columns_and_their_weights_stand_in_one_order(corpus: Corpus):
    known = Known.of(corpus)
    ranking = Ranking(np.array([[2, 0]], np.int32), np.array([[0.5, 0.25]], np.float32))
    labels, columns = evidence(known, Documents.of(["blue"]), [ranking])
    assert labels.tolist() == [[0, 2]] and columns.shape == (2, 25)
    log, score, silent, both, relative, sure, by_text, by_centroid = columns[:, 1:9].T
    assert np.allclose(relative, [0.5, 1])
    assert np.allclose(log, np.log([0.25, 0.5])) and np.allclose(score, [0.25, 0.5]) and not silent.any()
    assert np.allclose(columns[:, 0], np.log([2, 3])) and np.allclose(both, log * columns[:, 0])
    assert columns[:, 10].tolist() == [1, 0] and columns[:, 11].tolist() == [0, 1]  # the text of blue; of sea nothing
    assert np.allclose(sure, -np.log([0.75, 0.5])) and np.allclose(by_text, sure * [1, 0])
    assert np.allclose(by_centroid, sure * columns[:, 18])


def test_scores_near_one_are_told_apart(corpus: Corpus):
    """0.999 and 0.99 differ less than 0.1 and 0.2 by s and log s, and more by log(1 - s); 1 is not infinite."""
    ranking = Ranking(np.array([[0, 1, 2]], np.int32), np.array([[1, 0.999, 0.99]], np.float32))
    sure = evidence(Known.of(corpus), Documents.of(["green"]), [ranking])[1][:, 6]
    assert sure.tolist() == pytest.approx([np.log(1e4), np.log(1e3), np.log(1e2)], abs=1e-3)


def test_the_best_score_leads(corpus: Corpus):
    known, document = Known.of(corpus), Documents.of(["blue"])
    ranking = Ranking(np.array([[2, 0]], np.int32), np.array([[0.5, 0.25]], np.float32))
    by_member, by_text = joint(known, {2: 1.0}, 1), joint(known, {10: 1.0}, 1)
    assert by_member.rank(document, [ranking], 2).labels.tolist() == [[2, 0]]
    assert by_text.rank(document, [ranking], 1).labels.tolist() == [[0]]
    assert by_text.rank(document, [ranking], 3).scores[0].tolist() == pytest.approx([1 / (1 + np.exp(-1)), 0.5, 0])
    assert by_member.n_members == 1 and by_member.of_members().tolist() == [1.0]


def test_many_documents_are_ranked_as_one_by_one(planted: Splits):
    known = Known.of(planted.train)
    texts = [planted.train.texts[at % 50] for at in range(ROWS_AT_ONCE + 7)]
    ranking = Ranking(np.tile(np.arange(9, dtype=np.int32), (len(texts), 1)), np.full((len(texts), 9), 0.5, np.float32))
    score, rows = joint(known, {0: 0.1, 10: 2.0, 18: 3.0}, 1), slice(ROWS_AT_ONCE, None)
    whole = score.rank(Documents.of(texts), [ranking], 4)
    few = score.rank(Documents.of(texts[rows]), [Ranking(ranking.labels[rows], ranking.scores[rows])], 4)
    assert len(whole) == len(texts)
    assert np.array_equal(whole.labels[rows], few.labels) and np.array_equal(whole.scores[rows], few.scores)


def test_parts_that_do_not_fit_are_refused(corpus: Corpus):
    known = Known.of(corpus)
    with pytest.raises(Unsound):
        Joint(known, np.zeros(12), 0.0).check()
    with pytest.raises(Unsound):
        Known(known.words, known.texts, known.centroids, known.counts[:2]).check()
    joint(known, {}, 2).check()
    known.check()
