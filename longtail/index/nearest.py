"""The labels whose vectors point most nearly where a document's does: all compared, or found by walking a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from longtail.config import setting
from longtail.corpus import PAD
from longtail.errors import ConfigError, MissingExtraError
from longtail.invariants import Array, Number, Unsound, agree
from longtail.kernels.graph_search import Links, walk
from longtail.kernels.threads import PerThread
from longtail.rankers.label_rows import LabelRows
from longtail.ranking import Ranking
from longtail.reasons import Proposal
from longtail.shortlist import Shortlist


@dataclass(frozen=True)
class Search:
    """How labels are looked for."""

    links: int | None = setting(
        None,
        "links of a label in the graph that is walked (HNSW), M; none: 32, and of fewer than 10,000 labels all are "
        "compared",
        "released configs: 100",
    )
    width: int = setting(200, "candidates from which links are chosen, efC", "released configs: 300")

    def __post_init__(self) -> None:
        # faiss ends the whole process where a node has no links, and knows no numbers beyond 31 bits.
        if not (2 <= self.known_links <= MOST_LINKS and 1 <= self.width <= MOST_WIDTH):
            raise ConfigError(
                f"search.links = {self.links}, search.width = {self.width}: "
                f"from 2 to {MOST_LINKS}, and from 1 to {MOST_WIDTH}"
            )

    @property
    def known_links(self) -> int:
        """Links of a label, chosen or not."""
        return LINKS if self.links is None else self.links

    @property
    def exact_below(self) -> int:
        """With fewer labels all are compared."""
        return FEW_LABELS if self.links is None else 0


LINKS, FEW_LABELS = 32, 10_000  # where nobody chose
MOST_LINKS, MOST_WIDTH = 1000, 100_000


@dataclass(frozen=True)
class Graph:
    """A hierarchical navigable small world, as kernels/graph_search.py walks it."""

    links: Annotated[np.ndarray, Array("links", np.int32, below="nodes", pad=True)]
    starts: Annotated[np.ndarray, Array("nodes+1", np.int64, starts="links")]
    levels: Annotated[np.ndarray, Array("levels", np.int64, rising=True)]
    entry: int
    top: Annotated[int, Number(0)]

    def check(self) -> None:
        """Every node has whole levels, and a link of a level leads to a node that has the level too."""
        heights = np.searchsorted(self.levels, np.diff(self.starts))
        if len(self.levels) < self.top + 2 or self.levels[0] != 0 or heights.max(initial=0) >= len(self.levels):
            raise Unsound(f"the graph has {len(self.levels)} levels, and its top is {self.top}")
        if heights.min(initial=1) < 1 or (self.levels[heights] != np.diff(self.starts)).any():
            raise Unsound("a node has a part of a level")
        if not 0 <= self.entry < len(heights) or heights[self.entry] <= self.top:
            raise Unsound(f"the entry is node {self.entry}, which does not reach the top level {self.top}")
        for level in range(1, self.top + 1):
            self._check_links(level, heights)

    @cached_property
    def walked(self) -> Links:
        """The graph as compiled loops take it; never stored."""
        return Links(self.links, self.starts, self.levels, self.entry, self.top)

    def _check_links(self, level: int, heights: np.ndarray) -> None:
        inside = np.arange(self.levels[level], self.levels[level + 1])
        linked = self.links[self.starts[:-1][heights > level][:, None] + inside]
        if (heights[linked[linked != PAD]] <= level).any():
            raise Unsound(f"a link of level {level} leads to a node that is below it")


@dataclass(frozen=True)
class Nearest:
    """Labels by direction; a label whose vector is 0 points nowhere and is never found."""

    labels: Annotated[np.ndarray, Array("known", np.int32)]  # in order; PAD where a node of the graph has lost its own
    directions: LabelRows  # of length 1 and without biases: row i is that of labels[i]
    graph: Graph | None  # over the first directions; all are compared with those behind, which came later

    def check(self) -> None:
        """Every known label has a direction, and nodes of the graph have one too."""
        agree("labels and directions", len(self.labels), len(self.directions))
        if self.nodes > len(self.directions):
            raise Unsound(f"the graph has {self.nodes} nodes, and there are {len(self.directions)} directions")
        if (np.diff(self.labels[self.labels != PAD]) <= 0).any() or PAD in self.labels[self.nodes :]:
            raise Unsound("labels must rise, and only a node of the graph may be without one")

    @property
    def nodes(self) -> int:
        """How many of the directions the graph leads to."""
        return 0 if self.graph is None else len(self.graph.starts) - 1

    def find(self, documents: np.ndarray, k: int) -> Shortlist:
        """The k labels with the largest cosine, and σ(cosine): (documents, k or all there are)."""
        found = self._find(unit(documents), min(k, len(self.labels)))
        if len(documents) == 1 and (memory := self._memory.here) is not None:
            memory["last"] = documents, k, found
        return found

    @cached_property
    def _memory(self) -> PerThread[dict[str, Any]]:
        """What was found last for a single document, for who explains it; never stored."""
        return PerThread(dict)

    def _find(self, documents: np.ndarray, k: int) -> Shortlist:
        if self.graph is None:
            near = self.directions.top(documents, k)
        else:
            table = self.directions.table_for(documents)
            near = Shortlist(*walk(table, self.graph.walked, documents, k))
            near = near if self.nodes == len(self.labels) else self._with_later(documents, near, k)
        # A walk that meets fewer than k nodes leaves places empty.
        named = np.where(near.labels == PAD, PAD, self.labels[near.labels])
        return Shortlist(named, np.where(named == PAD, np.float32(0), near.belief))

    def _with_later(self, documents: np.ndarray, near: Shortlist, k: int) -> Shortlist:
        """The k nearest of what the graph found and of the directions behind it."""
        behind = self.directions.some(slice(self.nodes, None))
        later = behind.top(documents, min(k, len(behind)))
        both = np.hstack([near.labels, later.labels + np.int32(self.nodes)]), np.hstack([near.belief, later.belief])
        best = Ranking.of_candidates(*both, k)
        return Shortlist(best.labels, best.scores)

    def with_labels(self, first: int, vectors: np.ndarray) -> Nearest:
        """With labels numbered from `first`, of vectors (labels, dim); those whose vector is 0 are not found."""
        known = np.flatnonzero(vectors.any(axis=1))
        directions = self.directions.append(unit(vectors[known]), np.zeros(len(known), np.float32))
        return replace(self, labels=np.append(self.labels, (first + known).astype(np.int32)), directions=directions)

    def without_labels(self, labels: np.ndarray) -> Nearest:
        """Without labels; nodes of the graph stay, for the others are found through them."""
        gone = np.isin(self.labels, labels)
        kept = ~gone | (np.arange(len(gone)) < self.nodes)
        labels = np.where(gone, np.int32(PAD), self.labels)[kept]
        return replace(self, labels=labels, directions=self.directions.some(kept))

    def proposals(self, documents: np.ndarray, k: int, labels: np.ndarray) -> Callable[[int], list[Proposal]]:
        """Of each label itself, with σ(cosine), if it is among the k labels nearest to the one document."""
        known, asked, near = (self._memory.here or {}).get("last", (None, 0, None))
        if near is None or asked != k or not np.array_equal(known, documents):
            near = self.find(documents, k)

        def proposed(at: int) -> list[Proposal]:
            label = int(labels[at])
            found = near.belief[0, near.labels[0] == label].tolist()
            return [Proposal(label, belief, labels[at : at + 1]) for belief in found[:1]]

        return proposed

    def find_for_many(self, documents: np.ndarray, k: int) -> np.ndarray:
        """The labels that `find` finds, for a training set: faster, and not to the last bit the same."""
        if self.graph is not None:
            return self.find(documents, k).labels
        return self.labels[self.directions.top_for_many(unit(documents), min(k, len(self.labels)))]


def nearest_over(vectors: np.ndarray, search: Search, exact_below: int = 0) -> Nearest:
    """An index of label vectors (labels, dim) of any length; where all are 0 it is empty and finds nothing.

    Fewer than `exact_below` labels are all compared, whatever `search` says.
    """
    known = np.flatnonzero(vectors.any(axis=1)).astype(np.int32)
    directions = unit(vectors[known])
    few = len(known) == 0 or len(known) < max(exact_below, search.exact_below)
    rows = LabelRows(directions, np.zeros(len(known), np.float32))
    return Nearest(known, rows, None if few else built(directions, search))


def built(vectors: np.ndarray, search: Search) -> Graph:
    """The graph over unit vectors: the same one every time."""
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("An index of so many labels", "hnsw") from None
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # links depend on the order in which nodes come
    try:
        index = faiss.IndexHNSWFlat(vectors.shape[1], search.known_links, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = search.width
        index.add(vectors)
    finally:
        faiss.omp_set_num_threads(threads)
    made: Any = index.hnsw  # faiss does not tell mypy what it has
    links, starts = faiss.vector_to_array(made.neighbors), faiss.vector_to_array(made.offsets).astype(np.int64)
    levels = faiss.vector_to_array(made.cum_nneighbor_per_level).astype(np.int64)
    return Graph(links, starts, levels, int(made.entry_point), int(made.max_level))


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows divided by their Euclidean length; zeros stay."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
