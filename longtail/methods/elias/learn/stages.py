"""The half of ELIAS that learns: the same network twice, first on a partition of the labels, then on a graph.

stage      graph                                     starts with                    learns
warm-up    clusters by words, β = ∞                  nothing                        φ, Ŵ_C, W_L   (optional)
1          clusters by words (and vectors), β = ∞    nothing                        φ, Ŵ_C, W_L
2          labels of the documents that open a       φ and Ŵ_C of stage 1, or       φ, Ŵ_C, W_L, A
           cluster, random weights                   nothing (`handed_on`)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch

from longtail.corpus import Corpus, Documents
from longtail.data.batches import Batches
from longtail.encoders.learn.batches import BagBatches
from longtail.encoders.learn.text import BagText, TransformerText
from longtail.encoders.text import BAG
from longtail.features.vectors import first_vectors
from longtail.index.clusters import Clusters
from longtail.index.graph import Graph, Walk, likely_edges, partition
from longtail.index.partition import cluster_texts
from longtail.kernels.csr import rows_of, take
from longtail.methods.elias.learn.network import Encoder, Head, Negatives, Network, vectors_of
from longtail.methods.elias.model import Elias
from longtail.methods.elias.settings import UNCHOSEN, Config, Stage
from longtail.methods.elias.stages import Data
from longtail.methods.shared.learn.transformer_reading import batches_of
from longtail.methods.shared.transformer_reading import tokenize
from longtail.rankers.learn.graphed import GraphHeads, GraphRouter, OneVsAll
from longtail.rankers.learn.label_rows import LearningRows, free_rows, text_rows
from longtail.train.loop import seeded
from longtail.train.run import Run
from longtail.train.settings import with_many_steps


def learn(data: Data, config: Config, run: Run) -> Elias:
    """Stage 1, the graph, stage 2 (section 3.4)."""
    texts = read(data, config, run)
    clusters = run.stage("clusters", cluster, data, None, config)
    if config.recluster:
        stage = replace(config.stage_1, optim=replace(config.stage_1.optim, epochs=config.recluster))
        warm = trained("warm-up", first_network(texts, clusters, stage, config), texts, stage, config, run)
        vectors = run.stage("warm-up-vectors", vectors_of, warm.encoder, texts.train, run.device)
        clusters = run.stage("clusters-again", cluster, data, vectors, config)
    network = first_network(texts, clusters, config.stage_1, config)
    first = trained("stage-1", network, texts, config.stage_1, config, run)
    if config.index == "fixed":
        return Elias(first.encoder.export(), graphed=first.heads.export())
    vectors = run.stage("vectors", vectors_of, first.encoder, texts.train, run.device)
    graph = run.stage("graph", grow, first, vectors, data, texts, clusters, config)
    network = second_network(first, graph, texts, clusters, config)
    second = trained("stage-2", network, texts, config.stage_2, config, run)
    return Elias(second.encoder.export(), graphed=second.heads.export())


def learn_one_vs_all(data: Data, config: Config, run: Run) -> Elias:
    """The same encoder under classifiers of all labels, which learn from every document (Table 2)."""
    texts = read(data, config, run)
    with seeded(config.seed):
        encoder = texts.start()
        heads = OneVsAll(data.train.n_labels, classifiers_on(encoder, texts, config))
        network = Network(encoder, heads, config.stage_2)
    trained("one-vs-all", network, texts, config.stage_2, config, run)
    return Elias(network.encoder.export(), one_vs_all=network.heads.export())


# -- what is read --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Documents as an encoder reads them, and that encoder before its first step."""

    start: Callable[[], Encoder]
    label_texts: sp.csr_array | None  # (labels, tokens), where label classifiers read
    train: Batches
    valid: Batches


def read(data: Data, config: Config, run: Run) -> Source:
    """For the encoder that the config names."""
    return as_bags(data, config, run) if config.encoder == BAG else as_tokens(data, config, run)


def as_bags(data: Data, config: Config, run: Run) -> Source:
    """Bags of words and pieces."""
    reader, how = data.reader, config.bag
    start = run.stage("start", first_vectors, reader.vocabulary, how.vectors, how.dim, config.seed)

    def batches(name: str, corpus: Corpus) -> BagBatches:
        bags = run.stage(name, reader.bags, corpus.documents)
        return BagBatches(rows_of(bags), corpus.labels, corpus.filtered)

    read = config.ranker.classifier == "text" and reader.words.tfidf is not None
    return Source(
        lambda: BagText(reader, start, how.dropout, how.words_dropped),
        run.stage("label-texts", reader.bags, Documents(data.train.label_set.words())) if read else None,
        batches("bags", data.train), batches("valid-bags", data.valid),
    )  # fmt: skip


def as_tokens(data: Data, config: Config, run: Run) -> Source:
    """Tokens of a transformer."""
    read = tokenize(data.train, data.valid, config.encoder, config.reading, config.seed, run)
    return Source(lambda: TransformerText(read.start, config.reading), None, *batches_of(read, data.train, data.valid))


