"""A graph from clusters to labels with learned edge weights; a label may belong to several clusters.

Gupta et al., NeurIPS 2022 (ELIAS), section 3:

    ŝ_c     = min(1, α · softmax(Ŵ_C φ))                                 (1) belief in every cluster
    ŝ_c,l   = min(1, β · softmax of row c of A over its stored edges)    (5) score of an edge; 0 if absent
    ŷ_l     = max over the opened clusters of ŝ_c · ŝ_c,l                (6) belief in a label
    ŷ_l     = min(1, Σ over the opened clusters of ŝ_c · ŝ_c,l)          ours: paths are summed

A partition is the special case of one edge per label and β = ∞: every edge scores 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Literal

import numpy as np

from longtail.config import setting
from longtail.corpus import PAD
from longtail.errors import ConfigError
from longtail.index.clusters import Clusters
from longtail.invariants import Array, Number, Unsound, agree, check_indices
from longtail.kernels.paths import Edges
from longtail.kernels.paths import opened as opened_by
from longtail.kernels.top import top_of_rows
from longtail.rankers.label_rows import LabelRows
from longtail.reasons import FEW, NAMED, Proposal
from longtail.shortlist import Shortlist
from longtail.sparse import rows_of, sp


@dataclass(frozen=True)
class Walk:
    """Settings of the search in the graph."""

    beam: int = setting(20, "clusters opened per document, b", "20")
    beta: float | None = setting(
        None,
        "scale of edge scores, β: number of edges of a cluster that can score 1; none: labels per cluster, L / C",
        "L / C; authors' code: 150",
    )
    shortlist: int = setting(2000, "candidates per document, K", "2000")
    paths: Literal["all", "best", "product"] = setting(
        "all",
        "belief in a label with several paths: all, their sum; best, that of the best; product, that of the best, and "
        "label classifiers learn in a product with it (7)",
        "product",
    )

    def __post_init__(self) -> None:
        if min(self.beam, self.shortlist) < 1:
            raise ConfigError("walk.beam and walk.shortlist are at least 1")
        if self.beta is not None and self.beta <= 0:
            raise ConfigError("walk.beta is more than 0")


@dataclass(frozen=True)
class Graph:
    """A, by rows: the labels of each cluster, and the weights of these edges."""

    labels: Annotated[np.ndarray, Array("clusters edges", np.int32)]  # PAD-padded
    weights: Annotated[np.ndarray, Array("clusters edges", np.float32)]  # undefined at PAD

    def scores(self, beta: float) -> np.ndarray:
        """ŝ_c,l (5), (clusters, edges) float32; 0 at PAD, which is excluded from the softmax."""
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
        """The cluster with the heaviest edge to each label (3), (labels,) int32; PAD for a label without edges."""
        inside = self.labels != PAD
        clusters, order = np.nonzero(inside)[0], np.argsort(self.weights[inside], kind="stable")
        parents = np.full(n_labels, PAD, np.int32)
        parents[self.labels[inside][order]] = clusters[order]  # the last assignment, the heaviest edge, wins
        return parents


def partition(clusters: Clusters) -> Graph:
    """The graph with one edge per label, from its cluster."""
    sizes = np.diff(clusters.starts)
    inside = np.arange(sizes.max(initial=1)) < sizes[:, None]
    labels = np.full(inside.shape, PAD, np.int32)
    labels[inside] = clusters.labels
    return Graph(labels, np.zeros(inside.shape, np.float32))


# -- building a graph from a partition -----------------------------------------------------------------------------


def likely_edges(matches: sp.csr_array, labels: sp.csr_array, clusters: Clusters, most: int, seed: int) -> Graph:
    """A (10): for every cluster at most `most` labels of the documents that open it, with random weights.

    `matches` is M (9), (documents, clusters); `labels` is Y.  A label that is in no cluster's top `most`, or that has
    no document, keeps its place in `clusters`, so that every label has an edge.
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


CLUSTERS_AT_ONCE = 256  # rows of A' computed at once: each may have an entry for every label


def _only(clusters: Clusters, labels: np.ndarray) -> Clusters:
    """The clusters restricted to these labels."""
    inside = np.isin(clusters.labels, labels)
    before = np.append(0, np.cumsum(inside))
    return Clusters(clusters.labels[inside], before[clusters.starts])


