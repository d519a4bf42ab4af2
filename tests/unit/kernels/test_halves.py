from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.kernels.csr import rows_of
from longtail.kernels.halves import LEFT, NEITHER, RIGHT, forget, move, products

MEMBERS = np.array([1, 3, 4, 6, 7], np.int32)
BEFORE = np.array([NEITHER, LEFT, RIGHT, LEFT, RIGHT], np.int8)
AFTER = np.array([RIGHT, LEFT, LEFT, RIGHT, RIGHT], np.int8)


@pytest.fixture(params=["sparse", "dense"])
def points(request: pytest.FixtureRequest):
    matrix = sp.random_array((8, 6), density=0.5, rng=np.random.default_rng(0), dtype=np.float32).toarray()
    return matrix, rows_of(sp.csr_array(matrix)) if request.param == "sparse" else matrix


def sums_of(matrix: np.ndarray, side: np.ndarray) -> np.ndarray:
    return np.stack([matrix[MEMBERS[side == group]].sum(0) for group in (LEFT, RIGHT)], axis=1)


def test_sums_follow_points_that_change_sides(points):
    matrix, given = points
    sums = sums_of(matrix, BEFORE)
    move(given, MEMBERS, BEFORE, AFTER, sums)
    np.testing.assert_allclose(sums, sums_of(matrix, AFTER), atol=1e-6)


def test_products_are_those_of_the_whole_matrix(points):
    matrix, given = points
    sums = sums_of(matrix, AFTER)
    np.testing.assert_allclose(products(given, MEMBERS, sums), matrix[MEMBERS] @ sums, rtol=1e-5)


def test_forgotten_sums_are_exactly_zero(points):
    matrix, given = points
    sums = sums_of(matrix, AFTER)
    forget(given, MEMBERS, sums)
    assert (sums == 0).all()
