"""Preparation of training data for an encoder with cluster heads, and its resource estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from longtail.corpus import Corpus, Documents, LabelSet
from longtail.encoders.cost import expected
from longtail.encoders.encoder import BAG, Encoder
from longtail.features.bags import features_expected
from longtail.features.labels import centroid_bytes, label_text_bags
from longtail.features.tfidf import Tfidf
from longtail.index.clusters import Clusters
from longtail.methods.shared.clustered.settings import ClusteredConfig
from longtail.methods.shared.preparation import (
    cluster_labels,
    held_out,
    reader_of,
    refuse_unlabelled,
    refuse_without_text,
)
from longtail.rankers.clustered import each_its_own
from longtail.rankers.label_start import LabelStart, start_from_texts
from longtail.train.need import Need

if TYPE_CHECKING:
    from longtail.encoders.learn.encoder import Source
    from longtail.train.run import Run


@dataclass(frozen=True)
class Data:
    """Training data of an encoder with cluster heads."""

    source: Source
    clusters: Clusters
    train: Corpus
    valid: Corpus

    @property
    def flat(self) -> bool:
        """Whether every label is its own cluster."""
        return len(self.clusters) == len(self.clusters.labels)


def prepare(corpus: Corpus, config: ClusteredConfig, run: Run) -> Data:
    """Prepare the training data; each part is computed once per run."""
    from longtail.encoders.learn.encoder import source_of

    refuse_unlabelled(corpus)
    if config.label_start == "texts":
        refuse_without_text(corpus)
    train, valid = held_out(corpus, config.valid_documents, config.seed)
    reader = None
    if config.encoder == BAG:
        reader = reader_of(train.documents, train.label_set, config.encoding, run)
    source = source_of(train, valid, config.encoding, config.seed, run.stage, reader)
    return Data(source, run.stage("clusters", clusters_of, train, config), train, valid)


def clusters_of(corpus: Corpus, config: ClusteredConfig) -> Clusters:
    """C: balanced clusters by the words of the labels' documents; by its text for a label without documents."""
    if corpus.n_labels <= config.one_vs_all_up_to or config.labels_per_cluster == 1:
        return each_its_own(corpus.n_labels)
    tfidf = Tfidf.suited(corpus.texts, config.words)
    label_texts = label_text_bags(tfidf, corpus.label_set)
    features = tfidf.transform(corpus.texts)
    return cluster_labels(features, corpus.labels, label_texts, config.labels_per_cluster, config.seed)


def read_labels(start: Encoder, label_set: LabelSet, clusters: Clusters, bottleneck: np.ndarray | None) -> LabelStart:
    """Initial rows of labels and clusters, from the label texts encoded before training."""
    texts = label_set.words()
    told = np.array([bool(text.strip()) for text in texts])
    return start_from_texts(start.batches(Documents(texts)), told, clusters, bottleneck)


def need(corpus: Corpus, config: ClusteredConfig) -> Need:
    """Estimated memory and disk of an encoder with cluster heads."""
    takes = expected(corpus.documents, config.encoding, config.optim.batch_size)
    dim, n_labels = takes.dim, corpus.n_labels
    if n_labels <= config.one_vs_all_up_to:
        heads = n_labels * dim
    else:
        heads = 2 * n_labels // config.labels_per_cluster * dim + config.label_dim * (dim + n_labels)
    parameters = takes.parameters + heads
    entries = features_expected(corpus.documents, config.words)
    stored = takes.stored + 24 * entries
    # Per weight: gradient, two moments and average; on disk: the initial weights, a checkpoint and the final weights.
    training, clustering = 20 * parameters + 4 * takes.kept, centroid_bytes(entries, len(corpus), corpus.labels.nnz)
    return Need(parameters, memory=max(training, clustering) + stored, disk=28 * parameters + stored)