# -- search --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphIndex:
    """Index that proposes candidate labels for document vectors."""

    graph: Graph
    clusters: LabelRows  # Ŵ_C
    beam: Annotated[int, Number(1)]
    alpha: Annotated[float, Number(0)]
    beta: Annotated[float, Number(0, np.inf)]  # infinite on a partition, where every edge scores 1
    shortlist: Annotated[int, Number(1)]
    n_labels: Annotated[int, Number(1)]
    add: bool = False  # whether paths to a label are summed, or only the best counts
    # Edges to labels added after training, as logarithms of ŝ_c,l: in A they would take from the shares of the others.
    added: Graph | None = None

    def check(self) -> None:
        """Raise Unsound unless there are clusters and edges, and the edges lead to existing labels."""
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
        table = self.clusters.table_for(vectors)
        return Shortlist(*opened_by(table, vectors, self.alpha, min(self.beam, len(self.clusters))))

    def find(self, vectors: np.ndarray) -> Shortlist:
        """The labels with the largest beliefs (6), (documents, K)."""
        opened, k = self.open(vectors), min(self.shortlist, self.n_labels)
        return Shortlist(*self._paths.best(opened.labels, opened.belief, k))

    @cached_property
    def _paths(self) -> Edges:
        """The edges as compiled loops take them; never stored."""
        return Edges(*self.edges, self.n_labels, self.add)

    def proposals(
        self, vectors: np.ndarray, labels: np.ndarray, opened: Shortlist | None = None
    ) -> Callable[[int], list[Proposal]]:
        """Of each label the opened clusters that lead one document to it, by the belief in the path, ŝ_c · ŝ_c,l."""
        opened = self.open(vectors) if opened is None else opened
        ways = opened.labels[0], opened.belief[0]

        @cache
        def best() -> list[list[tuple[int, float]]]:
            both = (each.tolist() for each in self._paths.to(*ways, labels, FEW))
            return [list(zip(*paths)) for paths in zip(*both)]

        @cache
        def named(cluster: int) -> np.ndarray:
            inside = self._named[cluster]
            return inside[inside != PAD]

        def proposed(at: int) -> list[Proposal]:
            return [Proposal(cluster, belief, named(cluster)) for cluster, belief in best()[at] if cluster != PAD]

        return proposed

    @cached_property
    def _named(self) -> np.ndarray:
        """The labels with the firmest edges of each cluster, (clusters, NAMED or fewer); never stored."""
        labels, scores = self.edges
        return np.take_along_axis(labels, np.argsort(-scores, axis=1, kind="stable")[:, :NAMED], axis=1)

    def matches(self, vectors: np.ndarray) -> sp.csr_array:
        """M (9): beliefs in the clusters that each document opens, (documents, clusters)."""
        opened = self.open(vectors)
        starts = np.arange(0, opened.labels.size + 1, opened.labels.shape[1])
        entries = opened.belief.ravel(), opened.labels.ravel(), starts
        return sp.csr_array(entries, shape=(len(vectors), len(self.clusters)))

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The labels that clusters lead to, and how firmly, (clusters, edges) each."""
        labels, scores = self.graph.labels, self.graph.scores(self.beta)
        if self.added is None:
            return labels, scores
        firm = np.where(self.added.labels == PAD, 0, np.exp(self.added.weights)).astype(np.float32)
        return _pads_last(np.hstack([labels, self.added.labels]), np.hstack([scores, firm]))

    def near(self, vectors: np.ndarray, clusters: int, labels: int) -> tuple[np.ndarray, Shortlist]:
        """The clusters that vectors open first, and about what `find` finds in these alone, in any order.

        That takes less time.  Beliefs are shares of the clusters opened, and not of all.
        """
        opened = self.clusters.top(vectors, min(clusters, len(self.clusters))).labels
        logits = self.clusters.logits(vectors, opened)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
        beliefs = np.minimum(1, np.float32(self.alpha) * shares / shares.sum(axis=1, keepdims=True))
        return opened, Shortlist(*self._paths.best(opened, beliefs, min(labels, self.n_labels), ordered=False))

    def with_labels(self, opened: np.ndarray) -> GraphIndex:
        """With more labels, each hanging on the clusters that its vector opens first, (labels, any).

        An edge is as firm as the firmest of a trained label is on average.
        """
        firm, where = np.log(self._firmness), opened[:, :EDGES_ADDED]
        new = np.repeat(np.arange(self.n_labels, self.n_labels + len(opened), dtype=np.int32), where.shape[1])
        edges = _by_cluster(where.ravel(), new, len(self.clusters))
        before = np.empty((len(edges), 0), np.int32) if self.added is None else self.added.labels
        weights = np.empty(before.shape, np.float32) if self.added is None else self.added.weights
        all_weights = np.hstack([weights, np.where(edges == PAD, 0, firm).astype(np.float32)])
        added = Graph(*_pads_last(np.hstack([before, edges]), all_weights))
        # Where all labels are ranked, all still are.
        shortlist = self.shortlist + (len(opened) if self.shortlist >= self.n_labels else 0)
        return replace(self, added=added, shortlist=shortlist, n_labels=self.n_labels + len(opened))

    @cached_property
    def _firmness(self) -> float:
        """ŝ_c,l of a label's firmest edge, the mean over all labels that hang somewhere; never stored."""
        scores, inside = self.graph.scores(self.beta), self.graph.labels != PAD
        best = np.zeros(self.n_labels, np.float32)
        np.maximum.at(best, self.graph.labels[inside].astype(np.intp), scores[inside])  # of these types it is fast
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
    """All graphs in a model, searched recursively: an ensemble may hold several."""
    if isinstance(part, GraphIndex):
        yield part
    elif is_dataclass(part):
        for item in fields(part):
            yield from graphs_of(getattr(part, item.name))
    elif isinstance(part, tuple):
        for one in part:
            yield from graphs_of(one)
