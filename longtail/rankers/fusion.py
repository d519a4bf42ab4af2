"""Two opinions about a shortlist as one: how far each label's classifier agrees with the index that proposed it.

Mishra et al., IJCNN 2023 (LightDXML), section IV-F:

    ŷ_l = β·σ(⟨w_l, x̂⟩ + b_l) + (1 − β)·belief_l
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longtail.kernels.fusion import fused_top
from longtail.ranking import Ranking
from longtail.shortlist import Shortlist


@dataclass(frozen=True)
class Fusion:
    """A classifier a label, and β: 1 trusts the classifiers alone, 0 the index alone."""

    rows: np.ndarray  # (labels, dim) float32
    biases: np.ndarray  # (labels,) float32
    beta: float

    def rank(self, documents: np.ndarray, shortlist: Shortlist, k: int) -> Ranking:
        """The k best labels of each shortlist, given document vectors (documents, dim)."""
        return Ranking(*fused_top(documents, self.rows, self.biases, shortlist.labels, shortlist.belief, self.beta, k))
