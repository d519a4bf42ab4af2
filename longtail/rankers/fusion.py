"""Two opinions about a shortlist as one: how far each label's classifier agrees with the index that proposed it.

Mishra et al., IJCNN 2023 (LightDXML), section IV-F:

    ŷ_l = β·σ(⟨w_l, x̂⟩ + b_l) + (1 − β)·belief_l
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from longtail.kernels.fusion import fused_top
from longtail.ranking import Ranking
from longtail.shortlist import Shortlist


@dataclass(frozen=True)
class Fusion:
    """A row and a bias a label, weighed β against the belief of the index: 1 trusts the classifier alone, 0 the index."""

    rows: np.ndarray  # (labels, dim) float32
    biases: np.ndarray  # (labels,) float32
    beta: float

    def rank(self, documents: np.ndarray, shortlist: Shortlist, k: int) -> Ranking:
        """The k best labels of each shortlist, given document vectors (documents, dim)."""
        return Ranking(*fused_top(documents, self.rows, self.biases, shortlist.labels, shortlist.belief, self.beta, k))


def best_beta(score: Callable[[float], float], grid: Iterable[float]) -> float:
    """The β with the best score on validation; of equal ones the first."""
    return max(grid, key=score)
