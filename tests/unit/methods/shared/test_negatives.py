"""Labels of which nothing is known are nobody's hard negatives."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.methods.shared.negatives import labels_in_use, only_in_use


def test_labels_without_documents_leave_a_pool_and_padding_stays():
    in_use = labels_in_use(sp.csr_array([[1.0, 0, 0, 1], [1, 0, 0, 0]]))
    assert in_use.tolist() == [True, False, False, True]
    pool = only_in_use(np.array([[3, 1, PAD], [0, 0, 2]], np.int32), in_use)
    assert pool.tolist() == [[3, PAD, PAD], [0, 0, PAD]] and pool.dtype == np.int32
