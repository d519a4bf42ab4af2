"""Clusters that lead to labels by weighed edges: a label may hang on several, and how firmly is learned.

Gupta et al., NeurIPS 2022 (ELIAS), section 3:

    ŝ_c     = min(1, α · softmax(Ŵ_C φ))                                 (1) belief in every cluster
    ŝ_c,l   = min(1, β · softmax of row c of A over its stored edges)    (5) firmness of an edge; absent ones are none
    ŷ_l     = max over the opened clusters of ŝ_c · ŝ_c,l                (6) belief in a label
    ŷ_l     = min(1, Σ over the opened clusters of ŝ_c · ŝ_c,l)          ours: every way to a label speaks for it

A partition is the special case of one edge a label and β = ∞: every edge is sure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import scipy.sparse as sp

from longtail.config import setting
from longtail.corpus import PAD
from longtail.errors import ConfigError
from longtail.index.clusters import Clusters
from longtail.invariants import Array, Number, Unsound, agree, check_indices
from longtail.kernels.csr import rows_of
from longtail.kernels.paths import best_labels
from longtail.kernels.top import top_of_rows
from longtail.rankers.label_rows import LabelRows
from longtail.shortlist import Shortlist


@dataclass(frozen=True)
class Walk:
    """How a document walks through the graph."""

    beam: int = setting(20, "clusters opened for a document, b", "20")
    alpha: float = setting(10.0, "clusters that a document can be sure of at once, α", "10")
    beta: float | None = setting(
        None,
        "labels that a cluster can be sure of at once, β; none: as many as there are labels a cluster, L / C",
        "L / C; authors' code: 150",
    )
    shortlist: int = setting(2000, "labels that are ranked for a document, K", "2000")
    paths: Literal["best", "all"] = setting(
        "best", "what speaks for a label of several paths to it: the best alone, or the sum of all", "best"
    )

    def __post_init__(self) -> None:
        if min(self.beam, self.shortlist) < 1:
            raise ConfigError("walk.beam and walk.shortlist are at least 1")
        if self.alpha <= 0 or (self.beta is not None and self.beta <= 0):
            raise ConfigError("walk.alpha and walk.beta are more than 0")


@dataclass(frozen=True)
class Graph:
    """A, row by row: the labels that each cluster leads to, and the weights of these edges."""

    labels: Annotated[np.ndarray, Array("clusters edges", np.int32)]  # PAD behind a row's end
    weights: Annotated[np.ndarray, Array("clusters edges", np.float32)]  # nothing at PAD

    def scores(self, beta: float) -> np.ndarray:
        """ŝ_c,l (5), (clusters, edges) float32; 0 at PAD, which takes no part in the softmax."""
        inside = self.labels != PAD
        return np.where(inside, np.exp(np.minimum(0, np.log(beta) + self._log_shares())), 0).astype(np.float32)

    def mean_shares(self) -> np.ndarray:
        """The softmax of a cluster's edges, heaviest first, averaged over all clusters, (edges,): Figure 3."""
        shares = np.where(self.labels != PAD, np.exp(self._log_shares()), 0)
        return -np.sort(-shares, axis=1).mean(axis=0)

    def _log_shares(self) -> np.ndarray:
        inside = self.labels != PAD
        weights = np.where(inside, self.weights, self.weights.min(initial=0)).astype(np.float64)
        weights -= weights.max(axis=1, keepdims=True)
        totals = (np.exp(weights) * inside).sum(axis=1, keepdims=True)
        return weights - np.log(np.maximum(totals, np.finfo(np.float64).tiny))

    def parents(self, n_labels: int) -> np.ndarray:
        """The cluster that holds each label most firmly (3), (labels,) int32; PAD for a label that hangs nowhere."""
        inside = self.labels != PAD
        clusters, order = np.nonzero(inside)[0], np.argsort(self.weights[inside], kind="stable")
        parents = np.full(n_labels, PAD, np.int32)
        parents[self.labels[inside][order]] = clusters[order]  # of several the last one stays: the heaviest
        return parents


