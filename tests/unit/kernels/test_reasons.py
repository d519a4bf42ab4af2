"""What explanations ask of compiled code, against dense matrices and plain Python."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.kernels.reasons import weights_of
from longtail.sparse import rows_of


def test_weights_are_those_of_the_dense_matrix_whatever_the_order_inside_a_row():
    rng = np.random.default_rng(0)
    made = sp.csr_array(sp.random_array((20, 15), density=0.3, rng=rng), dtype=np.float32)
    turned = sp.csr_array(made)[:, ::-1][:, ::-1]  # scipy leaves columns out of order
    labels, columns = np.array([3, 19, 3, 0], np.int32), np.array([0, 4, 7, 14], np.int32)
    for matrix in (made, sp.csr_array(turned)):
        np.testing.assert_array_equal(weights_of(rows_of(matrix), labels, columns), made.toarray()[labels][:, columns])
