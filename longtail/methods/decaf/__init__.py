"""DECAF: label classifiers that read label text, behind a shortlist of label clusters, on a frugal encoder.

Mittal et al., WSDM 2021, arXiv:2108.00368.  Where we differ on purpose, docs/methods/decaf.md says why.

    text ──bag, block──► x̂ ──⟨h_m, x̂⟩──► clusters ──their labels──► ⟨w_l, x̂⟩ ──► σ(label)·σ(cluster)

    paper      here              meaning
    E          vectors           token vectors, shared by documents and label texts
    ℰ_D, ℰ_L   Block             embedding blocks of documents and of label texts (encoders/)
    x̂          documents(...)    document vectors
    C, H       Shortlister       clusters of labels and a classifier of each
    ẑ¹, ẑ²     LabelText         what a label's text says, and its refinement vector (rankers/learn/label_text.py)
    W          Ranker            one classifier a label
    Module I   surrogate         learn the token vectors on clusters, h_m = ℰ_L(u_m)
    Module II  shortlister       cluster again in the learned space; h_m with refinement
    III, IV    ranker            refinement starts at E z; learn on what the shortlister proposes

Predicting needs no torch; what learns is in decaf/learn.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
import scipy.sparse as sp

from longtail.config import setting
from longtail.corpus import Corpus, Documents, LabelSet, Texts
from longtail.errors import ConfigError, CorpusError
from longtail.features.bags import features_expected
from longtail.features.labels import label_centroids, label_features
from longtail.features.reading import Reader, tokens_expected
from longtail.features.tfidf import TfidfOptions
from longtail.features.vectors import first_vectors
from longtail.index.clusters import Clusters, balanced_clusters
from longtail.index.partition import recall_at
from longtail.kernels.bag import bag_sums
from longtail.kernels.csr import rows_of
from longtail.methods.decaf.model import Decaf, Instance, Scorer
from longtail.train.run import WITH_TORCH, Need, Run
from longtail.train.settings import Precision

Parts = Literal["both", "no-init", "text", "refinement"]  # of a label's row


@dataclass(frozen=True)
class Learning:
    """How one module learns."""

    epochs: int = setting(10, "times every document is read", "released configs: 20, 10, 10")
    lr: float = setting(0.015, "peak learning rate", "released configs: 0.01, 0.008, 0.008")
    batch_size: int = setting(256, "documents in a batch", "released configs: 255")
    dropout: float = setting(0.2, "share of a layer's output dropped while learning", "section 3.1: 0.5, 0.2, 0.2")
    words_dropped: float = setting(0.0, "share of a document's tokens left out while learning", "0")
    averaged: int = setting(0, "last epochs after which weights are taken and averaged; 0 keeps the last alone", "0")
    afresh: bool = setting(False, "token vectors start as they did at first, not as the module before left them", "no")
    precision: Precision = setting("fp32", "of matrix products: bf16, or auto, which is bf16 where it is fast", "fp32")

    def __post_init__(self) -> None:
        if not (0 <= self.dropout < 1 and 0 <= self.words_dropped < 1):
            raise ConfigError("dropout and words_dropped are shares: from 0 to below 1")


@dataclass(frozen=True)
class Config:
    """Defaults were chosen on validation; configs/decaf/paper.toml has the paper's."""

    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become tokens with weights")
    subwords: int = setting(8000, "WordPieces to learn from the corpus and read beside the words; 0: words alone")
    vectors: str = setting("random", "where token vectors start: random, wordllama, minilm, or a path (.vec, .bin)")
    dim: int = setting(256, "length of token, document and label vectors", "released configs: 300 or 512")
    labels_per_cluster: int = setting(4, "labels in a cluster at most: the fan-out", "131,000 / 2^15")
    recall: float = setting(
        1.0,
        "share of training labels the clusters opened must hold; 1 opens 200",
        "0.85, section 4; the code opens 100-200",
    )
    cluster_weight: float = setting(0.25, "score = σ(label) · σ(cluster)^this", "1")
    negatives: int = setting(
        5,
        "negatives each document brings to its batch, where all meet them; 0: each meets its own whole shortlist",
        "0",
    )
    classifier: Parts = setting(
        "both", "a label's row: text and refinement (no-init: which starts at random), or one alone", "both; Table 6"
    )
    lite: bool = setting(False, "token vectors stay as module I left them, afresh or not", "Table 6: DECAF-lite")
    instances: int = setting(1, "models that share module I and are averaged", "3, section 3.1")
    surrogate: Learning = setting(Learning(epochs=4, precision="auto"), "module I")
    shortlister: Learning = setting(Learning(epochs=3, precision="auto"), "module II")
    ranker: Learning = setting(Learning(epochs=12, dropout=0.4, averaged=7, afresh=True), "module IV")
    seed: int = setting(0, "draws clusters, first weights, order and dropout")

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise ConfigError(f"recall = {self.recall}: it is a share, above 0 and at most 1")
        if self.dim < 1 or self.labels_per_cluster < 1:
            raise ConfigError(f"dim = {self.dim}, labels_per_cluster = {self.labels_per_cluster}: both are at least 1")


