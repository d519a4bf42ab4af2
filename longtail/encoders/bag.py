"""Short texts to vectors without a transformer: token vectors added up, then one residual block.

Mittal et al., WSDM 2021 (DECAF), section 3, "Document and label-text embedding":

    r̂⁰   = E r                                       bag: the weighed token vectors of a text, added up
    ℰ(r) = σ(α) ⊙ r̂⁰ + σ(β) ⊙ (R · ReLU(r̂⁰))         block: α = β = 0 and R = identity at first
    x̂    = ReLU(ℰ_D(x))                              of documents; label texts go without the last ReLU

Here is what reads texts with weights that no longer learn; block.py is what learns them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.invariants import Array
from longtail.kernels.bag import bag_sums
from longtail.kernels.blocks import through_block
from longtail.kernels.csr import Rows


@dataclass(frozen=True)
class BagEncoder:
    """Token vectors and a block that no longer learn: all it takes to read a text."""

    vectors: Annotated[np.ndarray, Array("tokens dim", np.float32)]
    residual: Annotated[np.ndarray, Array("dim dim", np.float32)]  # σ(β) and the spectral norm are already in it
    offset: Annotated[np.ndarray, Array("dim", np.float32)]
    identity: Annotated[np.ndarray, Array("dim", np.float32)]  # σ(α)

    def sums(self, bags: Rows) -> np.ndarray:
        """E r of every bag, before the block."""
        return bag_sums(bags, self.vectors)

    def labels(self, bags: Rows) -> np.ndarray:
        """ẑ¹ = ℰ_L(z) of label texts, (texts, dim) float32."""
        return through_block(self.sums(bags), self.residual, self.offset, self.identity)

    def documents(self, bags: Rows) -> np.ndarray:
        """x̂ = ReLU(ℰ_D(x)) of documents, (documents, dim) float32."""
        return np.maximum(self.labels(bags), 0)
