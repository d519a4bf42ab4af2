"""Rows that are read from the texts of one label, or of several together."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.encoders.label_texts import SURE, TextRows, row_directions

TEXTS = sp.csr_array(np.array([[1, 0], [0, 1], [0.6, 0.8], [0, 0]], np.float32))
# Labels 2 and 0 together, then nobody, then label 3 alone, which has no text.
ROWS = TextRows(np.array([2, 0, 3]), np.array([0, 2, 2, 3]))


def test_bags_of_several_labels_are_added_up_and_have_length_1():
    """(0.6, 0.8) + (1, 0) = (1.6, 0.8), divided by √3.2."""
    expected = [[1.6 / 3.2**0.5, 0.8 / 3.2**0.5], [0, 0], [0, 0]]
    np.testing.assert_allclose(ROWS.summed(TEXTS).toarray(), expected, rtol=1e-6)


def test_vectors_of_several_labels_are_averaged_and_nobody_is_nowhere():
    vectors = np.array([[1, 3], [9, 9], [3, 5], [7, 8]], np.float32)
    assert ROWS.averaged(vectors).tolist() == [[2, 4], [0, 0], [7, 8]]


def test_rows_of_one_label_each_are_these_labels():
    rows = TextRows.one_each(np.array([2, 0]))
    assert (
        len(rows) == 2 and rows.are_single and rows.summed(TEXTS).toarray().tolist() == TEXTS.toarray()[[2, 0]].tolist()
    )
    assert rows.averaged(np.eye(4, 2, dtype=np.float32)).tolist() == [[0, 0], [1, 0]]


def test_as_many_rows_as_labels_need_not_be_one_label_each():
    rows = TextRows(np.array([0, 1]), np.array([0, 0, 2]))
    assert not rows.are_single and rows.averaged(np.eye(2, dtype=np.float32)).tolist() == [[0, 0], [0.5, 0.5]]


def test_a_row_scores_its_own_text_alike_however_long_vectors_are():
    vectors = np.array([[11, 10], [9, 10], [10, 13], [10, 7]], np.float32)  # centred: ±(1, 0), ±(0, 3); r² = 5
    rows = row_directions(TextRows.one_each(np.arange(4)), vectors)
    np.testing.assert_allclose(rows, SURE / 5**0.5 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(row_directions(ROWS, 40 * vectors) * 40, row_directions(ROWS, vectors), rtol=1e-5)
    assert not row_directions(ROWS, vectors)[1].any()  # a row without labels
