from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from longtail.kernels.halves import LEFT, NEITHER, RIGHT, halved, upper_half
from longtail.sparse import rows_of

MEMBERS = np.array([1, 3, 4, 6, 7], np.int32)


@pytest.mark.parametrize("sparse", [True, False])
def test_two_bundles_of_points_are_told_apart(sparse: bool):
    points = np.array([[9, 9], [1, 0], [9, 9], [0, 1], [1, 0.1], [9, 9], [0.9, 0], [0.1, 1]], np.float32)
    side, sums = np.array([LEFT, RIGHT, NEITHER, NEITHER, NEITHER], np.int8), np.zeros((2, 2), np.float32)
    half = halved(rows_of(sp.csr_array(points)) if sparse else points, MEMBERS, side, sums)
    assert half.tolist() == [LEFT, RIGHT, LEFT, LEFT, RIGHT]
    assert (sums == 0).all()


@pytest.mark.parametrize("sparse", [True, False])
def test_points_that_are_all_zero_still_make_two_halves(sparse: bool):
    points = np.zeros((8, 3), np.float32)
    side, sums = np.array([LEFT, RIGHT, NEITHER, NEITHER, NEITHER], np.int8), np.zeros((3, 2), np.float32)
    half = halved(rows_of(sp.csr_array(points)) if sparse else points, MEMBERS, side, sums)
    assert half.tolist() == [LEFT, LEFT, LEFT, RIGHT, RIGHT]


@given(scores=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=2, max_size=15))
def test_the_upper_half_is_the_end_of_a_stable_sort(scores: list[float]):
    expected = np.argsort(scores, kind="stable")[len(scores) - len(scores) // 2 :]
    assert sorted(expected.tolist()) == np.flatnonzero(upper_half(np.array(scores))).tolist()
