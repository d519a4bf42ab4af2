"""A shortlist scored by its labels' classifiers and by the index that proposed them, in one pass."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check, check_shape
from longtail.kernels.products import picked_products
from longtail.kernels.standalone import standalone
from longtail.kernels.tables import Table, nothing_found, sigmoid
from longtail.kernels.threads import in_threads
from longtail.kernels.top import keep_best


def fused_top(
    table: Table, documents: np.ndarray, labels: np.ndarray, beliefs: np.ndarray, beta: float, k: int,
    threads: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The k labels of each shortlist with the largest β·σ(⟨document, row⟩ + bias) + (1 − β)·belief.

    Labels and scores, (documents, k) each.
    """
    return _best(table, documents, labels, beliefs, float(beta), k, threads)


def weighed_top(
    table: Table, documents: np.ndarray, labels: np.ndarray, beliefs: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k labels of each shortlist with the largest σ(⟨document, row⟩ + bias) · belief, as `fused_top`."""
    return _best(table, documents, labels, beliefs, PRODUCT, k, None)


PRODUCT = -1.0  # in the place of β


def _best(
    table: Table, documents: np.ndarray, labels: np.ndarray, beliefs: np.ndarray, beta: float,
    k: int, threads: int | None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    check_shape(labels, (len(documents), labels.shape[1]), "shortlists")
    check_shape(beliefs, labels.shape, "beliefs in shortlists")
    queries, loop, best = table.queries(documents), table.loop(_fused_top), nothing_found(len(documents), k)
    shortlist = np.ascontiguousarray(labels, np.int32), np.ascontiguousarray(beliefs, np.float32)

    def part(start: int, stop: int) -> None:
        room = np.empty(labels.shape[1], np.int32), np.empty(labels.shape[1], np.float32)
        found = loop(queries, *shortlist, beta, start, stop, *room, *best)
        check(found == 0, "shortlisted labels: one does not exist")

    in_threads(part, len(documents), threads)
    return best


@standalone
def _fused_top(table, biases, queries, labels, beliefs, beta, start, stop, found, scores, best_labels, best_scores):
    """`found` and `scores` are buffers for a shortlist."""
    share = np.float32(beta)
    for document in range(start, stop):
        count = 0
        for at in range(labels.shape[1]):
            label = labels[document, at]
            if label < PAD or label >= len(biases):
                return 1
            if label != PAD:
                found[count] = label
                count += 1
        picked_products(queries, document, table, found, count, scores)
        count = 0
        for at in range(labels.shape[1]):
            if labels[document, at] != PAD:
                believed, belief = sigmoid(scores[count] + biases[found[count]]), beliefs[document, at]
                scores[count] = believed * belief if share < 0 else share * believed + (np.float32(1) - share) * belief
                count += 1
        keep_best(found[:count], scores[:count], best_labels[document], best_scores[document])
    return 0
