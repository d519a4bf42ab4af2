"""Assignment of label texts to the rows of labels or clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longtail.features.bags import of_unit_length
from longtail.sparse import sp


@dataclass(frozen=True)
class TextRows:
    """Rows computed from label texts: row i from the texts of labels[starts[i] : starts[i + 1]]."""

    labels: np.ndarray
    starts: np.ndarray

    @classmethod
    def one_each(cls, labels: np.ndarray) -> TextRows:
        """One row per label, in this order."""
        return cls(labels, np.arange(len(labels) + 1))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def are_single(self) -> bool:
        """Whether every row has exactly one label."""
        return len(self) == len(self.labels) and bool((np.diff(self.starts) == 1).all())

    def summed(self, texts: sp.csr_array) -> sp.csr_array:
        """Bags of the rows: sums over their labels, normalised to length 1."""
        return (
            texts[self.labels]
            if self.are_single
            else of_unit_length(sp.csr_array(self._members(texts.shape[0]) @ texts))
        )

    def averaged(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors of the rows: means over their labels."""
        if self.are_single:
            return np.asarray(vectors[self.labels], np.float32)
        counts = np.maximum(np.diff(self.starts), 1).astype(np.float32)
        return np.asarray(self._members(len(vectors)) @ vectors, np.float32) / counts[:, None]

    def _members(self, n_labels: int) -> sp.csr_array:
        entries = np.ones(len(self.labels), np.float32), self.labels, self.starts
        return sp.csr_array(entries, shape=(len(self), n_labels))
