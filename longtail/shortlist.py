"""Candidate labels, proposed by an index and scored by a ranker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longtail.corpus import PAD


@dataclass(frozen=True)
class Shortlist:
    """Candidate labels of each document, with the index's belief in each."""

    labels: np.ndarray  # (documents, width) int32, PAD where a row is shorter
    belief: np.ndarray  # (documents, width) float32 in [0, 1], 0 at PAD

    @classmethod
    def alike(cls, labels: np.ndarray) -> Shortlist:
        """Candidates that are all believed in."""
        return cls(labels, np.ones(labels.shape, np.float32))

    @property
    def mask(self) -> np.ndarray:
        """True where there is a label."""
        return self.labels != PAD
