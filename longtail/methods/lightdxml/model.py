"""What answers of LightDXML: nearest labels, and a classifier for each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from longtail.corpus import Documents
from longtail.encoders.encoder import Encoder, vectors_of
from longtail.features.described import Described
from longtail.index.nearest import Nearest
from longtail.invariants import Number, agree, check_indices
from longtail.rankers.fusion import Fusion
from longtail.rankers.unseen import NEIGHBOURS, unseen_rows
from longtail.ranking import Ranking
from longtail.reasons import Reasons

NEAREST = 8 * NEIGHBOURS  # labels among which the neighbours of a new one are looked for


@dataclass(frozen=True)
class LightDXML:
    """Nearest labels, and a classifier for each of them."""

    encoder: Encoder
    nearest: Nearest
    fusion: Fusion
    shortlist: Annotated[int, Number(1)]

    def check(self) -> None:
        """Rows are of one length, and the index finds labels that have classifiers."""
        agree("lengths of vectors", self.nearest.directions.dim, self.fusion.labels.dim)
        check_indices("nearest.labels", self.nearest.labels, self.n_labels, pad=True)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.fusion.labels)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document's shortlist."""
        vectors = vectors_of(self.encoder, documents)
        return self.fusion.rank(vectors, self.nearest.find(vectors, self.shortlist), k)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What the words of one document add to ⟨w_l, x̂⟩ + b_l, and how near each label is, where it was proposed."""
        rows, biases = self.fusion.labels.of(labels)
        vectors, words = self.encoder.explained(documents, rows)
        return Reasons(words.with_bias(biases), self.nearest.proposals(vectors, self.shortlist, labels))

    def with_labels(self, new: Described) -> LightDXML:
        """With new labels, found near the mean of their texts."""
        texts = new.summary(vectors_of(self.encoder, new.with_known))
        near = self.fusion.rank(texts.means, self.nearest.find(texts.means, NEAREST), NEIGHBOURS).labels
        rows = self.fusion.labels.append(*unseen_rows(self.fusion.labels, texts, near))
        nearest = self.nearest.with_labels(self.n_labels, texts.means)
        return replace(self, nearest=nearest, fusion=replace(self.fusion, labels=rows))

    def without_labels(self, labels: np.ndarray) -> LightDXML:
        """With labels that are not found."""
        fusion = replace(self.fusion, labels=self.fusion.labels.silenced(labels))
        return replace(self, nearest=self.nearest.without_labels(labels), fusion=fusion)
