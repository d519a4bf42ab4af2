"""Paths through a tree, against following them in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.kernels.score_tree import shares_at_leaves

# number 0 at most 0.5?  yes: leaf 0.1;  no: number 1 at most 2?  yes: leaf 0.4; no: leaf 0.9
COLUMNS = np.array([0, -1, 1, -1, -1], np.int32)
THRESHOLDS = np.array([0.5, 0, 2, 0, 0], np.float64)
YES, NO = np.array([1, 1, 3, 3, 4], np.int32), np.array([2, 1, 4, 3, 4], np.int32)
SHARES = np.array([0.5, 0.1, 0.6, 0.4, 0.9], np.float32)
TREE = COLUMNS, THRESHOLDS, YES, NO, SHARES


def plainly(numbers: np.ndarray, depth: int) -> list[float]:
    found = []
    for label in range(numbers.shape[1]):
        node = 0
        for _ in range(depth):
            if COLUMNS[node] >= 0:
                node = YES[node] if numbers[COLUMNS[node], label] <= THRESHOLDS[node] else NO[node]
        found.append(float(SHARES[node]))
    return found


def test_three_paths_by_hand():
    numbers = np.array([[0.5, 0.6, 0.6], [9, 2, 3]], np.float32)
    np.testing.assert_allclose(shares_at_leaves(*TREE, 2, numbers), [0.1, 0.4, 0.9])


def test_equals_following_each_path_whatever_the_threads():
    numbers = np.random.default_rng(0).random((2, 200_000), np.float32) * np.float32([[1], [4]])
    one, two = (shares_at_leaves(*TREE, 2, numbers, threads) for threads in (1, 2))
    assert np.array_equal(one, two)
    np.testing.assert_allclose(one[:500], plainly(numbers[:, :500], 2))


def test_no_labels_and_no_questions():
    assert shares_at_leaves(*TREE, 2, np.empty((2, 0), np.float32)).shape == (0,)
    assert shares_at_leaves(*TREE, 0, np.zeros((2, 1), np.float32)).tolist() == [0.5]


def test_a_question_about_a_number_that_is_not_given_is_refused():
    with pytest.raises(ValueError, match="asks for number 1"):
        shares_at_leaves(*TREE, 2, np.zeros((1, 3), np.float32))
