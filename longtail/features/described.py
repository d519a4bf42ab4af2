"""Labels that a trained model does not have yet, and the texts that describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Documents
from longtail.data.new_labels import NewLabel
from longtail.features.bags import of_unit_length


@dataclass(frozen=True)
class Described:
    """Texts of new labels, read as documents: of every label its own words, then its examples."""

    labels: Sequence[NewLabel]
    documents: Documents
    counts: np.ndarray  # (labels,) how many of the documents are about each label

    @classmethod
    def of(cls, labels: Sequence[NewLabel]) -> Described:
        """All texts of these labels, one label after the other."""
        texts = [label.texts() for label in labels]
        counts = np.array([len(each) for each in texts], np.int64)
        return cls(labels, Documents.of(text for each in texts for text in each), counts)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def examples(self) -> np.ndarray:
        """Examples of each new label, (labels,)."""
        return self.counts - 1

    def mean(self, vectors: np.ndarray) -> np.ndarray:
        """The mean vector of each label's texts, (labels, dim) float32, of the vectors of all (documents, dim)."""
        return np.asarray(self._members() @ vectors / self.counts[:, None], np.float32)

    def directions(self, rows: sp.csr_array) -> sp.csr_array:
        """The sum of each label's rows, of length 1, (labels, features); a label without known words has none."""
        return of_unit_length(sp.csr_array(self._members() @ rows))

    def _members(self) -> sp.csr_array:
        places = np.arange(len(self.documents))
        entries = np.ones(len(places), np.float32), places, np.append(0, np.cumsum(self.counts))
        return sp.csr_array(entries, shape=(len(self), len(places)))
