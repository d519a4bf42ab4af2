"""Single entries and cosines, against dense matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.kernels.cosines import cosines
from longtail.kernels.entries import entries
from longtail.sparse import rows_of


def matrix(rows: int, columns: int, seed: int = 0) -> sp.csr_array:
    made = sp.csr_array(
        sp.random_array((rows, columns), density=0.3, rng=np.random.default_rng(seed)), dtype=np.float32
    )
    made.sort_indices()
    return made


def test_entries_are_those_of_the_dense_matrix_and_nothing_stands_at_pad():
    made = matrix(20, 15)
    rows, columns = np.array([3, 19, 3, 0]), np.array([14, 0, -1, 7, 7])
    expected = made.toarray()[rows][:, columns]
    expected[:, columns == -1] = 0
    assert np.array_equal(entries(rows_of(made), rows, columns), expected)


def test_cosines_are_those_of_the_dense_rows():
    made = matrix(20, 15, 1)
    kept = made.copy()
    kept.data = np.round(kept.data * 255)
    text = matrix(1, 15, 2)
    text /= np.linalg.norm(text.toarray())
    starts, columns, values = rows_of(kept)
    found = cosines((starts, columns, values.astype(np.uint8)), np.arange(20), text.indices, text.data)
    dense = kept.toarray()
    lengths = np.linalg.norm(dense, axis=1)
    expected = np.where(lengths > 0, dense @ text.toarray()[0] / np.maximum(lengths, 1e-9), 0)
    np.testing.assert_allclose(found, expected, atol=1e-6)
