"""Two levels of rows: for many rows, a document is compared with the rows of some clusters of them alone.

    exact:  k best of n rows                               n products a document
    coarse: probes best of c coarse rows, k best inside    c + probes · n / c products a document

A cluster's coarse row predicts the largest logit inside the cluster: ridge regression on document vectors of a sample.
The mean of its rows, which is what such indexes usually keep, needs more probes for the same recall
(`python -m benchmarks.clusters`).  predict/export.py chooses how many clusters are opened.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from longtail.index.balanced import balanced_clusters
from longtail.index.clusters import Clusters
from longtail.precision import as_floats, stored_as
from longtail.rankers.label_rows import Coarse, LabelRows

FROM = 4096  # rows; fewer are compared in less time than a second level takes
WORTH = 1 / 3  # of all rows: where more must be compared for the recall, two levels do not pay
USUAL = 32  # probes: the sizes of clusters are best for so many
RIDGE = 1e-3  # of the mean square of a vector's number


def coarsened(rows: LabelRows, vectors: np.ndarray) -> LabelRows:
    """The rows in two levels, with coarse rows fitted to documents with these vectors (documents, dim); 1 probe."""
    clusters = balanced_clusters(as_floats(rows.rows, rows.scales), rows_a_cluster(len(rows)), seed=0)
    ordered = _in_order(rows, clusters)
    return replace(ordered, clusters=clusters, coarse=_fitted(ordered, clusters, vectors))


def rows_a_cluster(n_rows: int) -> int:
    """The cluster count c that minimises c + USUAL · n / c.

    >>> rows_a_cluster(32_768)
    32
    """
    return max(1, math.isqrt(n_rows // USUAL))


def ladder(rows: LabelRows) -> list[int]:
    """Numbers of probes to choose from, each about an eighth more than the one before, up to where it does not pay."""
    assert rows.clusters is not None
    n_clusters, probes, steps = len(rows.clusters), 1, []
    while compared(rows, probes) <= WORTH * len(rows) and probes <= n_clusters:
        steps.append(probes)
        probes += max(1, probes // 8)
    return steps


def compared(rows: LabelRows, probes: int) -> float:
    """How many rows of both levels a document is compared with, on average."""
    assert rows.clusters is not None
    return len(rows.clusters) + probes * len(rows) / len(rows.clusters)


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
