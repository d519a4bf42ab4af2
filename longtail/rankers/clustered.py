"""Recall clusters of labels, then rank the labels inside them, both by the same vector of a document.

Jiang et al., AAAI 2021 (LightXML):

    G(e) = σ(W_g e + b_g)                     generator: belief in every cluster
    D(e) = σ(E_l · (W_h e + b_h) + b_l)       discriminator: every label of the clusters believed in most
    score of a label = D · G of its cluster

Here is what scores with weights that no longer learn; learn/clustered.py is what learns them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.index.clusters import Clusters
from longtail.invariants import Array, Number, agree
from longtail.kernels.label_rows import likeliest, rank_members
from longtail.ranking import Ranking


@dataclass(frozen=True)
class Linear:
    """A row and a bias for every output."""

    rows: Annotated[np.ndarray, Array("outputs dim", np.float32)]
    biases: Annotated[np.ndarray, Array("outputs", np.float32)]


@dataclass(frozen=True)
class LabelVectors:
    """D: a narrow view of the document, and what each label looks for in it."""

    bottleneck: Linear  # W_h, b_h
    labels: Linear  # E and b_l, in the order of the clusters

    def check(self) -> None:
        """The bottleneck is as wide as label vectors are long."""
        agree("outputs of the bottleneck and label vectors", len(self.bottleneck.rows), self.labels.rows.shape[1])

    def documents(self, vectors: np.ndarray) -> np.ndarray:
        """W_h e + b_h, (documents, label dim)."""
        agree("document vectors and the bottleneck", vectors.shape[1], self.bottleneck.rows.shape[1])
        return vectors @ self.bottleneck.rows.T + self.bottleneck.biases


@dataclass(frozen=True)
class Clustered:
    """G over clusters, and D over the labels inside; without D, every cluster is one label."""

    clusters: Clusters
    generator: Linear
    discriminator: LabelVectors | None
    beam: Annotated[int, Number(1)]  # clusters opened for a document

    def check(self) -> None:
        """Every cluster has a row, and so has every label in the clusters."""
        agree("clusters and their rows", len(self.clusters), len(self.generator.rows))
        if self.discriminator is not None:
            agree("labels and their rows", self.n_labels, len(self.discriminator.labels.rows))
        else:
            agree("labels and clusters of one label each", self.n_labels, len(self.clusters))

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.clusters.labels)

    def rank(self, vectors: np.ndarray, k: int, again: np.ndarray | None = None) -> Ranking:
        """The k best labels, given document vectors (documents, dim), and others for D if it has its own."""
        agree("document vectors and rows of clusters", vectors.shape[1], self.generator.rows.shape[1])
        generator = self.generator.rows, self.generator.biases
        if self.discriminator is None:
            return Ranking(*likeliest(vectors, *generator, k))
        opened, belief = likeliest(vectors, *generator, self.beam)
        documents = self.discriminator.documents(vectors if again is None else again)
        labels, runs = self.discriminator.labels, (self.clusters.starts, self.clusters.labels)
        return Ranking(*rank_members(documents, labels.rows, labels.biases, *runs, opened, belief, k))


def each_its_own(n_labels: int) -> Clusters:
    """Clusters of one label each, for label sets small enough to score every label."""
    return Clusters(np.arange(n_labels, dtype=np.int32), np.arange(n_labels + 1, dtype=np.int64))
