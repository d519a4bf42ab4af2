"""Score clusters of labels, then the labels inside the best clusters, both from the same document vector.

Jiang et al., AAAI 2021 (LightXML):

    G(e) = σ(W_g e + b_g)                     generator: belief in every cluster
    D(e) = σ(E_l · (W_h e + b_h) + b_l)       discriminator: scores the labels of the best clusters
    score of a label = D · G of its cluster

This module is for inference; learn/clustered.py is for training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from longtail.corpus import Documents
from longtail.encoders.encoder import Encoder, vectors_of
from longtail.index.clusters import Clusters
from longtail.invariants import Array, Number, Unsound, agree
from longtail.rankers.label_rows import NEAR_CLUSTERS, NEIGHBOURS, LabelRows
from longtail.ranking import Ranking
from longtail.reasons import Reasons, nothing_proposed

if TYPE_CHECKING:
    from longtail.features.described import Summary


@dataclass(frozen=True)
class Bottleneck:
    """A low-dimensional projection of a document: W_h e + b_h."""

    weights: Annotated[np.ndarray, Array("outputs dim", np.float32)]
    biases: Annotated[np.ndarray, Array("outputs", np.float32)]

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """Projected vectors, (documents, outputs)."""
        agree("document vectors and the bottleneck", vectors.shape[1], self.weights.shape[1])
        return vectors @ self.weights.T + self.biases


@dataclass(frozen=True)
class Discriminator:
    """D: label rows on the projected document, in cluster order."""

    bottleneck: Bottleneck  # W_h, b_h
    labels: LabelRows  # E and b_l

    def check(self) -> None:
        """Raise Unsound unless bottleneck and label rows fit, and the rows are in cluster order."""
        agree("outputs of the bottleneck and label rows", len(self.bottleneck.weights), self.labels.dim)
        if self.labels.clusters is None:
            raise Unsound("label rows in no order of clusters")

    def narrow(self, texts: Summary) -> Summary:
        """The same summary after the linear bottleneck."""
        means, known, nothing = map(self.bottleneck, (texts.means, texts.known, texts.nothing[None]))
        return replace(texts, means=means, known=known, nothing=nothing[0])


@dataclass(frozen=True)
class Clustered:
    """G over clusters, and D over the labels inside; without D, every cluster is a single label."""

    generator: LabelRows
    discriminator: Discriminator | None
    beam: Annotated[int, Number(1)]  # clusters opened per document

    def check(self) -> None:
        """Raise Unsound unless every cluster has a row."""
        if self.discriminator is not None and self.discriminator.labels.clusters is not None:
            agree("clusters and their rows", len(self.discriminator.labels.clusters), len(self.generator))

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.generator if self.discriminator is None else self.discriminator.labels)

    def rank(self, vectors: np.ndarray, k: int, again: np.ndarray | None = None) -> Ranking:
        """The k best labels of document vectors (documents, dim); `again` are separate vectors for D, if any."""
        if self.discriminator is None:
            best = self.generator.top(vectors, k)
            return Ranking(best.labels, best.belief)
        narrow = self.discriminator.bottleneck(vectors if again is None else again)
        return self.discriminator.labels.top_inside(narrow, self.generator.top(vectors, self.beam), k)

    def reasons(
        self, encoder: Encoder, documents: Documents, labels: np.ndarray, again: Encoder | None = None
    ) -> Reasons:
        """What the words of one document add to each label's logit, and its cluster where it was opened.

        The bottleneck is linear, so the row of a label on e is W_hᵀ E_l, and its bias ⟨E_l, b_h⟩ + b_l.
        """
        if self.discriminator is None:
            rows, biases = self.generator.of(labels)
            return nothing_proposed(encoder.explained(documents, rows)[1].with_bias(biases))
        narrow, bottleneck = self.discriminator.labels, self.discriminator.bottleneck
        rows, biases = narrow.of(labels)
        vectors, words = (again or encoder).explained(documents, rows @ bottleneck.weights)
        opened = self.generator.top(vectors if again is None else vectors_of(encoder, documents), self.beam)
        assert narrow.clusters is not None
        return Reasons(words.with_bias(biases + rows @ bottleneck.biases), narrow.clusters.proposals(opened, labels))

    def with_labels(self, texts: Summary, again: Summary | None = None) -> Clustered:
        """With new labels, each in the cluster that is believed in most for its texts; `again` are D's own vectors."""
        if self.discriminator is None:
            near = self.generator.top_for_many(texts.means, min(NEIGHBOURS, self.n_labels))
            return replace(self, generator=self.generator.with_unseen(texts, near))
        labels, seen = self.discriminator.labels, self.discriminator.narrow(texts if again is None else again)
        opened = self.generator.top_for_many(texts.means, min(NEAR_CLUSTERS, len(self.generator)))
        return replace(self, discriminator=replace(self.discriminator, labels=labels.with_unseen_inside(seen, opened)))

    def without_labels(self, labels: np.ndarray) -> Clustered:
        """With labels that score 0."""
        if self.discriminator is None:
            return replace(self, generator=self.generator.silenced(labels))
        silenced = self.discriminator.labels.silenced(labels)
        return replace(self, discriminator=replace(self.discriminator, labels=silenced))


def each_its_own(n_labels: int) -> Clusters:
    """Clusters of one label each, for label sets small enough to score all labels."""
    return Clusters(np.arange(n_labels, dtype=np.int32), np.arange(n_labels + 1, dtype=np.int64))
