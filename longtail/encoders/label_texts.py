"""Assignment of label texts to the rows of labels or clusters, and rows that point in a text's direction.

    row_l = s · x_l / (|x_l| · r)       x_l = e_l − mean of all e,  r² = mean of all |x|²

e_l is the vector of a label's text.  With a document of length r, a row scores s · cosine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longtail.features.bags import of_unit_length
from longtail.sparse import sp

SURE = 5.0  # s: logit of a document with the same vector as the label's text


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

    def part(self, which: slice) -> TextRows:
        """Some of the rows."""
        starts = self.starts[which.start : which.stop + 1]
        return TextRows(self.labels[starts[0] : starts[-1]], starts - starts[0])

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


def pointing(rows: np.ndarray, length: float) -> np.ndarray:
    """Rows rescaled so that their product with a vector of `length` is s · cosine; zero rows stay zero."""
    own = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(SURE * rows, own * length, out=np.zeros_like(rows), where=own * length > 1e-6)


def row_directions(rows: TextRows, vectors: np.ndarray) -> np.ndarray:
    """Rows that point to the mean of their label texts, seen from the mean of all of them; `vectors` are e."""
    centred = vectors - vectors.mean(axis=0)
    length = float(np.sqrt(np.square(centred).sum(axis=1).mean()))
    return pointing(rows.averaged(centred), length)
