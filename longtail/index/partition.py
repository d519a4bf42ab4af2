"""Disjoint clusters of labels: each label has one, and a document opens the few with the highest scores."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.index.clusters import Clusters
from longtail.sparse import sp


def cluster_targets(labels: sp.csr_array, clusters: Clusters) -> sp.csr_array:
    """Which clusters hold a label of each document, (documents, clusters) 0/1."""
    entries = np.ones(labels.nnz, np.float32), clusters.of_label[labels.indices], labels.indptr.copy()
    targets = sp.csr_array(entries, shape=(labels.shape[0], len(clusters)))
    targets.sum_duplicates()
    targets.data[:] = 1
    return targets


def in_cluster_order(labels: sp.csr_array, clusters: Clusters) -> sp.csr_array:
    """The label matrix with columns in cluster order."""
    place = np.empty(len(clusters.labels), np.int32)
    place[clusters.labels] = np.arange(len(place), dtype=np.int32)
    # Copies: the labels of a loaded corpus are mapped read-only and cannot be sorted in place.
    entries = np.array(labels.data), place[labels.indices], np.array(labels.indptr)
    moved = sp.csr_array(entries, shape=labels.shape)
    moved.sort_indices()
    return moved


def members_of(cluster_starts: np.ndarray, opened: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row starts and labels, in cluster order, of the clusters in each row of `opened`."""
    first, last = cluster_starts[opened], cluster_starts[opened + 1]
    lengths = (last - first).ravel()
    ends = np.cumsum(lengths)
    members = np.arange(ends[-1]) + np.repeat(first.ravel() - (ends - lengths), lengths)
    return np.append(0, ends[opened.shape[1] - 1 :: opened.shape[1]]), members


def recall_at(opened: np.ndarray, labels: sp.csr_array, clusters: Clusters) -> np.ndarray:
    """r: the share of all true labels in the first 1, 2, … opened clusters: (beam,).

    `opened` (documents, beam) are clusters, best first.
    """
    n_documents, beam = opened.shape
    documents = np.arange(n_documents, dtype=np.int64)
    proposed = np.where(opened == PAD, PAD, documents[:, None] * len(clusters) + opened).ravel()
    wanted = np.repeat(documents, np.diff(labels.indptr)) * len(clusters) + clusters.of_label[labels.indices]
    order = np.argsort(proposed)
    at = order[np.searchsorted(proposed, wanted, sorter=order).clip(max=len(order) - 1)]
    ranks = (at % beam)[proposed[at] == wanted]
    return np.cumsum(np.bincount(ranks, minlength=beam)) / max(labels.nnz, 1)
