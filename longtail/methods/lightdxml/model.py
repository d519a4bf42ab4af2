"""What answers of LightDXML: nearest labels, and a classifier for each of them.  NumPy and numba alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.corpus import Documents
from longtail.features.reading import Reader
from longtail.index.nearest import Nearest
from longtail.invariants import Array, Number, agree, check_indices
from longtail.kernels.bag import bag_sums
from longtail.kernels.blocks import through_block
from longtail.kernels.csr import Rows
from longtail.rankers.fusion import Fusion
from longtail.ranking import Ranking


@dataclass(frozen=True)
class Encoder:
    """x̂ = h + ReLU(R h + r),  h = ReLU(E x): a document's bag, and what a layer of norm at most 1 adds to it."""

    vectors: Annotated[np.ndarray, Array("tokens dim", np.float32)]  # E
    residual: Annotated[np.ndarray, Array("dim dim", np.float32)]  # R
    offset: Annotated[np.ndarray, Array("dim", np.float32)]  # r

    def documents(self, bags: Rows) -> np.ndarray:
        """(documents, dim) float32, nothing below zero."""
        positive = np.maximum(bag_sums(bags, self.vectors), 0)
        return positive + np.maximum(through_block(positive, self.residual, self.offset, np.zeros_like(self.offset)), 0)


@dataclass(frozen=True)
class LightDXML:
    """Nearest labels, and a classifier for each of them."""

    reader: Reader
    encoder: Encoder
    nearest: Nearest
    fusion: Fusion
    shortlist: Annotated[int, Number(1)]

    def check(self) -> None:
        """All vectors are of one length, every token has one, and the index finds labels that have classifiers."""
        agree("tokens and their vectors", self.reader.n_tokens, len(self.encoder.vectors))
        agree("lengths of vectors", self.encoder.vectors.shape[1], self.nearest.directions.dim, self.fusion.labels.dim)
        check_indices("nearest.labels", self.nearest.labels, self.n_labels)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.fusion.labels)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document's shortlist."""
        x = self.encoder.documents(self.reader.rows(documents))
        return self.fusion.rank(x, self.nearest.find(x, self.shortlist), k)
