"""Initial rows of labels and clusters from label texts.

With a pretrained encoder, rows that point in the direction of their label's text rank labels well before training.

    row_l = s · x_l / (|x_l| · r)       x_l = W (e_l − mean of all e),  r² = mean of all |x|²

e_l is the vector of the label's text, W the bottleneck before label rows, or the identity.  With a document of length
r, a row scores s · cosine.  The initial row of a cluster uses the mean of its labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from longtail.encoders.label_texts import pointing
from longtail.index.clusters import Clusters


@dataclass(frozen=True)
class LabelStart:
    """Initial rows; 0 for labels without text."""

    labels: np.ndarray  # (labels, label dim) float32, in cluster order
    clusters: np.ndarray  # (clusters, dim) float32


def start_from_texts(
    batches: Iterable[tuple[np.ndarray, np.ndarray]],
    told: np.ndarray,
    clusters: Clusters,
    bottleneck: np.ndarray | None = None,
) -> LabelStart:
    """Rows from batches of (labels, vectors of their texts); `told` marks labels that have a text.

    Vectors are processed as a stream, so only the rows have to fit into memory.
    """
    place, cluster_of = np.argsort(clusters.labels), clusters.of_label
    labels = sums = None
    squares = 0.0
    for which, vectors in batches:
        which, vectors = which[told[which]], vectors[told[which]]
        seen = vectors if bottleneck is None else vectors @ bottleneck.T
        if labels is None or sums is None:
            labels = np.zeros((len(place), seen.shape[1]), np.float32)
            sums = np.zeros((len(clusters), vectors.shape[1]), np.float32)
        labels[place[which]] = seen
        np.add.at(sums, cluster_of[which], vectors)
        squares += float(np.square(vectors, dtype=np.float64).sum())
    assert labels is not None and sums is not None
    count = max(1, int(told.sum()))
    mean = sums.sum(axis=0) / count
    sums -= np.bincount(cluster_of[told], minlength=len(clusters)).astype(np.float32)[:, None] * mean
    labels[told[clusters.labels]] -= labels.sum(axis=0) / count
    length = math.sqrt(max(squares / count - float(mean @ mean), 0.0))
    return LabelStart(pointing(labels, math.sqrt(np.square(labels).sum() / count)), pointing(sums, length))
