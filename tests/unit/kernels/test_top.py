"""The compiled choice of the k best and its plain twin."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.kernels.top import top_of_rows
from longtail.sparse import rows_of


def plain_top(scores: sp.csr_array, k: int) -> list[list[tuple[int, float]]]:
    rows = []
    for start, stop in zip(scores.indptr, scores.indptr[1:]):
        pairs = zip(scores.indices[start:stop].tolist(), scores.data[start:stop].tolist())
        best = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]
        rows.append(best + [(PAD, 0.0)] * (k - len(best)))
    return rows


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("k", [1, 2, 5, 30, 100])
def test_the_best_agree_with_a_plain_sort(k: int, threads: int):
    rng = np.random.default_rng(k)
    scores = sp.random_array((50, 60), density=0.3, format="csr", rng=rng)
    # Few different values, so that ties are everywhere; negative scores and stored zeros are scores too.
    scores.data = rng.choice([-1.5, 0.0, 0.25, 0.5, np.inf], scores.nnz).astype(np.float32)
    labels, best = top_of_rows(rows_of(scores), k, threads)
    assert [list(zip(*row)) for row in zip(labels.tolist(), best.tolist())] == plain_top(scores, k)


def test_no_rows_and_no_places_are_no_trouble():
    assert top_of_rows(rows_of(sp.csr_array((0, 5))), 3)[0].shape == (0, 3)
    assert top_of_rows(rows_of(sp.csr_array(np.ones((2, 5)))), 0)[0].shape == (2, 0)
