"""Rows of labels that no document taught, in two dimensions."""

from __future__ import annotations

import numpy as np

from longtail.features.described import Summary
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.unseen import unseen_rows


def arrays(*rows: list[float]) -> np.ndarray:
    return np.array(rows, np.float32)


NOTHING = np.zeros(2, np.float32)


def test_a_row_by_hand():
    """w̄ = (−1, 0), b = −1, μ = (1, 0).  The known label gives its own text (1, 2) the logit 2·2 − 1 − 1 = 2.

    x̄ = (1, 4) without its part along μ is (0, 4), of unit length (0, 1); the neighbour, label 0, adds half of
    unit((−1, 2) − (−1, 0)) = (0, 1): f = (0, 1.5), ⟨f, x̄⟩ = 6.  w̄ and b give x̄ the logit −2, so g = (2 + 2) / 6
    and w = (−1, 1).  Half of that, and 1.5 less: (−0.5, 0.5) and −0.5 − 1.5; the text gets 2 / 2 − 1.5.
    """
    trained = LabelRows(arrays([-1, 2], [-1, -2]), np.array([-1, -1], np.float32))
    texts = Summary(arrays([1, 4]), np.array([1]), arrays([1, 2], [1, -2]), np.array([0, 1]), NOTHING)
    rows, biases = unseen_rows(trained, texts, np.array([[0, -1]], np.int32))
    np.testing.assert_allclose(rows, [[-0.5, 0.5]], atol=1e-6)
    assert biases.tolist() == [-2]
    assert (rows @ arrays([1, 4]).T + biases)[0, 0] == np.float32(-0.5)


def test_four_texts_want_a_smaller_logit_than_one():
    """T above the usual −2 is 4 of one text, and 4 · (0.5 + 0.5 / √4) = 3 of four: half of 1, and 1.5 less."""
    trained = LabelRows(arrays([-1, 2], [-1, -2]), np.array([-1, -1], np.float32))
    texts = Summary(arrays([1, 4]), np.array([4]), arrays([1, 2], [1, -2]), np.array([0, 1]), NOTHING)
    rows, biases = unseen_rows(trained, texts, np.array([[0]], np.int32))
    np.testing.assert_allclose(rows @ arrays([1, 4]).T + biases, [[-1.0]], atol=1e-5)


def test_a_text_like_any_other_gets_the_row_that_says_no():
    trained = LabelRows(arrays([-1, 2], [-1, -2]), np.array([-1, -1], np.float32))
    texts = Summary(arrays([1, 0]), np.array([1]), arrays([1, 2], [1, -2]), np.array([0, 1]), NOTHING)
    rows, _ = unseen_rows(trained, texts, np.array([[-1]], np.int32))
    assert rows.tolist() == [[-0.5, 0]]


def test_a_text_without_known_words_gets_the_row_that_says_no():
    trained = LabelRows(arrays([-1, 2], [-1, -2]), np.array([-1, -1], np.float32))
    texts = Summary(arrays([1, 4]), np.array([1]), arrays([1, 2], [1, -2]), np.array([0, 1]), np.float32([1, 4]))
    rows, _ = unseen_rows(trained, texts, np.array([[0]], np.int32))
    assert rows.tolist() == [[-0.5, 0]]