def partition(clusters: Clusters) -> Graph:
    """Every label on its one cluster."""
    sizes = np.diff(clusters.starts)
    inside = np.arange(sizes.max(initial=1)) < sizes[:, None]
    labels = np.full(inside.shape, PAD, np.int32)
    labels[inside] = clusters.labels
    return Graph(labels, np.zeros(inside.shape, np.float32))


# -- growing a graph out of a partition ----------------------------------------------------------------------------


def likely_edges(matches: sp.csr_array, labels: sp.csr_array, clusters: Clusters, most: int, seed: int) -> Graph:
    """A (10): for every cluster the labels of the documents that open it, at most so many, with random weights.

    `matches` is M (9), (documents, clusters); `labels` is Y.  A label that is among the likeliest of no cluster, or
    that no document has, stays where it was in `clusters`: every label hangs somewhere.
    """
    chosen = _fullest(matches, labels, min(most, labels.shape[1]))
    kept = partition(_only(clusters, np.setdiff1d(clusters.labels, chosen))).labels
    together = np.hstack([chosen, kept])
    order = np.argsort(together == PAD, axis=1, kind="stable")
    order = order[:, : max(1, int((together != PAD).sum(axis=1).max()))]
    together = np.take_along_axis(together, order, axis=1)
    weights = np.random.default_rng(seed).random(together.shape, np.float32)
    return Graph(together, np.where(together == PAD, np.float32(0), weights))


def _fullest(matches: sp.csr_array, labels: sp.csr_array, most: int) -> np.ndarray:
    """The labels with the largest entries in each row of A' = Mᵀ Y, (clusters, most)."""
    by_cluster = sp.csr_array(matches.T)
    starts = range(0, by_cluster.shape[0], CLUSTERS_AT_ONCE)
    products = (by_cluster[start : start + CLUSTERS_AT_ONCE] @ labels for start in starts)
    return np.concatenate([top_of_rows(rows_of(sp.csr_array(product)), most)[0] for product in products])


CLUSTERS_AT_ONCE = 256  # rows of A' that are held at once: each may have an entry for every label


def _only(clusters: Clusters, labels: np.ndarray) -> Clusters:
    """The clusters with these labels and no others."""
    inside = np.isin(clusters.labels, labels)
    before = np.append(0, np.cumsum(inside))
    return Clusters(clusters.labels[inside], before[clusters.starts])


