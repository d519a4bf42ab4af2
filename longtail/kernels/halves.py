"""Balanced 2-means: a group of points split in two equal halves.

A tree of labels is made of thousands of splits of a few points each, so the whole split is compiled: interpreted, its
steps would cost more than their arithmetic, and threads would wait for the interpreter.
"""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check, check_places
from longtail.kernels.compiled import compiled
from longtail.sparse import Rows

LEFT, RIGHT, NEITHER = 0, 1, 2  # the group a point is in
TOLERANCE = 1e-4  # a split is settled when the mean cosine to its half's centre rises less (AttentionXML)

# Only the order of additions is left to the compiler: NaN and infinity keep their meaning.
ANY_ORDER = {"reassoc", "contract"}


def halved(points: Rows | np.ndarray, members: np.ndarray, side: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The half of every member, LEFT or RIGHT, by spherical 2-means with equal halves; an odd one stays left.

    `side` tells the two members that start the halves, `sums` (dimensions, 2) is zero and left so.
    """
    if len(members) < 2:
        return np.full(len(members), LEFT, np.int8)
    check(len(side) == len(members), f"{len(members)} members have {len(side)} sides")
    if isinstance(points, tuple):
        check_places(members, len(points[0]) - 1, "points to halve")
        return _halved(*points, members, side, sums)
    check_places(members, len(points), "points to halve")
    check(len(sums) == points.shape[1], f"points of {points.shape[1]} dimensions are added up in {len(sums)}")
    return _halved_dense(points, members, side, sums)


@compiled
def _halved(starts, columns, values, members, side, sums):
    before, previous, similarity = np.full(len(side), NEITHER, np.int8), -np.inf, -1.0
    while similarity - previous > TOLERANCE:
        _move(starts, columns, values, members, before, side, sums)
        before, previous = side, similarity
        side, similarity = _nearer(_products(starts, columns, values, members, sums), side)
    _forget(starts, columns, members, sums)
    return side


@compiled
def _halved_dense(points, members, side, sums):
    before, previous, similarity = np.full(len(side), NEITHER, np.int8), -np.inf, -1.0
    while similarity - previous > TOLERANCE:
        _move_dense(points, members, before, side, sums)
        before, previous = side, similarity
        side, similarity = _nearer(_products_dense(points, members, sums), side)
    sums[:] = 0
    return side


@compiled
def _nearer(near, side):
    """Which half each point goes to, given its products with both sums, and the mean cosine to its half then."""
    left, right = 0.0, 0.0  # |s|² is the sum of its points' products with s
    for at in range(len(side)):
        left += near[at, LEFT] * (side[at] == LEFT)
        right += near[at, RIGHT] * (side[at] == RIGHT)
    # A zero sum attracts nothing.
    near[:, LEFT] /= np.sqrt(left) if left > 0 else np.inf
    near[:, RIGHT] /= np.sqrt(right) if right > 0 else np.inf
    half, similarity = upper_half(near[:, RIGHT] - near[:, LEFT]), 0.0
    for at in range(len(side)):
        similarity += near[at, half[at]]
    return half, similarity / len(side)


@compiled
def upper_half(scores):
    """RIGHT at the floor(n / 2) largest scores, LEFT elsewhere; among equal ones the later stand higher."""
    wanted, half = len(scores) // 2, np.full(len(scores), LEFT, np.int8)
    if wanted == 0:
        return half
    bar = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    for at in range(len(scores)):
        if scores[at] > bar:
            half[at] = RIGHT
            wanted -= 1
    for at in range(len(scores) - 1, -1, -1):
        if wanted > 0 and scores[at] == bar:
            half[at] = RIGHT
            wanted -= 1
    return half


@compiled
def _move(starts, columns, values, members, before, after, sums):
    for at, point in enumerate(members):
        if before[at] == after[at]:
            continue
        for j in range(starts[point], starts[point + 1]):
            if before[at] != NEITHER:
                sums[columns[j], before[at]] -= values[j]
            sums[columns[j], after[at]] += values[j]


@compiled(fastmath=ANY_ORDER)
def _products(starts, columns, values, members, sums):
    result = np.empty((len(members), 2))
    for at, point in enumerate(members):
        left, right = np.float32(0), np.float32(0)
        for j in range(starts[point], starts[point + 1]):
            left += values[j] * sums[columns[j], LEFT]
            right += values[j] * sums[columns[j], RIGHT]
        result[at, LEFT], result[at, RIGHT] = left, right
    return result


@compiled
def _forget(starts, columns, members, sums):
    """Reset to zero, at a cost proportional to the members."""
    for point in members:
        for j in range(starts[point], starts[point + 1]):
            sums[columns[j], LEFT] = 0
            sums[columns[j], RIGHT] = 0


@compiled
def _move_dense(points, members, before, after, sums):
    for at, point in enumerate(members):
        if before[at] == after[at]:
            continue
        if before[at] != NEITHER:
            sums[:, before[at]] -= points[point]
        sums[:, after[at]] += points[point]


@compiled(fastmath=ANY_ORDER)
def _products_dense(points, members, sums):
    result = np.empty((len(members), 2))
    for at, point in enumerate(members):
        left, right = np.float32(0), np.float32(0)
        for j in range(points.shape[1]):
            left += points[point, j] * sums[j, LEFT]
            right += points[point, j] * sums[j, RIGHT]
        result[at, LEFT], result[at, RIGHT] = left, right
    return result
