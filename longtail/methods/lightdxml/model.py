"""What answers of LightDXML: nearest labels, and a classifier for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.corpus import Documents
from longtail.encoders.encoder import Encoder, vectors_of
from longtail.index.nearest import Nearest
from longtail.invariants import Number, agree, check_indices
from longtail.rankers.fusion import Fusion
from longtail.ranking import Ranking
from longtail.reasons import Reasons


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
        check_indices("nearest.labels", self.nearest.labels, self.n_labels)

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
