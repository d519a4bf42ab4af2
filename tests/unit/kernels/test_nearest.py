from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.features.bags import of_unit_length
from longtail.kernels.nearest import nearest
from longtail.sparse import rows_of


def unit_rows(n_rows: int, seed: int) -> sp.csr_array:
    drawn = sp.random_array((n_rows, 25), density=0.15, rng=np.random.default_rng(seed), dtype=np.float32)
    signed = drawn.toarray() - 0.3 * (drawn.toarray() > 0)
    signed[0] = 0
    return of_unit_length(sp.csr_array(signed))


def test_the_nearest_labels_are_those_with_the_largest_positive_cosines():
    documents, labels = unit_rows(20, 0), unit_rows(12, 1)
    best, cosines = nearest(rows_of(documents), rows_of(labels.T.tocsr()), 12, k=5)
    for row, products in enumerate((documents @ labels.T).toarray()):
        expected = [label for label in np.lexsort((np.arange(12), -products)) if products[label] > 0][:5]
        assert best[row].tolist() == expected + [PAD] * (5 - len(expected))
        np.testing.assert_allclose(cosines[row, : len(expected)], products[expected], atol=1e-6)
    assert (best[0] == PAD).all() and (cosines[0] == 0).all()


def test_a_cosine_is_never_above_one():
    documents = of_unit_length(sp.csr_array(np.random.default_rng(0).random((200, 25)).astype(np.float32)))
    best, cosines = nearest(rows_of(documents), rows_of(documents.T.tocsr()), 200, k=1)
    assert cosines.max() == 1 and np.array_equal(best[:, 0], np.arange(200))
