"""Everything a transformer with cluster heads has before its first step, and what training it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from longtail.corpus import Corpus, Documents, LabelSet
from longtail.encoders.pretrained import size_of
from longtail.encoders.transformer import Reading, Transformer
from longtail.features.bags import features_expected
from longtail.features.labels import label_text_bags
from longtail.features.tfidf import Tfidf
from longtail.index.clusters import Clusters
from longtail.methods.shared.clustered_transformer.settings import Recall
from longtail.methods.shared.preparation import cluster_labels, held_out, refuse_unlabelled
from longtail.methods.shared.transformer_reading import Tokenized, tokenize, vector_length
from longtail.rankers.clustered import each_its_own
from longtail.rankers.label_start import LabelStart, start_from_texts
from longtail.train.run import Need, Run
from longtail.train.settings import Optim


@dataclass(frozen=True)
class Data:
    """What a transformer with these heads learns from."""

    read: Tokenized
    clusters: Clusters
    train: Corpus
    valid: Corpus

    @property
    def flat(self) -> bool:
        """Whether every label is its own cluster."""
        return len(self.clusters) == len(self.clusters.labels)


def prepare(
    corpus: Corpus, encoder: str, reading: Reading, recall: Recall, valid_documents: int, seed: int, run: Run
) -> Data:
    """Everything there is before the first step; each part is made once a run."""
    refuse_unlabelled(corpus)
    train, valid = held_out(corpus, valid_documents, seed)
    read = tokenize(train, valid, encoder, reading, seed, run)
    return Data(read, run.stage("clusters", clusters_of, train, recall, seed), train, valid)


def clusters_of(corpus: Corpus, recall: Recall, seed: int) -> Clusters:
    """C: balanced clusters by the words of the labels' documents; a label without any lies where its text puts it."""
    if corpus.n_labels <= recall.one_vs_all_up_to or recall.labels_per_cluster == 1:
        return each_its_own(corpus.n_labels)
    tfidf = Tfidf.fit(corpus.texts, recall.words)
    label_texts = label_text_bags(tfidf, corpus.label_set)
    return cluster_labels(tfidf.transform(corpus.texts), corpus.labels, label_texts, recall.labels_per_cluster, seed)


def read_labels(
    start: Transformer, reading: Reading, label_set: LabelSet, clusters: Clusters, bottleneck: np.ndarray | None
) -> LabelStart:
    """Where labels and clusters start: what the transformer says of the labels' texts before it learns."""
    texts = label_set.words()
    told = np.array([bool(text.strip()) for text in texts])
    reads = replace(start, layers=reading.layers, pool=reading.pool)
    return start_from_texts(reads.batches(Documents(texts)), told, clusters, bottleneck)


def need(corpus: Corpus, encoder: str, reading: Reading, recall: Recall, optim: Optim) -> Need:
    """What a transformer with these heads takes."""
    size = size_of(encoder)
    dim, n_labels = vector_length(size, reading), corpus.n_labels
    if n_labels <= recall.one_vs_all_up_to:
        heads = n_labels * dim
    else:
        heads = 2 * n_labels // recall.labels_per_cluster * dim + recall.label_dim * (dim + n_labels)
    parameters = size.parameters + heads
    # A layer keeps about twenty numbers for every one it reads, and one for every pair of tokens in each of its heads.
    read, one = optim.batch_size * reading.max_tokens, 20 * size.hidden + 12 * reading.max_tokens
    kept = read * (one + size.layers * size.hidden) if reading.recompute else read * size.layers * one
    tokens = 4 * reading.max_tokens * len(corpus) + 24 * features_expected(corpus.documents, recall.words)
    # Weights have a gradient, two moments and an average; a run keeps the start, a checkpoint and the end.
    return Need(parameters, memory=20 * parameters + 4 * kept + tokens, disk=28 * parameters + tokens)
