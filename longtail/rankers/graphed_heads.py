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
from longtail.kernels.paths import best_paths, paths_to
from longtail.losses import masked_bce_per_document, product_bce_per_document
from longtail.rankers.classifiers import Classifiers
from longtail.rankers.clustered import Clustered, each_its_own
from longtail.rankers.clustered_heads import array_of, linear_of
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


@dataclass(frozen=True)
class Opened:
    """The clusters that a batch opens, and the edges that leave them."""

    log_beliefs: Tensor  # (documents, clusters): log ŝ_c
    touched: np.ndarray  # (opened clusters,) in order
    log_edges: Tensor  # (opened clusters, edges): log ŝ_c,l
    # Places in `touched` and beliefs, (documents, width) each; labels and scores of edges.
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

    def log_beliefs_along(self, edges: np.ndarray) -> Tensor:
        """log ŷ of the paths that end with these edges, places in `log_edges`; anything at PAD.

        A path is chosen by its score; belief and edge on it learn from what comes of the choice (6).
        """
        device, edges = self.log_edges.device, edges.clip(min=0)
        clusters = torch.from_numpy(self.touched[edges // self.log_edges.shape[1]]).to(device)
        at = torch.from_numpy(edges).to(device)
        on_path = self.log_edges.flatten().index_select(0, at.flatten()).view(at.shape)
        return self.log_beliefs.gather(1, clusters) + on_path


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
        walk, wanted = self.walk(documents, positives), array_of(positives).astype(np.int32)
        labels, _, at = best_paths(*walk.arrays, self.n_labels, self._width(wanted), wanted)
        return Found(torch.from_numpy(labels).to(documents.device), walk.log_beliefs_along(at))

    def toward(self, candidates: np.ndarray, documents: Tensor, positives: Tensor) -> tuple[Tensor, Tensor]:
        """log ŷ of the same labels for every document, and whether there is a path: (documents, candidates) each."""
        walk = self.walk(documents, positives)
        at = paths_to(candidates, *walk.arrays, self.n_labels)
        return walk.log_beliefs_along(at), torch.from_numpy(at != PAD).to(documents.device)

    def walk(self, documents: Tensor, positives: Tensor) -> Opened:
        """What documents open, (1)-(5)."""
        logits = self.clusters(documents).float()
        log_beliefs = (math.log(self.alpha) + logits.log_softmax(1)).clamp(max=0)  # (1)
        opened = self.opened(logits.detach(), positives)
        touched = in_order(opened[opened != PAD])
        log_edges = self._log_edges(touched, documents.device)
        places = np.where(opened == PAD, PAD, np.searchsorted(touched, opened)).astype(np.int32)
        beliefs = array_of(log_beliefs.exp().gather(1, torch.from_numpy(opened.clip(min=0)).to(documents.device)))
        arrays = places, beliefs, self.labels[touched], array_of(log_edges.exp())
        return Opened(log_beliefs, touched, log_edges, arrays)

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

    def __init__(
        self, router: GraphRouter, classifiers: Classifiers, shortlist_loss: float, alone: bool = False,
        belief_weight: float = 1.0,
    ):  # fmt: skip
        super().__init__()
        self.router, self.classifiers, self.shortlist_loss = router, classifiers, shortlist_loss
        self.alone, self.belief_weight = alone, belief_weight

    def loss(self, documents: Tensor, positives: Tensor) -> Tensor:
        """L = L_c + λ L_s, given document vectors (documents, dim) and true labels (documents, most), PAD."""
        found = self.router(documents, positives)
        inside, targets = found.labels != PAD, found.targets(positives)
        return self._loss(self.logits(documents, found.labels), found.log_beliefs, targets, inside)

    def loss_on(self, candidates: np.ndarray, documents: Tensor, positives: Tensor) -> Tensor:
        """The same where every document meets the same candidates, all true labels among them.

        A candidate to which no path leads is still to be refused: its classifier is on its own, as if ŷ were 1.
        """
        log_beliefs, reached = self.router.toward(candidates, documents, positives)
        rows, biases = self.classifiers(torch.from_numpy(candidates).to(documents.device))
        targets = one_hot(positives, candidates)
        logits = torch.addmm(biases, documents, rows.T)
        return self._loss(logits, log_beliefs.masked_fill(~reached, 0), targets, torch.ones_like(targets))

    def _loss(self, logits: Tensor, log_beliefs: Tensor, targets: Tensor, inside: Tensor) -> Tensor:
        if self.alone:
            ranking = masked_bce_per_document(logits, targets, inside)
        else:
            ranking = product_bce_per_document(logits, log_beliefs, targets, inside)  # (7)
        recall = -(log_beliefs * targets).sum() / len(logits)  # (8)
        return ranking + self.shortlist_loss * recall

    def logits(self, documents: Tensor, labels: Tensor) -> Tensor:
        """w_l · φ + b_l of each document's labels, (documents, K); anything at PAD."""
        names = in_order(array_of(labels[labels != PAD]))
        place = torch.zeros(self.router.n_labels, dtype=torch.int32)
        place[names] = torch.arange(len(names), dtype=torch.int32)
        rows, biases = self.classifiers(torch.from_numpy(names.astype(np.int64)).to(documents.device))
        shortlist = torch.where(labels == PAD, PAD, place.to(labels.device)[labels.clamp(min=0).long()])
        return shortlist_logits(documents, rows, shortlist) + biases[shortlist.clamp(min=0).long()]

    def settled(self) -> Graphed:
        """What the heads have come to; on a CPU, views of what learns where that is possible."""
        return Graphed(self.router.settled(), self.classifiers.settled(), self.belief_weight)


class OneVsAll(nn.Module):
    """Classifiers of all labels, which learn from every document."""

    def __init__(self, n_labels: int, classifiers: Classifiers):
        super().__init__()
        self.n_labels, self.classifiers = n_labels, classifiers

    def loss(self, documents: Tensor, positives: Tensor) -> Tensor:
        """Binary cross-entropy, summed over all labels, the mean over documents."""
        labels = np.arange(self.n_labels)
        rows, biases = self.classifiers(torch.from_numpy(labels).to(documents.device))
        logits, targets = torch.addmm(biases, documents, rows.T), one_hot(positives, labels).float()
        return F.binary_cross_entropy_with_logits(logits, targets, reduction="sum") / len(documents)

    def settled(self) -> Clustered:
        """What the classifiers have come to."""
        return Clustered(each_its_own(self.n_labels), self.classifiers.settled(), None, 1)


def one_hot(positives: Tensor, candidates: np.ndarray) -> Tensor:
    """(documents, candidates) true where a candidate is a true label; `candidates` are in order and hold them all."""
    targets = torch.zeros(len(positives), len(candidates), dtype=torch.bool, device=positives.device)
    given = positives != PAD
    places = np.searchsorted(candidates, array_of(positives[given]))
    targets[given.nonzero()[:, 0], torch.from_numpy(places).to(positives.device)] = True
    return targets
