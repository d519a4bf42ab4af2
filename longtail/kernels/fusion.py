"""A shortlist scored by its labels' classifiers and by the index that proposed them, in one pass."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check_names, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.label_rows import sigmoid
from longtail.kernels.products import product, sides
from longtail.kernels.threads import in_threads
from longtail.kernels.top import keep_best


def fused_top(
    documents: np.ndarray, rows: np.ndarray, biases: np.ndarray, labels: np.ndarray, beliefs: np.ndarray,
    beta: float, k: int, threads: int | None = None, scales: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The k labels of each shortlist with the largest β·σ(⟨document, row⟩ + bias) + (1 − β)·belief.

    Labels and scores, (documents, k) each.
    """
    check_shape(rows, (len(biases), documents.shape[1]), "label rows")
    check_shape(labels, (len(documents), labels.shape[1]), "shortlists")
    check_shape(beliefs, labels.shape, "beliefs in shortlists")
    check_names(labels, len(rows), "shortlisted labels")
    queries, table = sides(documents, rows, scales, "label rows")
    best = np.full((len(documents), k), PAD, np.int32), np.zeros((len(documents), k), np.float32)
    share = np.float32(beta)

    def part(start: int, stop: int) -> None:
        _fused_top(queries, table, biases, labels, beliefs, share, start, stop, *best)

    in_threads(part, len(documents), threads)
    return best


@compiled
def _fused_top(queries, table, biases, labels, beliefs, beta, start, stop, best_labels, best_scores):
    found, scores = np.empty(labels.shape[1], np.int32), np.empty(labels.shape[1], np.float32)
    for document in range(start, stop):
        count = 0
        for at in range(labels.shape[1]):
            label = labels[document, at]
            if label != PAD:
                believed = sigmoid(product(queries, document, table, label) + biases[label])
                found[count] = label
                scores[count] = beta * believed + (np.float32(1) - beta) * beliefs[document, at]
                count += 1
        keep_best(found[:count], scores[:count], best_labels[document], best_scores[document])