# -- asking it -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphIndex:
    """Which labels to look at, given a document's vector."""

    graph: Graph
    clusters: LabelRows  # Ŵ_C
    beam: Annotated[int, Number(1)]
    alpha: Annotated[float, Number(0)]
    beta: Annotated[float, Number(0, np.inf)]  # infinite on a partition, where every edge is sure
    shortlist: Annotated[int, Number(1)]
    n_labels: Annotated[int, Number(1)]
    add: bool = False  # whether all paths to a label speak for it, or the best alone
    # Edges to labels added after training, as logarithms of ŝ_c,l: in A they would take from the shares of the others.
    added: Graph | None = None

    def check(self) -> None:
        """Every cluster has its edges, and these lead to labels, each to another."""
        agree("clusters", len(self.clusters), len(self.graph.labels))
        check_indices("edges", self.graph.labels, self.n_labels, pad=True)
        if len(self.clusters) == 0 or self.graph.labels.size == 0:
            raise Unsound("the graph has no clusters or no edges")
        if self.added is not None:
            agree("clusters and edges added", len(self.clusters), len(self.added.labels))
            check_indices("edges added", self.added.labels, self.n_labels, pad=True)
            if self.added.weights.max(initial=0) > 0:
                raise Unsound("an edge added is firmer than 1")

    def open(self, vectors: np.ndarray) -> Shortlist:
        """The clusters with the largest beliefs (1, 2), (documents, beam)."""
        return self.clusters.top_by_softmax(vectors, self.alpha, min(self.beam, len(self.clusters)))

    def find(self, vectors: np.ndarray) -> Shortlist:
        """The labels with the largest beliefs (6), (documents, K)."""
        opened, k = self.open(vectors), min(self.shortlist, self.n_labels)
        return Shortlist(*best_labels(opened.labels, opened.belief, *self._edges, self.n_labels, k, add=self.add))

    def matches(self, vectors: np.ndarray) -> sp.csr_array:
        """M (9): beliefs in the clusters that each document opens, (documents, clusters)."""
        opened = self.open(vectors)
        starts = np.arange(0, opened.labels.size + 1, opened.labels.shape[1])
        entries = opened.belief.ravel(), opened.labels.ravel(), starts
        return sp.csr_array(entries, shape=(len(vectors), len(self.clusters)))

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The labels that clusters lead to, and how firmly, (clusters, edges) each."""
        labels, scores = self.graph.labels, self.graph.scores(self.beta)
        if self.added is None:
            return labels, scores
        firm = np.where(self.added.labels == PAD, 0, np.exp(self.added.weights)).astype(np.float32)
        return _pads_last(np.hstack([labels, self.added.labels]), np.hstack([scores, firm]))

    def with_labels(self, vectors: np.ndarray) -> GraphIndex:
        """With more labels, each hanging on the clusters that its vector, (labels, dim), opens first.

        An edge is as firm as the firmest of a trained label is on average.
        """
        firm = np.log(self._firmness())
        where = self.clusters.top_by_softmax(vectors, self.alpha, min(EDGES_ADDED, len(self.clusters))).labels
        new = np.repeat(np.arange(self.n_labels, self.n_labels + len(vectors), dtype=np.int32), where.shape[1])
        edges = _by_cluster(where.ravel(), new, len(self.clusters))
        before = np.empty((len(edges), 0), np.int32) if self.added is None else self.added.labels
        weights = np.empty(before.shape, np.float32) if self.added is None else self.added.weights
        all_weights = np.hstack([weights, np.where(edges == PAD, 0, firm).astype(np.float32)])
        added = Graph(*_pads_last(np.hstack([before, edges]), all_weights))
        # Where all labels are ranked, all still are.
        shortlist = self.shortlist + (len(vectors) if self.shortlist >= self.n_labels else 0)
        return replace(self, added=added, shortlist=shortlist, n_labels=self.n_labels + len(vectors))

    def _firmness(self) -> float:
        """ŝ_c,l of a label's firmest edge, the mean over all labels that hang somewhere."""
        scores, inside, best = self.graph.scores(self.beta), self.graph.labels != PAD, np.zeros(self.n_labels)
        np.maximum.at(best, self.graph.labels[inside], scores[inside])
        return float(best[best > 0].mean()) if best.any() else 1.0


EDGES_ADDED = 3  # clusters that a label added after training hangs on


def _by_cluster(clusters: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The labels of every cluster, (clusters, any) with PAD behind."""
    order, sizes = np.argsort(clusters, kind="stable"), np.bincount(clusters, minlength=n_clusters)
    inside = np.arange(sizes.max(initial=0)) < sizes[:, None]
    found = np.full(inside.shape, PAD, np.int32)
    found[inside] = labels[order]
    return found


def _pads_last(labels: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose labels stand in front of all PAD, where walks end; as wide as the fullest."""
    order = np.argsort(labels == PAD, axis=1, kind="stable")[:, : max(1, int((labels != PAD).sum(axis=1).max()))]
    return np.take_along_axis(labels, order, axis=1), np.take_along_axis(values, order, axis=1)


def graphs_of(part: object) -> Iterator[GraphIndex]:
    """Every graph in a model, however deep: an ensemble may hold several."""
    if isinstance(part, GraphIndex):
        yield part
    elif is_dataclass(part):
        for item in fields(part):
            yield from graphs_of(getattr(part, item.name))
    elif isinstance(part, tuple):
        for one in part:
            yield from graphs_of(one)
