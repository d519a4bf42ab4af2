"""The labels whose vectors point most nearly where a document's does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longtail.kernels.label_rows import likeliest


@dataclass(frozen=True)
class Nearest:
    """Label vectors of length 1 (or 0, for labels nobody knows)."""

    vectors: np.ndarray  # (labels, dim) float32

    def find(self, documents: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k labels with the largest cosine and σ(cosine), (documents, k) each, given any document vectors."""
        zeros = np.zeros(len(self.vectors), np.float32)
        return likeliest(unit(documents), self.vectors, zeros, min(k, len(self.vectors)))


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows divided by their Euclidean length; zeros stay."""
    # Summed row by row, so that a document has one length alone and in a batch.
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
