"""Points and the sums of two groups of them: the hot loops of balanced 2-means."""

from __future__ import annotations

import numpy as np
from numba import njit

from longtail.kernels.csr import Rows

LEFT, RIGHT, NEITHER = 0, 1, 2  # the group a point is in

# Only the order of additions is left to the compiler: NaN and infinity keep their meaning.
ANY_ORDER = {"reassoc", "contract"}


def move(
    points: Rows | np.ndarray, members: np.ndarray, before: np.ndarray, after: np.ndarray, sums: np.ndarray
) -> None:
    """Bring `sums` (dimensions, 2) up to date with members that changed their group."""
    if isinstance(points, tuple):
        _move(*points, members, before, after, sums)
    else:
        _move_dense(points, members, before, after, sums)


def products(points: Rows | np.ndarray, members: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The product of every member with the left and with the right sum, (members, 2)."""
    return _products(*points, members, sums) if isinstance(points, tuple) else _products_dense(points, members, sums)


def forget(points: Rows | np.ndarray, members: np.ndarray, sums: np.ndarray) -> None:
    """Make `sums` zero again, at a cost that grows with these members and not with the dimensions."""
    if isinstance(points, tuple):
        _forget(*points, members, sums)
    else:
        sums[:] = 0


@njit(nogil=True, cache=True)
def _move(starts, columns, values, members, before, after, sums):
    for at, point in enumerate(members):
        if before[at] == after[at]:
            continue
        for j in range(starts[point], starts[point + 1]):
            if before[at] != NEITHER:
                sums[columns[j], before[at]] -= values[j]
            sums[columns[j], after[at]] += values[j]


@njit(nogil=True, cache=True, fastmath=ANY_ORDER)
def _products(starts, columns, values, members, sums):
    result = np.empty((len(members), 2))
    for at, point in enumerate(members):
        left, right = np.float32(0), np.float32(0)
        for j in range(starts[point], starts[point + 1]):
            left += values[j] * sums[columns[j], LEFT]
            right += values[j] * sums[columns[j], RIGHT]
        result[at, LEFT], result[at, RIGHT] = left, right
    return result


@njit(nogil=True, cache=True)
def _forget(starts, columns, values, members, sums):
    for point in members:
        for j in range(starts[point], starts[point + 1]):
            sums[columns[j], LEFT] = 0
            sums[columns[j], RIGHT] = 0


@njit(nogil=True, cache=True)
def _move_dense(points, members, before, after, sums):
    for at, point in enumerate(members):
        if before[at] == after[at]:
            continue
        if before[at] != NEITHER:
            sums[:, before[at]] -= points[point]
        sums[:, after[at]] += points[point]


@njit(nogil=True, cache=True, fastmath=ANY_ORDER)
def _products_dense(points, members, sums):
    result = np.empty((len(members), 2))
    for at, point in enumerate(members):
        left, right = np.float32(0), np.float32(0)
        for j in range(points.shape[1]):
            left += points[point, j] * sums[j, LEFT]
            right += points[point, j] * sums[j, RIGHT]
        result[at, LEFT], result[at, RIGHT] = left, right
    return result
