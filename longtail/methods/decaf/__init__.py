"""DECAF: label classifiers that read label text, behind a shortlist of label clusters, on a frugal encoder.

Mittal et al., WSDM 2021, arXiv:2108.00368.  Where we differ on purpose, docs/methods/decaf.md says why.

    text ──bag, block──► x̂ ──⟨h_m, x̂⟩──► clusters ──their labels──► ⟨w_l, x̂⟩ ──► σ(label)·σ(cluster)

    paper      here              meaning
    E          vectors           token vectors, shared by documents and label texts
    ℰ_D, ℰ_L   Block             embedding blocks of documents and of label texts (encoders/)
    x̂          documents(...)    document vectors
    C, H       Shortlister       clusters of labels and a classifier of each
    ẑ¹, ẑ²     LearningRows       what a label's text says, and its refinement vector (rankers/learn/label_rows.py)
    W          Ranker            one classifier a label
    Module I   surrogate         learn the token vectors on clusters, h_m = ℰ_L(u_m)
    Module II  shortlister       cluster again in the learned space; h_m with refinement
    III, IV    ranker            refinement starts at E z; learn on what the shortlister proposes

Predicting needs no torch; what learns is in learn.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from longtail.corpus import Corpus, Documents
from longtail.features.bags import features_expected
from longtail.features.reading import tokens_expected
from longtail.features.vectors import first_vectors
from longtail.methods.decaf.model import Decaf, Instance
from longtail.methods.decaf.settings import Config
from longtail.methods.decaf.stages import Data, cluster_by_vectors, cluster_by_words, shortlists
from longtail.methods.shared.preparation import learn_words, refuse_unlabelled
from longtail.train.run import WITH_TORCH, Need, Run


def fit(corpus: Corpus, config: Config, run: Run) -> Decaf:
    """Words, module I, and for every instance modules II to IV."""
    from longtail.methods.decaf.learn import learn_surrogate

    refuse_unlabelled(corpus)
    texts = Documents(corpus.texts)
    reader = run.stage("words", learn_words, texts, corpus.label_set, config.words, config.subwords)
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
