"""The trained model of LightXML and of GUDN: an encoder and the two heads on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from longtail.corpus import Documents
from longtail.encoders.encoder import Encoder, unit_explained, vectors_of
from longtail.invariants import agree
from longtail.rankers.clustered import Clustered
from longtail.ranking import Ranking
from longtail.reasons import Contributions, Reasons

if TYPE_CHECKING:
    from longtail.features.described import Described


@dataclass(frozen=True)
class ClusteredEncoder:
    """An encoder and the two heads on it."""

    encoder: Encoder
    heads: Clustered
    again: Encoder | None = None  # the discriminator's own encoder, where it has one

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return self.heads.n_labels

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document by σ(label)·σ(cluster)."""
        parts = ((rows, self.rank_vectors(vectors, k)) for rows, vectors in self.batches(documents))
        return Ranking.gathered(parts, len(documents), k)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What the words of one document add to the logits of D, and the cluster of each label where it was opened."""
        return self.heads.reasons(self.encoder, documents, labels, self.again)

    def vector_explained(self, documents: Documents, rows: np.ndarray) -> Contributions:
        """What the words of one document add to ⟨row, vector⟩ of some rows (rows, dim), its vector of length 1."""
        return unit_explained([self.encoder, *([] if self.again is None else [self.again])], documents, rows)

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Vectors of some documents at a time, of both encoders side by side, and which documents they are."""
        if self.again is None:
            yield from self.encoder.batches(documents)
            return
        for (rows, vectors), (_, others) in zip(self.encoder.batches(documents), self.again.batches(documents)):
            agree("vectors of both encoders", vectors.shape[1], others.shape[1])
            yield rows, np.concatenate([vectors, others], axis=1)

    def rank_vectors(self, vectors: np.ndarray, k: int) -> Ranking:
        """The same, given such vectors."""
        if self.again is None:
            return self.heads.rank(vectors, k)
        one, other = (np.ascontiguousarray(half) for half in np.split(vectors, 2, axis=1))
        return self.heads.rank(one, k, other)

    def with_labels(self, new: Described) -> ClusteredEncoder:
        """With new labels, whose rows are made of their texts."""
        one, *other = (new.summary(vectors_of(each, new.with_known)) for each in (self.encoder, self.again) if each)
        return replace(self, heads=self.heads.with_labels(one, *other))

    def without_labels(self, labels: np.ndarray) -> ClusteredEncoder:
        """With labels that score 0."""
        return replace(self, heads=self.heads.without_labels(labels))
