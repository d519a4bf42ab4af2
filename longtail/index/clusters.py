"""Labels in clusters, and clusters in a tree.  What makes them of labels is in balanced.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated

import numpy as np

from longtail.corpus import PAD
from longtail.invariants import Array, Unsound, agree, check_each_once, check_starts
from longtail.reasons import NAMED, Proposal
from longtail.shortlist import Shortlist


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

        @cache
        def of_all() -> list[tuple[int, bool, float]]:
            """Of each label its cluster, whether that was opened, and with which belief; together they take less."""
            own = self.starts.searchsorted(self.places[labels], side="right") - 1
            alike = clusters == own[:, None]
            return list(zip(own.tolist(), alike.any(axis=1).tolist(), beliefs[alike.argmax(axis=1)].tolist()))

        def proposed(at: int) -> list[Proposal]:
            own, opens, belief = of_all()[at]
            return [Proposal(own, belief, self[own][:NAMED])] if opens else []

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
