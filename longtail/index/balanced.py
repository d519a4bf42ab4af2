"""Balanced 2-means: split the labels in half until every cluster is small enough, and the tree of these splits."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from longtail.errors import RunError
from longtail.index.clusters import Clusters, Tree
from longtail.kernels.borders import check_rows
from longtail.kernels.halves import LEFT, NEITHER, RIGHT, halved
from longtail.kernels.threads import each_in_threads
from longtail.progress import counting
from longtail.sparse import frozen, rows_of, sp


def balanced_clusters(points: sp.csr_array | np.ndarray, max_size: int, seed: int | list[int]) -> Clusters:
    """Rows of `points` in 2^n clusters of at most `max_size`, whose sizes differ by at most one.

    None is empty, unless `max_size` is 1 and the points are not 2^n.
    Every split is spherical 2-means with equal halves (Parabel: Prabhu et al., WWW 2018, section 4.1).

    >>> balanced_clusters(np.array([[1, 0], [0, 1], [1, 0.1], [0.1, 1]]), max_size=2, seed=0).of_label.tolist()
    [0, 1, 0, 1]
    """
    given = Points(points)
    clusters = Clusters(np.arange(points.shape[0], dtype=np.int32), np.array([0, points.shape[0]], np.int64))
    halvings = halvings_of(points.shape[0], max_size)
    with counting(halvings * points.shape[0], "splitting clusters") as done:
        for depth in range(halvings):
            clusters = _halved(clusters, given, [*np.atleast_1d(seed), depth], done)
    return clusters


def tree_over(clusters: Clusters, branching: int) -> Tree:
    """The tree whose last clusters are these; no cluster is divided in more than `branching` smaller ones.

    Clusters come from halving, so every level leaves out some of the halvings, each about as many.

    >>> tree = tree_over(Clusters(np.arange(9), np.array([0, 2, 3, 4, 5, 6, 7, 8, 9])), branching=4)
    >>> [starts.tolist() for starts in tree.starts]
    [[0, 4], [0, 2, 4, 6, 8], [0, 2, 3, 4, 5, 6, 7, 8, 9]]
    """
    halvings = (len(clusters) - 1).bit_length()
    n_levels = math.ceil(halvings / max(1, branching.bit_length() - 1))
    widths = [2 ** math.ceil(halvings * level / n_levels) for level in range(1, n_levels + 1)]
    starts = [np.arange(0, below + 1, below // above) for above, below in pairwise([1, *widths])]
    return Tree([*starts, clusters.starts], clusters.labels)


class Points:
    """Rows to be clustered, and room for every thread to add up two groups of them."""

    def __init__(self, points: sp.csr_array | np.ndarray):
        self.rows = frozen(points, np.float32) if isinstance(points, np.ndarray) else rows_of(points)
        if not np.isfinite(self.rows if isinstance(self.rows, np.ndarray) else self.rows[2]).all():
            raise RunError("labels are clustered by vectors that are not finite numbers; use a smaller learning rate")
        if not isinstance(self.rows, np.ndarray):
            check_rows(self.rows, points.shape[1], "points to cluster")
        self._dimensions, self._room = points.shape[1], threading.local()

    @property
    def sums(self) -> np.ndarray:
        """Two zero vectors for this thread to work with, (dimensions, 2), and to leave so."""
        if not hasattr(self._room, "sums"):
            self._room.sums = np.zeros((self._dimensions, 2), np.float32)
        return self._room.sums


def halvings_of(n_points: int, max_size: int) -> int:
    """How often to halve until no cluster has more than `max_size` points."""
    return max(0, math.ceil(n_points / max_size) - 1).bit_length()


def _halved(clusters: Clusters, points: Points, seed: list[int], done: Callable[[float], None]) -> Clusters:
    """Twice as many clusters; each split draws from its own generator, so that threads change nothing."""

    def halve(cluster: int) -> tuple[np.ndarray, np.ndarray]:
        members = clusters[cluster]
        right = right_half(points, members, np.random.default_rng([*seed, cluster]))
        done(len(members))
        return members[~right], members[right]

    halves = [half for pair in each_in_threads(halve, range(len(clusters))) for half in pair]
    return Clusters(np.concatenate(halves), np.cumsum([0, *map(len, halves)]))


def right_half(points: Points, members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which of the members go to the right when they are split in equal halves; an odd one stays left."""
    if len(members) < 2:
        return np.zeros(len(members), bool)
    side = np.full(len(members), NEITHER, np.int8)
    side[rng.choice(len(members), 2, replace=False)] = LEFT, RIGHT
    return halved(points.rows, members, side, points.sums) == RIGHT
