"""Texts as weighted sums of token vectors, and what the tokens learn from them.

A batch touches few tokens, so nothing here costs what the vocabulary does.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from longtail.kernels.csr import Rows
from longtail.kernels.threads import in_threads

# Sums may be taken in any order, which lets them run in vector registers; NaN and infinities keep their meaning.
ANY_ORDER = {"reassoc", "contract", "nsz", "arcp"}


def bag_sums(bags: Rows, vectors: np.ndarray, threads: int | None = None) -> np.ndarray:
    """Each bag's token vectors, weighed and added up: (bags, dim) float32."""
    sums = np.empty((len(bags[0]) - 1, vectors.shape[1]), np.float32)
    in_threads(lambda start, stop: _bag_sums(*bags, vectors, start, stop, sums), len(sums), threads)
    return sums


def bag_gradients(bags: Rows, gradients: np.ndarray, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The tokens in the bags, in order, and the gradient of each, given those of the bags' sums (bags, dim)."""
    starts, tokens, weights = bags
    order = np.argsort(tokens, kind="stable")
    inside = tokens[order]
    first = np.flatnonzero(np.append(True, inside[1:] != inside[:-1])) if len(inside) else np.zeros(0, np.int64)
    bag_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[order]
    by_token = np.append(first, len(inside)), bag_of, weights[order]
    result = np.empty((len(first), gradients.shape[1]), np.float32)
    # A bag's gradient is to its tokens what a token's vector was to the bag: the same sum, turned round.
    in_threads(lambda start, stop: _bag_sums(*by_token, gradients, start, stop, result), len(result), threads)
    return inside[first], result


@njit(nogil=True, cache=True, fastmath=ANY_ORDER)
def _bag_sums(starts, tokens, weights, vectors, start, stop, sums):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for bag in range(start, stop):
        total = sums[bag]
        total[:] = 0
        for at in range(starts[bag], starts[bag + 1]):
            vector, weight = vectors[tokens[at]], weights[at]
            for d in range(len(total)):
                total[d] += weight * vector[d]
