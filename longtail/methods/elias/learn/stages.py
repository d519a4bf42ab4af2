"""Training of ELIAS: the same network twice, first on a partition of the labels, then on a graph.

stage      graph                                     initialised with               trained
warm-up    clusters by words, β = ∞                  nothing                        φ, Ŵ_C, W_L   (optional)
1          clusters by words (and vectors), β = ∞    nothing                        φ, Ŵ_C, W_L
2          labels of the documents that open a       φ and Ŵ_C of stage 1, or       φ, Ŵ_C, W_L, A
           cluster, random weights                   nothing (with a bag)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch

from longtail.encoders.label_texts import TextRows
from longtail.encoders.learn.batches import Labelled
from longtail.encoders.learn.encoder import LearningEncoder, Source, source_of
from longtail.index.clusters import Clusters
from longtail.index.graph import Graph, GraphIndex, Walk, likely_edges, partition
from longtail.methods.elias.learn.network import Head, Negatives, Network, vectors_of
from longtail.methods.elias.model import Elias
from longtail.methods.elias.settings import UNCHOSEN, Config, Stage, Variant
from longtail.methods.elias.stages import Data
from longtail.rankers.learn.graphed import GraphHeads, GraphRouter
from longtail.rankers.learn.label_rows import LearningRows, free_rows, text_rows
from longtail.train.loop import seeded
from longtail.train.run import Run
from longtail.train.settings import with_many_steps


def learn(data: Data, config: Config, run: Run, variant: Variant) -> Elias:
    """Train stage 1, build the graph, train stage 2 (section 3.4)."""
    texts = read(data, config, run)
    clusters = run.stage("clusters", cluster, data, None, config)
    if config.recluster:
        stage = replace(config.stage(1), optim=replace(config.stage(1).optim, epochs=config.recluster))
        warm = trained("warm-up", first_network(texts, clusters, stage, config), texts, config, run)
        vectors = run.stage("warm-up-vectors", vectors_of, warm.encoder, texts.train, run.device)
        clusters = run.stage("clusters-again", cluster, data, vectors, config)
    # Averaged is what answers: stage 1 where there is no other.
    average_from = config.optim.average_from if variant == "fixed" else None
    stage = replace(config.stage(1), optim=replace(config.stage(1).optim, average_from=average_from))
    first = trained("stage-1", first_network(texts, clusters, stage, config), texts, config, run)
    if variant == "fixed":
        return Elias(first.encoder.export(), graphed=first.heads.export())
    vectors = run.stage("vectors", vectors_of, first.encoder, texts.train, run.device)
    index = first.heads.router.export()
    graph = run.stage("graph", grow, index, first.encoder, vectors, data, texts, clusters, config)
    network = second_network(first, graph, texts, clusters, config)
    second = trained("stage-2", network, texts, config, run)
    return Elias(second.encoder.export(), graphed=second.heads.export())


# -- texts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts:
    """Tokenized documents with their labels, and label texts if classifiers use them."""

    source: Source
    train: Labelled
    valid: Labelled
    read_labels: bool

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.train.labels.shape[1]

    def started(self, config: Config) -> LearningEncoder:
        """The initial encoder."""
        rows = TextRows.one_each(np.arange(self.n_labels)) if self.read_labels else None
        return self.source.started(self.source.first, config.dropout, rows, config.bag.words_dropped)


def read(data: Data, config: Config, run: Run) -> Texts:
    """Tokenize for the configured encoder; label texts are included if there are any."""
    read_labels = config.reads_label_texts and data.reader.words.tfidf is not None
    source = source_of(
        data.train, data.valid, config.encoding, config.seed, run.stage, data.reader, label_texts=read_labels
    )
    train, valid = (
        Labelled(texts, corpus.labels, corpus.filtered)
        for texts, corpus in ((source.train, data.train), (source.valid, data.valid))
    )
    return Texts(source, train, valid, read_labels)


# -- clusters and graph --------------------------------------------------------------------------------------------


def cluster(data: Data, vectors: np.ndarray | None, config: Config) -> Clusters:
    """The partition of stage 1."""
    return data.cluster(vectors, config.labels_per_cluster, config.seed)


def grow(
    index: GraphIndex, encoder: LearningEncoder, vectors: np.ndarray, data: Data, texts: Texts, clusters: Clusters,
    config: Config,
) -> Graph:  # fmt: skip
    """A, from the clusters that stage 1 opens for the training documents (9, 10).

    If label texts are used, each counts as a document of its label.
    """
    labels = sp.csr_array(data.train.labels, dtype=np.float32)
    matches = index.matches(vectors)
    if texts.read_labels:
        of_labels = texts.source.encode_labels(encoder.export())
        matches = sp.vstack([matches, index.matches(of_labels)], format="csr")
        labels = sp.vstack([labels, sp.eye_array(labels.shape[1], dtype=np.float32)], format="csr")
    edges = config.edges or math.ceil(10 * data.train.n_labels / len(clusters))
    return likely_edges(sp.csr_array(matches), sp.csr_array(labels), clusters, edges, config.seed)


# -- initial networks ----------------------------------------------------------------------------------------------


def first_network(texts: Texts, clusters: Clusters, stage: Stage, config: Config) -> Network[GraphHeads]:
    """Network of stage 1: every label in one cluster, and every edge 1."""
    with seeded(config.seed):
        encoder = texts.started(config)
        router = router_on(encoder.dim, partition(clusters), len(clusters.labels), config.walk, math.inf)
        start_reading(router, encoder, texts, clusters)
        heads = heads_on(router, classifiers_on(encoder, texts, config), stage, config)
        return Network(encoder, heads, stage, negatives_of(texts, config))


def second_network(
    first: Network[GraphHeads], graph: Graph, texts: Texts, clusters: Clusters, config: Config
) -> Network[GraphHeads]:
    """Network of stage 2 on the graph: φ and Ŵ_C of stage 1 or new ones; label rows are always new."""
    before, walk, encoder, stage = first.heads, config.walk, first.encoder, config.stage(2)
    n_labels = before.router.n_labels
    with seeded(config.seed):
        router = router_on(encoder.dim, graph, n_labels, walk, walk.beta or n_labels / len(graph.labels))
        if config.hands_on_encoder:
            router.clusters = before.router.clusters
        else:
            encoder = texts.started(config)
            start_reading(router, encoder, texts, clusters)
        heads = heads_on(router, classifiers_on(encoder, texts, config), stage, config)
        return Network(encoder, heads, stage, negatives_of(texts, config))


def classifiers_on(encoder: LearningEncoder, texts: Texts, config: Config) -> LearningRows:
    """Initial label classifiers."""
    if texts.read_labels:
        return text_rows(texts.n_labels, encoder.of_labels, config.dropout)
    return free_rows(texts.n_labels, encoder.dim)


def start_reading(router: GraphRouter, encoder: LearningEncoder, texts: Texts, clusters: Clusters) -> None:
    """Initialise cluster rows from the texts of their labels, if label texts are used."""
    if texts.read_labels:
        rows = texts.source.first_rows(encoder.export(), TextRows(clusters.labels, clusters.starts))
        with torch.no_grad():
            router.clusters.weight.copy_(torch.from_numpy(rows[router.own]))


def negatives_of(texts: Texts, config: Config) -> Negatives | None:
    """Sampling of negatives; None if every document is scored against its whole shortlist."""
    each = config.sampled
    return Negatives(each, texts.train) if each else None


def heads_on(router: GraphRouter, classifiers: LearningRows, stage: Stage, config: Config) -> GraphHeads:
    """Heads of a router and label classifiers."""
    weight = UNCHOSEN if config.belief_weight is None else config.belief_weight
    return GraphHeads(router, classifiers, stage.shortlist_loss, config.walk.paths != "product", weight)


def router_on(dim: int, graph: Graph, n_labels: int, walk: Walk, beta: float) -> GraphRouter:
    """A graph router on vectors of this dimension."""
    return GraphRouter(dim, graph, n_labels, walk.beam, ALPHA, beta, walk.shortlist, walk.paths == "all")


ALPHA = 10.0  # α: the number of clusters that can have belief 1; the paper's, and ours


def trained(name: str, network: Network[Head], texts: Texts, config: Config, run: Run) -> Network[Head]:
    """Train the network, resuming an earlier attempt."""
    optim = with_many_steps(network.stage.optim, len(texts.train.lengths))
    return run.train(name, network, texts.train, optim, seed=config.seed, valid=texts.valid)
