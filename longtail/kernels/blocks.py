"""A residual block on one vector at a time, so that a text is read the same alone and in a batch."""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.label_rows import product
from longtail.kernels.threads import in_threads


def through_block(sums: np.ndarray, residual: np.ndarray, offset: np.ndarray, identity: np.ndarray) -> np.ndarray:
    """identity ⊙ sum + residual · ReLU(sum) + offset, (texts, dim) float32."""
    check_shape(residual, (len(offset), sums.shape[1]), "weights of the block")
    check_shape(identity, offset.shape, "gates of the block")
    check_shape(sums, (len(sums), len(offset)), "vectors that enter the block")
    vectors = np.empty_like(sums)
    in_threads(lambda start, stop: _through_block(sums, residual, offset, identity, start, stop, vectors), len(sums))
    return vectors


@compiled
def _through_block(sums, residual, offset, identity, start, stop, vectors):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for text in range(start, stop):
        positive = np.maximum(sums[text], np.float32(0))
        for d in range(len(positive)):
            vectors[text, d] = identity[d] * sums[text, d] + product(residual[d], positive) + offset[d]
