"""Labels with the largest cosine to a document, sparse vectors."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check_rows
from longtail.kernels.compiled import compiled
from longtail.kernels.threads import in_slices
from longtail.kernels.top import keep_best
from longtail.sparse import Rows


def nearest(
    documents: Rows, by_feature: Rows, n_labels: int, k: int, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k labels with the largest positive cosines and the cosines, (documents, k) each, PAD where there are fewer.

    Row f of `by_feature` holds the labels that feature f has a weight for, and the weights; all vectors have length 1.
    """
    check_rows(documents, len(by_feature[0]) - 1, "features of documents")
    n_documents = len(documents[0]) - 1
    labels, scores = np.full((n_documents, k), PAD, np.int32), np.zeros((n_documents, k), np.float32)

    def part(start: int, stop: int) -> None:
        _nearest(*documents, *by_feature, np.zeros(n_labels, np.float32), start, stop, labels, scores)

    in_slices(part, n_documents, "ranking documents", threads)
    return labels, scores


@compiled
def _nearest(starts, columns, values, label_starts, labels, weights, products, start, stop, best_labels, best_scores):
    """`products` (labels,) is zero between documents."""
    found, positive = np.empty(len(products), np.int32), np.empty(len(products), np.float32)
    for document in range(start, stop):
        for j in range(starts[document], starts[document + 1]):
            for at in range(label_starts[columns[j]], label_starts[columns[j] + 1]):
                products[labels[at]] += values[j] * weights[at]
        n_found = 0
        for label in range(len(products)):
            if products[label] > 0:
                # Rounding must not lift a cosine above 1.
                found[n_found], positive[n_found] = label, min(products[label], np.float32(1))
                n_found += 1
        keep_best(found[:n_found], positive[:n_found], best_labels[document], best_scores[document])
        products[:] = 0
