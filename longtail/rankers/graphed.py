"""Labels proposed by a graph of clusters, each judged by its own classifier and by the path that led to it.

Gupta et al., NeurIPS 2022 (ELIAS), section 3.2:

    p_l = σ(w_l · φ + b_l) · ŷ_l        for the K labels with the best paths (index/graph.py has ŷ)

Here is what scores with weights that no longer learn; graphed_heads.py is what learns them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from longtail.index.graph import GraphIndex
from longtail.kernels.label_rows import shortlist_logits
from longtail.rankers.clustered import Linear
from longtail.ranking import Ranking


@dataclass(frozen=True)
class Graphed:
    """A graph that proposes labels, and a classifier for each of them."""

    index: GraphIndex
    labels: Linear  # W_L
    belief_weight: float = 1.0  # score = σ(label) · ŷ^this

    def rank(self, vectors: np.ndarray, k: int) -> Ranking:
        """The k best labels by p_l, given document vectors (documents, dim)."""
        labels, beliefs = self.index.find(vectors)
        logits = shortlist_logits(vectors, self.labels.rows, labels) + self.labels.biases[labels]
        return Ranking.of_candidates(labels, expit(logits) * beliefs**self.belief_weight, k)
