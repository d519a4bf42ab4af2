"""The labels whose vectors point most nearly where a document's does: all compared, or found by walking a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from longtail.config import setting
from longtail.corpus import PAD
from longtail.errors import ConfigError, MissingExtraError
from longtail.kernels.graph_search import walk
from longtail.kernels.label_rows import likeliest, likeliest_for_many


@dataclass(frozen=True)
class Search:
    """How labels are looked for."""

    exact_below: int = setting(10_000, "with fewer labels all are compared, with more a graph is walked (HNSW)")
    links: int = setting(32, "links of a label in the graph, M", "released configs: 100")
    width: int = setting(200, "candidates from which links are chosen, efC", "released configs: 300")

    def __post_init__(self) -> None:
        # faiss ends the whole process where a node has no links, and knows no numbers beyond 31 bits.
        if not (2 <= self.links <= MOST_LINKS and 1 <= self.width <= MOST_WIDTH):
            raise ConfigError(
                f"search.links = {self.links}, search.width = {self.width}: "
                f"from 2 to {MOST_LINKS}, and from 1 to {MOST_WIDTH}"
            )


MOST_LINKS, MOST_WIDTH = 1000, 100_000


@dataclass(frozen=True)
class Graph:
    """A hierarchical navigable small world, as kernels/graph_search.py walks it."""

    links: np.ndarray  # int32
    starts: np.ndarray  # (nodes + 1,) int64
    levels: np.ndarray  # int64
    entry: int
    top: int


@dataclass(frozen=True)
class Nearest:
    """Labels by direction; a label whose vector is 0 points nowhere and is never found."""

    labels: np.ndarray  # (known,) int32, in order
    vectors: np.ndarray  # (known, dim) float32 of length 1
    graph: Graph | None

    def find(self, documents: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k labels with the largest cosine, and σ(cosine): (documents, k or all there are) each."""
        k = min(k, len(self.labels))
        if self.graph is None:
            places, beliefs = likeliest(unit(documents), self.vectors, np.zeros(len(self.labels), np.float32), k)
        else:
            graph = self.graph.links, self.graph.starts, self.graph.levels, self.graph.entry, self.graph.top
            places, beliefs = walk(unit(documents), self.vectors, *graph, k)
        # A walk that meets fewer than k nodes leaves places empty.
        return np.where(places == PAD, PAD, self.labels[places]), beliefs

    def find_for_many(self, documents: np.ndarray, k: int) -> np.ndarray:
        """The labels that `find` finds, for a training set: as fast as can be, not to the last bit the same."""
        if self.graph is not None:
            return self.find(documents, k)[0]
        k, even = min(k, len(self.labels)), np.zeros(len(self.labels), np.float32)
        return self.labels[likeliest_for_many(unit(documents), self.vectors, even, k)]


def nearest_over(vectors: np.ndarray, search: Search) -> Nearest:
    """An index of label vectors (labels, dim) of any length."""
    known = np.flatnonzero(vectors.any(axis=1)).astype(np.int32)
    directions = unit(vectors[known])
    return Nearest(known, directions, None if len(known) < search.exact_below else built(directions, search))


def built(vectors: np.ndarray, search: Search) -> Graph:
    """The graph over unit vectors: the same one every time."""
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("An index of so many labels", "hnsw") from None
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # links depend on the order in which nodes come
    try:
        index = faiss.IndexHNSWFlat(vectors.shape[1], search.links, faiss.METRIC_INNER_PRODUCT)
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
