"""The compiled search for true labels and its plain twin."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.kernels.hits import FILTERED, NOWHERE, SOUND, find_places


def plain_places(rows: np.ndarray, truth: sp.csr_array, filtered: sp.csr_array) -> list[int]:
    places = []
    for row in range(len(rows)):
        gone = set(filtered.indices[filtered.indptr[row] : filtered.indptr[row + 1]].tolist())
        standing = [label for label in rows[row].tolist() if label != PAD and label not in gone]
        for label in truth.indices[truth.indptr[row] : truth.indptr[row + 1]].tolist():
            found = standing.index(label) if label in standing else NOWHERE
            places.append(FILTERED if label in gone else found)
    return places


def random_rows(rng: np.random.Generator, n: int, k: int, n_labels: int) -> np.ndarray:
    rows = np.array([rng.permutation(n_labels)[:k] for _ in range(n)], np.int32).reshape(n, k)
    rows[np.arange(k) >= rng.integers(0, k + 1, (n, 1))] = PAD
    return rows


def random_pairs(rng: np.random.Generator, n: int, n_labels: int) -> sp.csr_array:
    return sp.random_array((n, n_labels), density=0.2, format="csr", rng=rng)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("n", "k", "n_labels"), [(40, 6, 15), (3, 1, 2), (7, 20, 20), (5, 0, 4)])
def test_places_agree_with_a_plain_search(n: int, k: int, n_labels: int, threads: int):
    rng = np.random.default_rng(n)
    rows, truth, filtered = random_rows(rng, n, k, n_labels), *(random_pairs(rng, n, n_labels) for _ in range(2))
    places, malformed = find_places(rows, truth, filtered, threads)
    assert malformed == SOUND
    assert places.tolist() == plain_places(rows, truth, filtered)


def test_true_labels_may_come_in_any_order():
    truth = sp.csr_array((np.ones(3), np.array([4, 0, 2]), np.array([0, 3])), shape=(1, 5))
    places, _ = find_places(np.array([[2, 4]], np.int32), truth, sp.csr_array((1, 5)))
    assert places.tolist() == [1, NOWHERE, 0]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bad", [[1, 1], [PAD, 1], [5, 1], [-2, 1]])
def test_the_first_malformed_row_is_told_for_any_number_of_threads(bad: list[int], threads: int):
    rows = np.tile(np.array([0, 1], np.int32), (9, 1))
    rows[[4, 8]] = bad
    nothing = sp.csr_array((9, 5))
    assert find_places(rows, nothing, nothing, threads)[1] == 4


def test_a_view_of_wider_or_longer_integers_serves_as_well():
    wide = np.arange(12, dtype=np.int64).reshape(2, 6)
    truth = sp.csr_array(np.eye(12, dtype=int)[[2, 7]])
    places, _ = find_places(wide[:, :2], truth, sp.csr_array(truth.shape))
    assert places.tolist() == [NOWHERE, 1]
