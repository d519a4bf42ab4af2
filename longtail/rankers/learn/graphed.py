"""Training of a graph and its label classifiers in torch (formulas in ../graphed.py and index/graph.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.encoders.learn.exchange import columns_of_all
from longtail.index.graph import Graph, GraphIndex
from longtail.kernels import paths
from longtail.kernels.paths import best_labels
from longtail.rankers.clustered import Clustered
from longtail.rankers.graphed import Graphed
from longtail.rankers.learn.candidates import in_order, shortlist_logits, table_loss, table_rows
from longtail.rankers.learn.label_rows import LearningRows, array_of, rows_of_layer
from longtail.rankers.learn.losses import masked_bce_per_document, product_bce_per_document
from longtail.rankers.learn.wide import Wide
from longtail.ranks import here

ABSENT = -1e9  # weight of an absent edge: 0 after softmax


@dataclass(frozen=True)
class Found:
    """The candidate labels of a batch."""

    labels: Tensor  # (documents, K) int32, PAD-padded; true labels first
    log_beliefs: Tensor  # (documents, K): log ŷ

    def targets(self, positives: Tensor) -> Tensor:
        """(documents, K) bool, whether a candidate is a true label; true labels come first in a row."""
        width = positives.shape[1]
        first = self.labels[:, :width]
        true = (first[:, :, None] == positives[:, None]).any(2) & (first != PAD)
        return F.pad(true, (0, self.labels.shape[1] - width))


@dataclass(frozen=True)
class Opened:
    """The opened clusters of a batch, and their edges."""

    clusters: np.ndarray  # (documents, width) int32 rows of `labels`, PAD
    log_beliefs: Tensor  # (documents, width): log ŝ_c
    labels: np.ndarray  # (opened clusters, edges) int32, PAD
    log_edges: Tensor  # (opened clusters, edges): log ŝ_c,l
    n_labels: int
    add: bool  # whether paths to a label are summed, or only the best counts

    def best(self, k: int, wanted: np.ndarray) -> np.ndarray:
        """The k labels with the largest ŷ, `wanted` ones first, (documents, k) int32."""
        beliefs, edges = (array_of(each.exp()) for each in (self.log_beliefs, self.log_edges))
        return best_labels(self.clusters, beliefs, self.labels, edges, self.n_labels, k, wanted, self.add)[0]

    def log_beliefs_in(self, labels: np.ndarray) -> Tensor:
        """log ŷ (6) of labels, (documents, any) with PAD; 0 at PAD and for labels without a path."""
        values = _LogBeliefs.apply(self.log_beliefs, self.log_edges, self, labels)
        return values.masked_fill(values == -math.inf, 0).clamp(max=0)


class _LogBeliefs(torch.autograd.Function):
    """The compiled walk, always on the CPU: it is dominated by integer lookups."""

    @staticmethod
    def forward(ctx, log_beliefs: Tensor, log_edges: Tensor, walk: Opened, labels: np.ndarray) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.graph = walk.clusters, array_of(log_beliefs), walk.labels, array_of(log_edges), walk.n_labels, walk.add
        ctx.wanted, ctx.values = labels, paths.log_beliefs(labels, *ctx.graph)
        return torch.from_numpy(ctx.values).to(log_beliefs.device)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        parts = paths.log_belief_gradients(array_of(gradient), ctx.values, ctx.wanted, *ctx.graph)
        of_beliefs, of_edges = (torch.from_numpy(part).to(gradient.device) for part in parts)
        return of_beliefs, of_edges, None, None


class GraphRouter(nn.Module):
    """Ŵ_C and A: from documents to clusters to labels.  With β = ∞ all edges are 1, and A is not trained."""

    parents: Tensor  # (labels,)

    def __init__(
        self, dim: int, graph: Graph, n_labels: int, beam: int, alpha: float, beta: float, shortlist: int,
        add: bool = False,
    ):  # fmt: skip
        super().__init__()
        n_clusters = len(graph.labels)
        self.labels, self.n_labels, self.alpha, self.beta = graph.labels, n_labels, alpha, beta
        self.beam, self.shortlist, self.add = min(beam, n_clusters), min(shortlist, n_labels), add
        self.clusters, self.own = Wide(dim, n_clusters), here().part(n_clusters)
        self.edges = nn.Parameter(torch.from_numpy(np.array(graph.weights)), requires_grad=beta < math.inf)
        self.register_buffer("parents", torch.from_numpy(graph.parents(n_labels).astype(np.int64)))

    def find_parents(self) -> None:
        """Update the parent of each label: the cluster with its heaviest edge (3)."""
        parents = self._graph().parents(self.n_labels)
        self.parents.copy_(torch.from_numpy(parents))

    def forward(self, documents: Tensor, positives: Tensor) -> Found:
        """The labels with the best paths and all true labels; `positives` (documents, most) with PAD."""
        walk, wanted = self.walk(documents, positives), array_of(positives).astype(np.int32)
        labels = walk.best(self._width(wanted), wanted)
        return Found(torch.from_numpy(labels).to(documents.device), walk.log_beliefs_in(labels))

    def walk(self, documents: Tensor, positives: Tensor) -> Opened:
        """Opened clusters and their edges, (1)-(5)."""
        logits = columns_of_all(self.clusters(documents).float(), len(self.labels))
        opened = self.opened(logits.detach(), positives)
        touched = in_order(opened[opened != PAD])
        places = np.where(opened == PAD, PAD, np.searchsorted(touched, opened)).astype(np.int32)
        at = torch.from_numpy(opened.clip(min=0)).to(documents.device)
        on_the_way = (math.log(self.alpha) + logits.log_softmax(1).gather(1, at)).clamp(max=0)  # (1)
        log_edges = self._log_edges(touched, documents.device)
        return Opened(places, on_the_way, self.labels[touched], log_edges, self.n_labels, self.add)

    def opened(self, logits: Tensor, positives: Tensor) -> np.ndarray:
        """Ĉ (2)-(4): the top b clusters and the parents of all true labels, each once, (documents, width) with PAD."""
        parents = torch.where(positives == PAD, PAD, self.parents[positives.clamp(min=0)])
        best = logits.topk(self.beam).indices
        both = torch.cat([best, parents], dim=1).sort(dim=1, descending=True).values
        both[:, 1:][both[:, 1:] == both[:, :-1]] = PAD
        return both.cpu().numpy()

    def _log_edges(self, clusters: np.ndarray, device: torch.device) -> Tensor:
        """log ŝ_c,l (5) of some clusters, (clusters, edges); 0 for absent edges."""
        absent = torch.from_numpy(self.labels[clusters] == PAD).to(device)
        weights = table_rows(self.edges, torch.from_numpy(clusters).to(device)).masked_fill(absent, ABSENT)
        return (math.log(self.beta) + weights.log_softmax(1)).clamp(max=0).masked_fill(absent, 0)

    def _width(self, wanted: np.ndarray) -> int:
        """K, or the largest number of true labels if that is more."""
        return max(self.shortlist, int((wanted != PAD).sum(axis=1).max(initial=0)))

    def _graph(self) -> Graph:
        return Graph(self.labels, array_of(self.edges))

    def export(self) -> GraphIndex:
        """Export to NumPy for inference."""
        walk = self.beam, self.alpha, self.beta, self.shortlist
        return GraphIndex(self._graph(), rows_of_layer(self.clusters), *walk, self.n_labels, self.add)


class GraphHeads(nn.Module):
    """The router, and W_L, one classifier per label."""

    def __init__(
        self, router: GraphRouter, classifiers: LearningRows, shortlist_loss: float, alone: bool = False,
        belief_weight: float = 1.0,
    ):  # fmt: skip
        super().__init__()
        self.router, self.classifiers, self.shortlist_loss = router, classifiers, shortlist_loss
        self.alone, self.belief_weight = alone, belief_weight

    def loss(self, documents: Tensor, positives: Tensor) -> Tensor:
        """L = L_c + λ L_s of document vectors (documents, dim) and true labels (documents, most), PAD-padded."""
        found = self.router(documents, positives)
        inside, targets = found.labels != PAD, found.targets(positives)
        logits = self.logits(documents, found.labels)
        if self.alone:
            ranking = masked_bce_per_document(logits, targets, inside)
        else:
            ranking = product_bce_per_document(logits, found.log_beliefs, targets, inside)  # (7)
        return self._with_recall(ranking, found.log_beliefs * targets)

    def loss_on(self, candidates: np.ndarray, documents: Tensor, positives: Tensor) -> Tensor:
        """The same loss with shared candidates for all documents, including all true labels.

        A candidate without a path is still a negative: its classifier is trained alone, as if ŷ were 1.
        """
        walk, targets = self.router.walk(documents, positives), one_hot(positives, candidates)
        rows, biases = self.classifiers(torch.from_numpy(candidates).to(documents.device))
        if self.alone:  # only beliefs in true labels are needed
            ranking = table_loss(documents, rows, biases, targets.float())
            return self._with_recall(ranking, walk.log_beliefs_in(array_of(positives).astype(np.int32)))
        logits, inside = torch.addmm(biases, documents, rows.T), torch.ones_like(targets)
        met = np.broadcast_to(candidates.astype(np.int32), targets.shape)
        log_beliefs = walk.log_beliefs_in(met)
        ranking = product_bce_per_document(logits, log_beliefs, targets, inside)  # (7)
        return self._with_recall(ranking, log_beliefs * targets)

    def _with_recall(self, ranking: Tensor, log_beliefs: Tensor) -> Tensor:
        """L_c + λ L_s (8); `log_beliefs` is log ŷ of true labels and 0 elsewhere."""
        return ranking - self.shortlist_loss * log_beliefs.sum() / len(log_beliefs)

    def logits(self, documents: Tensor, labels: Tensor) -> Tensor:
        """w_l · φ + b_l of each document's labels, (documents, K); undefined at PAD."""
        names = in_order(array_of(labels[labels != PAD]))
        place = torch.zeros(self.router.n_labels, dtype=torch.int32)
        place[names] = torch.arange(len(names), dtype=torch.int32)
        rows, biases = self.classifiers(torch.from_numpy(names.astype(np.int64)).to(documents.device))
        shortlist = torch.where(labels == PAD, PAD, place.to(labels.device)[labels.clamp(min=0).long()])
        # F.embedding, not [ ]: the gradient of indexing is not deterministic.
        own = F.embedding(shortlist.clamp(min=0), biases[:, None])[..., 0]
        return shortlist_logits(documents, rows, shortlist) + own

    def export(self) -> Graphed:
        """Export to NumPy for inference; on a CPU, views of the parameters where possible."""
        return Graphed(self.router.export(), self.classifiers.export(), self.belief_weight)


