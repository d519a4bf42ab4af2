"""Combine the scores of label classifiers with the beliefs of the index that proposed the labels.

Mishra et al., IJCNN 2023 (LightDXML), section IV-F:

    ŷ_l = β·σ(⟨w_l, x̂⟩ + b_l) + (1 − β)·belief_l
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.invariants import Number
from longtail.kernels.fusion import fused_top
from longtail.rankers.label_rows import LabelRows
from longtail.ranking import Ranking
from longtail.shortlist import Shortlist


@dataclass(frozen=True)
class Fusion:
    """One classifier per label, and β: 1 uses the classifiers alone, 0 the index alone."""

    labels: LabelRows
    beta: Annotated[float, Number(0, 1)]

    def rank(self, documents: np.ndarray, shortlist: Shortlist, k: int) -> Ranking:
        """The k best labels of each shortlist, given document vectors (documents, dim)."""
        table = self.labels.table_for(documents)
        return Ranking(*fused_top(table, documents, shortlist.labels, shortlist.belief, self.beta, k))
