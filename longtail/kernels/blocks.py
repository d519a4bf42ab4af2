"""A residual block on one vector at a time, so that a text is read the same alone and in a batch."""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.products import sides, tile_products
from longtail.kernels.threads import in_threads


def through_block(sums: np.ndarray, residual: np.ndarray, offset: np.ndarray, identity: np.ndarray) -> np.ndarray:
    """identity ⊙ sum + residual · ReLU(sum) + offset, (texts, dim) float32."""
    check_shape(residual, (len(offset), sums.shape[1]), "weights of the block")
    check_shape(identity, offset.shape, "gates of the block")
    check_shape(sums, (len(sums), len(offset)), "vectors that enter the block")
    queries, table = sides(np.maximum(sums, 0), residual, None, "weights of the block")
    vectors = np.empty(sums.shape, np.float32)
    in_threads(
        lambda start, stop: _through_block(sums, queries, table, offset, identity, start, stop, vectors), len(sums)
    )
    return vectors


@compiled
def _through_block(sums, queries, table, offset, identity, start, stop, vectors):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_products(queries, first, tile, table, vectors[first : first + tile])
        for text in range(first, first + tile):
            for d in range(len(offset)):
                vectors[text, d] = identity[d] * sums[text, d] + vectors[text, d] + offset[d]


TILE = 16  # texts that go through the block while a row of it is in the cache