# -- clusters and graph --------------------------------------------------------------------------------------------


def cluster(data: Data, vectors: np.ndarray | None, config: Config) -> Clusters:
    """The partition that stage 1 learns on."""
    return data.cluster(vectors, config.labels_per_cluster, config.seed)


def grow(
    first: Network[GraphHeads], vectors: np.ndarray, data: Data, texts: Source, clusters: Clusters, config: Config
) -> Graph:
    """A, from the clusters that stage 1 opens for the training documents (9, 10).

    Where labels are read, their texts are documents too, each of its own label.
    """
    index, labels = first.heads.router.export(), sp.csr_array(data.train.labels, dtype=np.float32)
    matches = index.matches(vectors)
    if texts.label_texts is not None:
        bag = first.encoder.export().bag
        assert bag is not None
        matches = sp.vstack([matches, index.matches(bag.documents(rows_of(texts.label_texts)))], format="csr")
        labels = sp.vstack([labels, sp.eye_array(labels.shape[1], dtype=np.float32)], format="csr")
    edges = config.edges or math.ceil(10 * data.train.n_labels / len(clusters))
    even = config.walk.start == "even"
    return likely_edges(sp.csr_array(matches), sp.csr_array(labels), clusters, edges, config.seed, even)


# -- networks before their first step ------------------------------------------------------------------------------


def first_network(texts: Source, clusters: Clusters, stage: Stage, config: Config) -> Network[GraphHeads]:
    """Every label on its one cluster, and every edge sure."""
    with seeded(config.seed):
        encoder = texts.start()
        router = router_on(encoder.dim, partition(clusters), len(clusters.labels), config.walk, math.inf)
        start_reading(router, encoder, texts, clusters)
        heads = heads_on(router, classifiers_on(encoder, texts, config), stage, config)
        return Network(encoder, heads, stage, negatives_of(texts, config))


def second_network(
    first: Network[GraphHeads], graph: Graph, texts: Source, clusters: Clusters, config: Config
) -> Network[GraphHeads]:
    """φ and Ŵ_C of stage 1 on the graph, unless these start anew; label rows do, unless they are to stay."""
    before, walk, encoder = first.heads, config.walk, first.encoder
    n_labels = before.router.n_labels
    with seeded(config.seed):
        router = router_on(encoder.dim, graph, n_labels, walk, walk.beta or n_labels / len(graph.labels))
        if config.handed_on == "graph":
            encoder = texts.start()
            start_reading(router, encoder, texts, clusters)
        else:
            router.clusters = before.router.clusters
        kept = config.handed_on == "all"
        classifiers = before.classifiers if kept else classifiers_on(encoder, texts, config)
        heads = heads_on(router, classifiers, config.stage_2, config)
        return Network(encoder, heads, config.stage_2, negatives_of(texts, config))


def classifiers_on(encoder: Encoder, texts: Source, config: Config) -> LearningRows:
    """Of labels, before their first step."""
    if texts.label_texts is None or not isinstance(encoder, BagText):
        return free_rows(texts.train.labels.shape[1], encoder.dim)
    return text_rows(rows_of(texts.label_texts), encoder.sums, config.bag.dropout)


def start_reading(router: GraphRouter, encoder: Encoder, texts: Source, clusters: Clusters) -> None:
    """Where labels are read, a cluster's row starts as the sum of what the texts of its labels say."""
    if texts.label_texts is not None and isinstance(encoder, BagText):
        rows = rows_of(cluster_texts(texts.label_texts, clusters))
        with torch.no_grad():
            router.clusters.weight.copy_(encoder.sums(take(rows, np.arange(len(clusters)))))


def negatives_of(texts: Source, config: Config) -> Negatives | None:
    """None where every document meets its whole shortlist."""
    each = config.ranker.negatives
    return Negatives(each, texts.train) if each else None


def heads_on(router: GraphRouter, classifiers: LearningRows, stage: Stage, config: Config) -> GraphHeads:
    """A way to labels, and their classifiers."""
    weight = UNCHOSEN if config.ranker.belief_weight is None else config.ranker.belief_weight
    return GraphHeads(router, classifiers, stage.shortlist_loss, config.ranker.loss == "label", weight)


def router_on(dim: int, graph: Graph, n_labels: int, walk: Walk, beta: float) -> GraphRouter:
    """A graph, on vectors of this length."""
    return GraphRouter(dim, graph, n_labels, walk.beam, walk.alpha, beta, walk.shortlist, walk.paths == "all")


def trained(name: str, network: Network[Head], texts: Source, stage: Stage, config: Config, run: Run) -> Network[Head]:
    """Through the loop, which resumes where an earlier attempt was killed."""
    optim = with_many_steps(stage.optim, len(texts.train.lengths))
    return run.train(name, network, texts.train, optim, seed=config.seed, valid=texts.valid)
