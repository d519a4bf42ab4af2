"""Label features: the centroid of a label's documents, or its text."""

from __future__ import annotations

import numpy as np

from longtail.corpus import LabelSet
from longtail.features.bags import of_unit_length
from longtail.features.tfidf import Tfidf
from longtail.kernels.threads import in_threads
from longtail.progress import counting
from longtail.sparse import sp


def label_centroids(features: sp.csr_array, labels: sp.csr_array, threads: int | None = None) -> sp.csr_array:
    """(labels, features): each label's documents summed, length 1; a label without documents has an empty row.

    Yᵀ X, rows normalised, for features X (documents, features) and labels Y (documents, labels).
    """
    by_label = sp.csr_array(labels.T, dtype=np.float32)

    def part(start: int, stop: int) -> list[sp.csr_array]:
        found = []
        for at in range(start, stop, SLICE):
            end = min(at + SLICE, stop)
            found.append(of_unit_length(by_label[at:end] @ features))
            done(end - at)
        return found

    with counting(by_label.shape[0], "computing centroids") as done:
        parts = in_threads(part, by_label.shape[0], threads)
    return sp.csr_array(sp.vstack([rows for part in parts for rows in part], format="csr"))


SLICE = 4096  # labels whose documents are summed at a time


def label_text_bags(tfidf: Tfidf, label_set: LabelSet) -> sp.csr_array:
    """(labels, terms): TF-IDF of every label's name and text."""
    return tfidf.transform(label_set.words())


def label_features(centroids: sp.csr_array, bags: sp.csr_array) -> sp.csr_array:
    """Features to cluster labels by: centroids, or label texts where a label has no documents."""
    empty = np.flatnonzero(np.diff(centroids.indptr) == 0)
    chosen = sp.csr_array((np.ones(len(empty), np.float32), (empty, empty)), shape=(bags.shape[0], bags.shape[0]))
    return sp.csr_array(centroids + chosen @ bags)