class OneVsAll(nn.Module):
    """One-vs-all classifiers: every label is a candidate of every document."""

    def __init__(self, n_labels: int, classifiers: LearningRows):
        super().__init__()
        self.n_labels, self.classifiers = n_labels, classifiers

    def loss(self, documents: Tensor, positives: Tensor) -> Tensor:
        """Binary cross-entropy, summed over labels, mean over documents."""
        labels = np.arange(self.n_labels)
        rows, biases = self.classifiers(torch.from_numpy(labels).to(documents.device))
        logits, targets = torch.addmm(biases, documents, rows.T), one_hot(positives, labels).float()
        return F.binary_cross_entropy_with_logits(logits, targets, reduction="sum") / len(documents)

    def export(self) -> Clustered:
        """Export to NumPy for inference."""
        return Clustered(self.classifiers.export(), None, 1)


def one_hot(positives: Tensor, candidates: np.ndarray) -> Tensor:
    """(documents, candidates) bool, true labels; `candidates` are sorted and include all true labels."""
    targets = torch.zeros(len(positives), len(candidates), dtype=torch.bool, device=positives.device)
    given = positives != PAD
    places = np.searchsorted(candidates, array_of(positives[given]))
    targets[given.nonzero()[:, 0], torch.from_numpy(places).to(positives.device)] = True
    return targets
