from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.rankers.frequent import label_shares, where_silent
from longtail.ranking import Ranking

FEATURES = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))


def answers(k: int) -> Ranking:
    return Ranking(np.zeros((2, k), np.int32), np.full((2, k), 0.5, np.float32))


def test_shares_count_documents():
    carried = sp.csr_array(np.array([[1, 0, 1], [1, 0, 0]], np.float32))
    assert label_shares(carried).tolist() == [1, 0, 0.5]


def test_only_silent_documents_get_the_most_frequent_labels_and_ties_stand_in_label_order():
    ranking = where_silent(FEATURES, np.array([0.25, 0.5, 0.5], np.float32), answers(2))
    assert ranking.labels.tolist() == [[0, 0], [1, 2]]
    assert ranking.scores.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_fewer_labels_than_asked_for_leave_pad():
    ranking = where_silent(FEATURES, np.array([0.25], np.float32), answers(3))
    assert ranking.labels[1].tolist() == [0, PAD, PAD] and ranking.scores[1].tolist() == [0.25, 0, 0]


def test_the_given_ranking_is_left_as_it_was():
    given = answers(1)
    where_silent(FEATURES, np.array([0.0, 1.0], np.float32), given)
    assert given.labels.tolist() == [[0], [0]]
