"""The half of a graph and its label classifiers that learns (see graphed.py for the formulas), in torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.index.graph import Graph, GraphIndex
from longtail.kernels.paths import best_paths
from longtail.losses import product_bce_per_document
from longtail.rankers.clustered import Linear
from longtail.rankers.clustered_heads import START_BIAS, array_of, linear_of
from longtail.rankers.graphed import Graphed
from longtail.rankers.meeting import in_order, shortlist_logits, table_rows

ABSENT = -1e9  # the weight of an edge that is not there: nothing is left of it in a softmax


@dataclass(frozen=True)
class Found:
    """The labels that a batch looks at."""

    labels: Tensor  # (documents, K) int32, PAD where there are fewer; true labels first
    log_beliefs: Tensor  # (documents, K): log ŷ

    def targets(self, positives: Tensor) -> Tensor:
        """(documents, K), true where a label is; all true ones are among a row's first."""
        width = positives.shape[1]
        first = self.labels[:, :width]
        true = (first[:, :, None] == positives[:, None]).any(2) & (first != PAD)
        return F.pad(true, (0, self.labels.shape[1] - width))


class GraphRouter(nn.Module):
    """Ŵ_C and A: from documents to clusters and on to labels.  With β = ∞ the edges are sure, and A does not learn."""

    parents: Tensor  # (labels,)

    def __init__(self, dim: int, graph: Graph, n_labels: int, beam: int, alpha: float, beta: float, shortlist: int):
        super().__init__()
        n_clusters = len(graph.labels)
        self.labels, self.n_labels, self.alpha, self.beta = graph.labels, n_labels, alpha, beta
        self.beam, self.shortlist = min(beam, n_clusters), min(shortlist, n_labels)
        self.clusters = nn.Linear(dim, n_clusters)
        self.edges = nn.Parameter(torch.from_numpy(np.array(graph.weights)), requires_grad=beta < math.inf)
        self.register_buffer("parents", torch.from_numpy(graph.parents(n_labels).astype(np.int64)))

    def find_parents(self) -> None:
        """See which cluster now holds each label most firmly (3)."""
        parents = self._graph().parents(self.n_labels)
        self.parents.copy_(torch.from_numpy(parents))

    def forward(self, documents: Tensor, positives: Tensor) -> Found:
        """The labels with the best paths and all true ones, `positives` (documents, most) with PAD."""
        logits = self.clusters(documents).float()
        log_beliefs = (math.log(self.alpha) + logits.log_softmax(1)).clamp(max=0)  # (1)
        opened = self.opened(logits.detach(), positives)
        touched = in_order(opened[opened != PAD])
        log_edges = self._log_edges(touched, documents.device)
        places = np.where(opened == PAD, PAD, np.searchsorted(touched, opened)).astype(np.int32)
        beliefs = array_of(log_beliefs.exp().gather(1, torch.from_numpy(opened.clip(min=0)).to(documents.device)))
        wanted = array_of(positives).astype(np.int32)
        # A path is chosen by its score; belief and edge on it learn from what comes of the choice (6).
        labels, _, at = best_paths(
            places, beliefs, self.labels[touched], array_of(log_edges.exp()), self.n_labels, self._width(wanted), wanted
        )
        clusters = torch.from_numpy(touched[(at // self.labels.shape[1]).clip(min=0)]).to(documents.device)
        edges = torch.from_numpy(at.clip(min=0)).to(documents.device)
        on_path = log_edges.flatten().index_select(0, edges.flatten()).view(edges.shape)
        return Found(torch.from_numpy(labels).to(documents.device), log_beliefs.gather(1, clusters) + on_path)

    def opened(self, logits: Tensor, positives: Tensor) -> np.ndarray:
        """Ĉ (2)-(4): the top b clusters and the parents of all true labels, each once, (documents, width) with PAD."""
        parents = torch.where(positives == PAD, PAD, self.parents[positives.clamp(min=0)])
        both = torch.cat([logits.topk(self.beam).indices, parents], dim=1).sort(dim=1, descending=True).values
        both[:, 1:][both[:, 1:] == both[:, :-1]] = PAD
        return both.cpu().numpy()

    def _log_edges(self, clusters: np.ndarray, device: torch.device) -> Tensor:
        """log ŝ_c,l (5) of some clusters, (clusters, edges); absent edges take no part."""
        absent = torch.from_numpy(self.labels[clusters] == PAD).to(device)
        weights = table_rows(self.edges, torch.from_numpy(clusters).to(device)).masked_fill(absent, ABSENT)
        return (math.log(self.beta) + weights.log_softmax(1)).clamp(max=0).masked_fill(absent, 0)

    def _width(self, wanted: np.ndarray) -> int:
        """K, or more where a document has more true labels."""
        return max(self.shortlist, int((wanted != PAD).sum(axis=1).max(initial=0)))

    def _graph(self) -> Graph:
        return Graph(self.labels, array_of(self.edges))

    def settled(self) -> GraphIndex:
        """What it has come to."""
        rows = linear_of(self.clusters)
        walk = self.beam, self.alpha, self.beta, self.shortlist
        return GraphIndex(self._graph(), rows.rows, rows.biases, *walk, self.n_labels)


class GraphHeads(nn.Module):
    """The way to labels, and W_L, a classifier a label."""

    def __init__(self, dim: int, router: GraphRouter, shortlist_loss: float):
        super().__init__()
        self.router, self.shortlist_loss = router, shortlist_loss
        self.rows = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(router.n_labels, dim)))
        self.biases = nn.Parameter(torch.full((router.n_labels, 1), START_BIAS))

    def loss(self, documents: Tensor, positives: Tensor) -> Tensor:
        """L = L_c + λ L_s, given document vectors (documents, dim) and true labels (documents, most), PAD."""
        found = self.router(documents, positives)
        inside, targets = found.labels != PAD, found.targets(positives)
        logits = self.logits(documents, found.labels)
        ranking = product_bce_per_document(logits, found.log_beliefs, targets, inside)  # (7)
        recall = -(found.log_beliefs * targets).sum() / len(documents)  # (8)
        return ranking + self.shortlist_loss * recall

    def logits(self, documents: Tensor, labels: Tensor) -> Tensor:
        """w_l · φ + b_l of each document's labels, (documents, K); anything at PAD."""
        names = in_order(array_of(labels[labels != PAD]))
        place = torch.zeros(self.router.n_labels, dtype=torch.int32)
        place[names] = torch.arange(len(names), dtype=torch.int32)
        touched = torch.from_numpy(names.astype(np.int64)).to(documents.device)
        rows, biases = table_rows(self.rows, touched), table_rows(self.biases, touched)[:, 0]
        shortlist = torch.where(labels == PAD, PAD, place.to(labels.device)[labels.clamp(min=0).long()])
        return shortlist_logits(documents, rows, shortlist) + biases[shortlist.clamp(min=0).long()]

    @property
    def tables(self) -> list[nn.Parameter]:
        """What has a row for every label, and learns with sparse gradients."""
        return [self.rows, self.biases]

    def settled(self) -> Graphed:
        """What the heads have come to; on a CPU, views of what learns."""
        return Graphed(self.router.settled(), Linear(array_of(self.rows), array_of(self.biases)[:, 0]))
