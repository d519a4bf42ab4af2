"""Short texts to vectors without a transformer: token vectors added up, then one residual block.

Mittal et al., WSDM 2021 (DECAF), section 3, "Document and label-text embedding":

    r̂⁰   = E r                                       bag: the weighed token vectors of a text, added up
    ℰ(r) = σ(α) ⊙ r̂⁰ + σ(β) ⊙ (R · ReLU(r̂⁰))         block: α = β = 0 and R = identity at first
    x̂    = ReLU(ℰ_D(x))                              of documents; label texts go without the last ReLU

Here is what reads texts with weights that no longer learn; block.py is what learns them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longtail.kernels.bag import bag_sums
from longtail.kernels.blocks import through_block
from longtail.kernels.csr import Rows


@dataclass(frozen=True)
class BagEncoder:
    """Token vectors and a block that no longer learn: all it takes to read a text."""

    vectors: np.ndarray  # (tokens, dim) float32
    residual: np.ndarray  # (dim, dim) float32: σ(β) and the spectral norm are already in it
    offset: np.ndarray  # (dim,) float32
    identity: np.ndarray  # (dim,) float32: σ(α)

    def sums(self, bags: Rows) -> np.ndarray:
        """E r of every bag, before the block."""
        return bag_sums(bags, self.vectors)

    def labels(self, bags: Rows) -> np.ndarray:
        """ẑ¹ = ℰ_L(z) of label texts, (texts, dim) float32."""
        return through_block(self.sums(bags), self.residual, self.offset, self.identity)

    def documents(self, bags: Rows) -> np.ndarray:
        """x̂ = ReLU(ℰ_D(x)) of documents, (documents, dim) float32."""
        return np.maximum(self.labels(bags), 0)
