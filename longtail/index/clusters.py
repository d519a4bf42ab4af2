"""Balanced 2-means: split the labels in half until every cluster is small enough, and the tree of these splits."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np

from longtail.corpus import PAD
from longtail.errors import RunError
from longtail.invariants import Array, Unsound, agree, check_each_once, check_starts
from longtail.kernels.borders import check_rows
from longtail.kernels.csr import frozen, rows_of
from longtail.kernels.halves import LEFT, NEITHER, RIGHT, halved
from longtail.kernels.threads import each_in_threads
from longtail.progress import counting
from longtail.reasons import NAMED, Proposal
from longtail.shortlist import Shortlist
from longtail.sparse import sp


@dataclass(frozen=True)
class Clusters:
    """Labels in groups: cluster c holds labels[starts[c]:starts[c + 1]], and neighbouring clusters are alike."""

    labels: Annotated[np.ndarray, Array("labels", np.int32, below="labels")]  # every label once
    starts: Annotated[np.ndarray, Array("clusters+1", np.int64, starts="labels")]

    def check(self) -> None:
        """No label is in two clusters."""
        check_each_once("labels", self.labels)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, cluster: int) -> np.ndarray:
        return self.labels[self.starts[cluster] : self.starts[cluster + 1]]

    def with_more(self, where: np.ndarray, at: np.ndarray) -> Clusters:
        """With labels more, numbered after those there are: cluster where[i] has the i-th one inserted at at[i]."""
        new = np.arange(len(self.labels), len(self.labels) + len(where), dtype=np.int32)
        grown = np.cumsum(np.bincount(where, minlength=len(self)))
        return Clusters(np.insert(self.labels, at, new), self.starts + np.append(0, grown))

    @cached_property
    def places(self) -> np.ndarray:
        """Where every label stands in `labels`; made when first asked for, and never stored."""
        places = np.empty(len(self.labels), np.int32)
        places[self.labels] = np.arange(len(places), dtype=np.int32)
        return places

    def proposals(self, opened: Shortlist, labels: np.ndarray) -> Callable[[int], list[Proposal]]:
        """Of each label its own cluster, if it is among those that one document opened: the first row of `opened`."""
        clusters, beliefs = opened.labels[0], opened.belief[0]

        def proposed(at: int) -> list[Proposal]:
            own = int(self.starts.searchsorted(self.places[labels[at]], side="right")) - 1
            return [Proposal(own, belief, self[own][:NAMED]) for belief in beliefs[clusters == own][:1].tolist()]

        return proposed

    @property
    def of_label(self) -> np.ndarray:
        """The cluster of every label."""
        cluster = np.empty(len(self.labels), np.int32)
        cluster[self.labels] = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))
        return cluster


@dataclass(frozen=True)
class Tree:
    """Labels under clusters under larger clusters, every level numbered so that brothers stand together.

    Level 0 is the root.  The children of node p of level d are the nodes starts[d][p] to starts[d][p + 1] of the next
    level, and node i of the last level is the label labels[i].
    """

    starts: list[np.ndarray]  # (nodes of the level + 1,) int64 each
    labels: Annotated[np.ndarray, Array("leaves", np.int32, between=(0, np.inf))]

    def check(self) -> None:
        """The nodes of a level are the children of the one above, and the last ones are the labels."""
        if not self.starts:
            raise Unsound("the tree has no levels")
        above = 1
        for level, starts in enumerate(self.starts):
            if starts.dtype != np.int64 or starts.shape != (above + 1,):
                raise Unsound(f"level {level} has starts of shape {starts.shape} for {above} nodes")
            check_starts(f"level {level}", starts, int(starts[-1]))
            above = int(starts[-1])
        agree("leaves and labels", above, len(self.labels))

    @property
    def depth(self) -> int:
        """The last level, that of the labels."""
        return len(self.starts)

    def width(self, level: int) -> int:
        """How many nodes a level has."""
        return int(self.starts[level - 1][-1]) if level else 1

    def parents(self, level: int) -> np.ndarray:
        """The parent of every node of a level."""
        sizes = np.diff(self.starts[level - 1])
        return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)

    def above_labels(self, level: int) -> np.ndarray:
        """The node of a level that labels[i] lies under, for every i."""
        nodes = np.arange(len(self.labels), dtype=np.int32)
        for below in range(self.depth, level, -1):
            nodes = self.parents(below)[nodes]
        return nodes

    # -- one label ----------------------------------------------------------------------------------------------------

    @cached_property
    def leaf_of(self) -> np.ndarray:
        """The leaf of every label up to the largest, PAD where it hangs nowhere; never stored."""
        leaf = np.full(int(self.labels.max(initial=-1)) + 1, PAD, np.int32)
        leaf[self.labels] = np.arange(len(self.labels), dtype=np.int32)
        return leaf

    def under(self, level: int, node: int) -> np.ndarray:
        """The labels under a node."""
        first, last = node, node + 1
        for starts in self.starts[level:]:
            first, last = starts[first], starts[last]
        return self.labels[first:last]


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
