"""Two levels of rows: for many rows, a document is compared with the rows of some clusters of them alone.

    exact:  k best of n rows                               n products a document
    coarse: probes best of c coarse rows, k best inside    c + probes · n / c products a document

A cluster's coarse row predicts the largest logit inside the cluster: ridge regression on document vectors of a sample.
The mean of its rows, which is what such indexes usually keep, needs more probes for the same recall
(`python -m benchmarks.clusters`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from longtail.index.clusters import Clusters, balanced_clusters
from longtail.precision import as_floats, stored_as
from longtail.rankers.label_rows import Coarse, LabelRows

FROM = 16_384  # rows; fewer are compared in less time than a second level takes
ROWS_A_CLUSTER = 32
RECALL = 0.99  # the share of the exact top k that a sample of documents must find
WORTH = 1 / 3  # of all rows: where more must be compared for that, two levels do not pay
RIDGE = 1e-3  # of the mean square of a vector's number


def coarsened(
    rows: LabelRows, vectors: np.ndarray, k: int, recall: float = RECALL, least: int = FROM, worth: float = WORTH
) -> LabelRows:
    """The rows in two levels that find this share of the top k of documents like these, if that pays.

    One half of the vectors (documents, dim) fits the coarse rows, the other half chooses how many clusters are opened.
    """
    if len(rows) < least or len(vectors) < 2 or rows.clusters is not None:
        return rows
    clusters = balanced_clusters(as_floats(rows.rows, rows.scales), ROWS_A_CLUSTER, seed=0)
    ordered = _in_order(rows, clusters)
    coarse = _fitted(ordered, clusters, vectors[::2])
    probes = _probes(rows, clusters, coarse, vectors[1::2], k, recall)
    if len(clusters) + probes * len(rows) / len(clusters) > worth * len(rows):
        return rows
    return replace(ordered, clusters=clusters, coarse=replace(coarse, probes=probes))


def _in_order(rows: LabelRows, clusters: Clusters) -> LabelRows:
    order = clusters.labels
    scales = None if rows.scales is None else rows.scales[order]
    return LabelRows(rows.rows[order], rows.biases[order], scales=scales)


def _fitted(ordered: LabelRows, clusters: Clusters, vectors: np.ndarray) -> Coarse:
    """Coarse rows by ridge regression: what is largest in a cluster, as a linear function of the vector."""
    largest = _largest_inside(ordered, clusters, vectors)
    inputs = np.column_stack([vectors, np.ones(len(vectors))]).astype(np.float64)
    penalty = RIDGE * (inputs[:, :-1] ** 2).sum() / max(vectors.shape[1], 1)
    matrix = inputs.T @ inputs + np.diag([*[penalty] * vectors.shape[1], 1e-9])
    weights = np.linalg.solve(matrix, inputs.T @ largest).T.astype(np.float32)
    numbers, scales = stored_as(ordered.precision, np.ascontiguousarray(weights[:, :-1]))
    return Coarse(numbers, np.ascontiguousarray(weights[:, -1]), 1, scales)


def _largest_inside(ordered: LabelRows, clusters: Clusters, vectors: np.ndarray) -> np.ndarray:
    """The largest logit of each cluster, (documents, clusters); balanced clusters are never empty."""
    rows, found = as_floats(ordered.rows, ordered.scales), []
    for at in range(0, len(vectors), CHUNK):
        logits = vectors[at : at + CHUNK] @ rows.T + ordered.biases
        found.append(np.maximum.reduceat(logits, clusters.starts[:-1], axis=1))
    return np.concatenate(found)


CHUNK = 256  # documents whose logits of all rows are held at once


def _probes(rows: LabelRows, clusters: Clusters, coarse: Coarse, vectors: np.ndarray, k: int, recall: float) -> int:
    """How many clusters must be opened so that this share of the exact top k is inside."""
    exact = rows.top(vectors, min(k, len(rows))).labels
    every = replace(coarse, probes=len(clusters)).opened(vectors)
    place = np.empty_like(every)
    np.put_along_axis(place, every, np.arange(len(clusters), dtype=every.dtype)[None], axis=1)
    needed = np.take_along_axis(place, clusters.of_label[exact], axis=1)
    return math.floor(np.quantile(needed, recall, method="higher")) + 1
