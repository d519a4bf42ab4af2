"""Training of generator and discriminator in torch (formulas in ../clustered.py)."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.encoders.learn.exchange import columns_of_all, drawn_rows
from longtail.index.clusters import Clusters
from longtail.index.partition import members_of
from longtail.rankers.clustered import Bottleneck, Clustered, Discriminator
from longtail.rankers.label_start import LabelStart
from longtail.rankers.learn.candidates import Candidates, apart, shortlist_loss
from longtail.rankers.learn.label_rows import START_BIAS, LearningRows, array_of, rows_of_layer
from longtail.rankers.learn.wide import Wide
from longtail.ranks import here


class Heads(nn.Module):
    """G, followed by D if clusters hold more than one label; each rank has its `own` clusters and labels."""

    cluster_of: Tensor  # (labels,)

    def __init__(self, dim: int, clusters: Clusters, beam: int, discriminator: LearningDiscriminator | None):
        super().__init__()
        self.clusters, self.beam, self.discriminator = clusters, min(beam, len(clusters)), discriminator
        self.generator, self.own = Wide(dim, len(clusters)), here().part(len(clusters))
        nn.init.constant_(self.generator.bias, START_BIAS)
        self.register_buffer("cluster_of", torch.from_numpy(clusters.of_label.astype(np.int64)), persistent=False)

    def expect(self, labels: sp.csr_array) -> None:
        """Initialise cluster biases to their log-odds in these labels.

        With one initial bias for all, unlearning thousands of rare clusters dominates the loss at first.
        """
        member = sp.csr_array((np.ones(labels.shape[1]), (np.arange(labels.shape[1]), self.clusters.of_label)))
        share = (((labels @ member) > 0).sum(axis=0) + 0.5) / (labels.shape[0] + 1)
        with torch.no_grad():
            self.generator.bias.copy_(torch.from_numpy(np.log(share / (1 - share))[self.own]))

    def start(self, rows: LabelStart) -> None:
        """Initialise rows of labels and clusters that have texts (see label_start.py); others stay random."""
        put(self.generator.weight, rows.clusters[self.own])
        if self.discriminator is not None:
            put(self.discriminator.labels.tables[0], rows.labels[self.discriminator.labels.own])

    def loss(self, documents: Tensor, positives: Tensor) -> Tensor:
        """(6): L = L_g + L_d of document vectors (documents, dim) and true labels (documents, most), PAD-padded."""
        logits = columns_of_all(self.generator(documents).float(), len(self.clusters))
        recall = F.binary_cross_entropy_with_logits(logits, self.targets(logits, positives), reduction="sum")  # (1)
        recall = recall / len(logits)
        if self.discriminator is None:
            return recall
        # Detached: the generator learns from L_g alone, and its current mistakes become the discriminator's negatives.
        return recall + self.discriminator.loss(documents, self.opened(logits.detach()), positives)

    def opened(self, logits: Tensor) -> Tensor:
        """(2): the clusters with the highest scores, (documents, beam)."""
        return logits.topk(self.beam).indices

    def targets(self, logits: Tensor, positives: Tensor) -> Tensor:
        """y_g: 1 where a cluster holds a true label, (documents, clusters)."""
        clusters = torch.where(positives == PAD, PAD, self.cluster_of[positives.clamp(min=0)])
        given, targets = clusters != PAD, torch.zeros_like(logits)
        targets[given.nonzero()[:, 0], clusters[given]] = 1
        return targets

    def export(self) -> Clustered:
        """Export to NumPy for inference; on a CPU, views of the parameters."""
        discriminator = None if self.discriminator is None else self.discriminator.export()
        return Clustered(rows_of_layer(self.generator), discriminator, self.beam)


class LearningDiscriminator(nn.Module):
    """D: a bottleneck, and a vector and a bias for every label, in cluster order."""

    def __init__(self, dim: int, label_dim: int, clusters: Clusters):
        super().__init__()
        self.bottleneck = nn.Linear(dim, label_dim)
        n_labels = len(clusters.labels)
        bound = math.sqrt(6 / (n_labels + label_dim))  # Glorot and Bengio 2010
        self.labels = LearningRows(n_labels, drawn_rows(n_labels, label_dim, bound))
        self.clusters, self.place = clusters, np.argsort(clusters.labels)

    def loss(self, documents: Tensor, opened: Tensor, positives: Tensor) -> Tensor:
        """(5): binary cross-entropy over the labels of the opened clusters and all true labels."""
        met = self.candidates(opened.cpu().numpy(), positives.cpu().numpy())
        labels, shortlist, targets = (
            torch.from_numpy(part).to(documents.device) for part in (met.labels, met.shortlist, met.targets)
        )
        rows, biases = self.labels(labels)  # (3)
        return shortlist_loss(self.bottleneck(documents).float(), rows, biases, shortlist, targets)  # (4)

    def candidates(self, opened: np.ndarray, positives: np.ndarray) -> Candidates:
        """S_g with all true labels added; labels are numbered in cluster order."""
        places = np.where(positives == PAD, PAD, self.place[positives])
        given = places != PAD
        counts = np.append(0, np.cumsum(given.sum(axis=1)))
        entries = np.ones(counts[-1], np.float32), places[given], counts
        true = sp.csr_array(entries, shape=(len(positives), len(self.place)))
        return apart(true, *members_of(self.clusters.starts, opened), with_true=True)

    def export(self) -> Discriminator:
        """Export to NumPy for inference; on a CPU, views of the parameters."""
        bottleneck = Bottleneck(array_of(self.bottleneck.weight), array_of(self.bottleneck.bias))
        return Discriminator(bottleneck, self.labels.export(clusters=self.clusters))


def put(table: Tensor, rows: np.ndarray) -> None:
    """Copy the nonzero rows into a table."""
    given = torch.from_numpy(np.array(rows)).to(table.device)
    with torch.no_grad():
        table.copy_(torch.where(given.any(dim=1, keepdim=True), given, table))
