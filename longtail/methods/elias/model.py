"""What answers of ELIAS: an encoder, and on its vectors a graph that leads to labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from longtail.corpus import Documents
from longtail.encoders.encoder import Encoder, unit_explained, vectors_of
from longtail.invariants import Unsound
from longtail.rankers.clustered import Clustered
from longtail.rankers.graphed import Graphed
from longtail.ranking import Ranking
from longtail.reasons import Contributions, Reasons

if TYPE_CHECKING:
    from longtail.features.described import Described


@dataclass(frozen=True)
class Elias:
    """An encoder, and on its vectors a graph that leads to labels, or classifiers of all labels."""

    encoder: Encoder
    graphed: Graphed | None = None
    one_vs_all: Clustered | None = None

    def check(self) -> None:
        """There is one way to rank."""
        if (self.graphed is None) == (self.one_vs_all is None):
            raise Unsound("there must be a graph or classifiers of all labels, and not both")

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return self.graphed.index.n_labels if self.graphed is not None else self.one_vs_all.n_labels  # type: ignore[union-attr]

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""
        if len(documents) == 1:
            [(_, vectors)] = self.batches(documents)
            return self.rank_vectors(vectors, k)
        parts = ((rows, self.rank_vectors(vectors, k)) for rows, vectors in self.batches(documents))
        return Ranking.gathered(parts, len(documents), k)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What the words of one document add to w_l·φ + b_l, and the clusters whose edges lead to each label."""
        if self.graphed is None:
            assert self.one_vs_all is not None
            return self.one_vs_all.reasons(self.encoder, documents, labels)
        rows, biases = self.graphed.labels.of(labels)
        vectors, words = self.encoder.explained(documents, rows)
        return Reasons(words.with_bias(biases), self.graphed.proposals(vectors, labels))

    def vector_explained(self, documents: Documents, rows: np.ndarray) -> Contributions:
        """What the words of one document add to ⟨row, vector⟩ of some rows (rows, dim), its vector of length 1."""
        return unit_explained([self.encoder], documents, rows)

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Vectors of some documents at a time, and which documents they are."""
        return self.encoder.batches(documents)

    def rank_vectors(self, vectors: np.ndarray, k: int) -> Ranking:
        """The same, given document vectors (documents, dim)."""
        if self.graphed is not None:
            return self.graphed.rank(vectors, k)
        assert self.one_vs_all is not None
        return self.one_vs_all.rank(vectors, k)

    def with_labels(self, new: Described) -> Elias:
        """With new labels, whose rows and edges are made of their texts."""
        texts = new.summary(vectors_of(self.encoder, new.with_known))
        graphed = None if self.graphed is None else self.graphed.with_labels(texts)
        one_vs_all = None if self.one_vs_all is None else self.one_vs_all.with_labels(texts)
        return replace(self, graphed=graphed, one_vs_all=one_vs_all)

    def without_labels(self, labels: np.ndarray) -> Elias:
        """With labels that score 0."""
        graphed = None if self.graphed is None else self.graphed.without_labels(labels)
        one_vs_all = None if self.one_vs_all is None else self.one_vs_all.without_labels(labels)
        return replace(self, graphed=graphed, one_vs_all=one_vs_all)
