"""The stages of DECAF between its trainings: clusters and shortlists.  No torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from longtail.index.clusters import Clusters, balanced_clusters
from longtail.index.partition import recall_at
from longtail.kernels.bag import bag_sums
from longtail.kernels.csr import rows_of
from longtail.methods.decaf.model import Scorer
from longtail.methods.shared.preparation import cluster_labels


@dataclass(frozen=True)
class Data:
    """What every module learns from."""

    documents: sp.csr_array  # x: (documents, tokens)
    labels: sp.csr_array  # y: (documents, labels)
    label_texts: sp.csr_array  # z: (labels, tokens)


def cluster_by_words(data: Data, labels_per_cluster: int, seed: int) -> Clusters:
    """c_l = Σ x_i over the documents of label l; labels without documents lie where their texts put them."""
    return cluster_labels(data.documents, data.labels, data.label_texts, labels_per_cluster, seed)


def cluster_by_vectors(data: Data, vectors: np.ndarray, labels_per_cluster: int, seed: int) -> Clusters:
    """c_l = Σ E x_i: the same in the space that module I learned."""
    points = data.labels.T @ bag_sums(rows_of(data.documents), vectors)
    unseen = np.flatnonzero(np.bincount(data.labels.indices, minlength=len(points)) == 0)
    points[unseen] = bag_sums(rows_of(data.label_texts[unseen]), vectors)
    return balanced_clusters(points, labels_per_cluster, seed)


def shortlists(data: Data, clusters: Clusters, shortlister: Scorer, recall: float) -> np.ndarray:
    """The clusters opened for every training document: as few as hold the share `recall` of labels, for 1 the most."""
    documents, most = shortlister.encoder.documents(rows_of(data.documents)), min(MOST_CLUSTERS, len(clusters))
    find = shortlister.rows.top_for_many
    if recall == 1:
        return find(documents, most)
    sample = np.random.default_rng(0).permutation(len(documents))[:RECALL_SAMPLE]
    held = recall_at(find(documents[sample], most), data.labels[sample], clusters)
    return find(documents, min(int(np.searchsorted(held, recall)) + 1, most))


MOST_CLUSTERS = 200  # opened for a document at most, however much recall is asked for (released configs: 100 to 200)
RECALL_SAMPLE = 20_000  # documents that tell a recall to a third of a percent