# -- the four modules --------------------------------------------------------------------------------------------------


def fit(corpus: Corpus, config: Config, run: Run) -> Decaf:
    """Words, module I, and for every instance modules II to IV."""
    from longtail.methods.decaf.learn import learn_surrogate

    if corpus.labels.nnz == 0:
        raise CorpusError(f"{corpus.name}: no document carries a label; there is nothing to learn")
    reader = run.stage("words", learn_words, corpus.texts, corpus.label_set, config.words, config.subwords)
    documents = run.stage("documents", reader.bags, corpus.documents)
    label_texts = run.stage("label-texts", reader.bags, Documents(corpus.label_set.words()))
    start = run.stage("vectors", first_vectors, reader.vocabulary, config.vectors, config.dim, config.seed)
    data = Data(documents, corpus.labels, label_texts)
    clusters = run.stage("clusters", cluster_by_words, data, config.labels_per_cluster, config.seed)
    vectors = learn_surrogate(data, clusters, start, config, run)
    return Decaf(reader, [grow(data, start, vectors, config, run, number) for number in range(config.instances)])


def grow(data: Data, start: np.ndarray, vectors: np.ndarray, config: Config, run: Run, number: int) -> Instance:
    """Modules II to IV of one instance, from token vectors as they were at first and as module I left them."""
    from longtail.methods.decaf.learn import learn_ranker, learn_shortlister

    seed = config.seed + number
    clusters = run.stage(f"clusters-{number}", cluster_by_vectors, data, vectors, config.labels_per_cluster, seed)
    given = start if config.shortlister.afresh and not config.lite else vectors
    shortlister = learn_shortlister(data, clusters, given, config, run, number)
    opened = run.stage(f"shortlists-{number}", shortlists, data, clusters, shortlister, config.recall)
    given = start if config.ranker.afresh and not config.lite else shortlister.encoder.vectors
    ranker = learn_ranker(data, clusters, opened, given, config, run, number)
    in_order = replace(ranker, rows=replace(ranker.rows, clusters=clusters))
    return Instance(shortlister, in_order, opened.shape[1], config.cluster_weight)


# -- stages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """What every module learns from."""

    documents: sp.csr_array  # x: (documents, tokens)
    labels: sp.csr_array  # y: (documents, labels)
    label_texts: sp.csr_array  # z: (labels, tokens)


def learn_words(texts: Texts, label_set: LabelSet, options: TfidfOptions, subwords: int) -> Reader:
    """The tokens of documents and label texts, which share their vectors."""
    return Reader.fit(Documents(Texts.of(chain(texts, label_set.words()))), options, subwords)


def cluster_by_words(data: Data, labels_per_cluster: int, seed: int) -> Clusters:
    """c_l = Σ x_i over the documents of label l; labels without documents lie where their texts put them."""
    points = label_features(label_centroids(data.documents, data.labels), data.label_texts)
    return balanced_clusters(points, labels_per_cluster, seed)


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


# -- what it takes -----------------------------------------------------------------------------------------------------


def need(corpus: Corpus, config: Config) -> Need:
    """Estimates from the lengths of the texts, checked against measured runs."""
    entries = features_expected(corpus.documents, config.words)
    tokens = tokens_expected(corpus.documents, config.words, config.subwords) + min(corpus.n_labels, 50_000)
    rows = tokens + corpus.n_labels + corpus.n_labels // max(config.labels_per_cluster, 1)
    parameters = config.dim * (rows + 4 * config.dim)
    # A table that learns has a gradient, two moments and, at times, a checkpoint beside it; an instance keeps two token
    # tables; of every document are kept the clusters it opens and the labels that it draws negatives from.
    memory = WITH_TORCH + 24 * parameters + 24 * entries + 4000 * len(corpus)
    return Need(parameters, memory, disk=16 * parameters * config.instances + 24 * entries + 4000 * len(corpus))
