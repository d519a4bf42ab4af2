"""The half of ELIAS that learns: the same network twice, first on a partition of the labels, then on a graph.

stage      graph                                     starts with                    learns
warm-up    clusters by words, β = ∞                  nothing                        φ, Ŵ_C, W_L   (optional)
1          clusters by words (and vectors), β = ∞    nothing                        φ, Ŵ_C, W_L
2          labels of the documents that open a       φ and Ŵ_C of stage 1           φ, Ŵ_C, W_L, A
           cluster, random weights
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from longtail.corpus import Corpus
from longtail.data.batches import BagBatch, BagBatches, Batches, TokenBatch, TokenBatches, generator, longest_first
from longtail.encoders.pretrained import pretrained
from longtail.encoders.text import BAG
from longtail.encoders.text_layers import BagText, TransformerText
from longtail.features.tokens import Tokens
from longtail.features.vectors import first_vectors
from longtail.index.clusters import Clusters
from longtail.index.graph import Graph, Walk, likely_edges, partition
from longtail.kernels.csr import rows_of
from longtail.methods.elias import Config, Data, Elias, Stage
from longtail.rankers.clustered import each_its_own
from longtail.rankers.clustered_heads import Heads
from longtail.rankers.graphed_heads import GraphHeads, GraphRouter
from longtail.ranking import Ranking
from longtail.train.loop import on_device, seeded
from longtail.train.optim import Group, Optim, adamw
from longtail.train.row_adam import RowAdam
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
        return Elias(first.encoder.settled(), graphed=first.heads.settled())
    vectors = run.stage("vectors", vectors_of, first.encoder, texts.train, run.device)
    graph = run.stage("graph", grow, first, vectors, data, clusters, config)
    second = trained("stage-2", second_network(first, graph, config), texts, config.stage_2, config, run)
    return Elias(second.encoder.settled(), graphed=second.heads.settled())


def learn_one_vs_all(data: Data, config: Config, run: Run) -> Elias:
    """The same encoder under classifiers of all labels, which learn from every document (Table 2)."""
    texts = read(data, config, run)
    with seeded(config.seed):
        encoder = texts.start()
        network = Network(encoder, Heads(encoder.dim, each_its_own(data.train.n_labels), 1, None), config.stage_1)
    trained("one-vs-all", network, texts, config.stage_1, config, run)
    return Elias(network.encoder.settled(), one_vs_all=network.heads.settled())


# -- what is read --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Documents as an encoder reads them, and that encoder before its first step."""

    start: Callable[[], BagText | TransformerText]
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

    return Source(
        lambda: BagText(reader, start, how.dropout), batches("bags", data.train), batches("valid-bags", data.valid)
    )


def as_tokens(data: Data, config: Config, run: Run) -> Source:
    """Tokens of a transformer."""
    train, valid = data.train.texts, data.valid.texts
    start = run.stage("encoder", pretrained, config.encoder, config.reading.max_tokens)

    def batches(tokens: Tokens, corpus: Corpus) -> TokenBatches:
        return TokenBatches(tokens.ids, tokens.offsets, corpus.labels, start.pieces.pad, corpus.filtered)

    return Source(
        lambda: TransformerText(start, config.reading),
        batches(run.stage("tokens", start.pieces.encode, train), data.train),
        batches(run.stage("valid-tokens", start.pieces.encode, valid), data.valid),
    )


def vectors_of(encoder: BagText | TransformerText, batches: Batches, device: str) -> np.ndarray:
    """φ of all documents, (documents, dim) float32."""
    encoder.eval()
    vectors = np.empty((len(batches.lengths), encoder.dim), np.float32)
    for rows in longest_first(batches.lengths, AT_ONCE):
        batch = on_device(batches.batch(rows, generator(0)), torch.device(device))
        with torch.inference_mode():
            vectors[rows] = encoder(batch).cpu().numpy()
    return vectors


AT_ONCE = 128  # documents read together where nothing is learned


# -- clusters and graph --------------------------------------------------------------------------------------------


def cluster(data: Data, vectors: np.ndarray | None, config: Config) -> Clusters:
    """The partition that stage 1 learns on."""
    return data.cluster(vectors, config.labels_per_cluster, config.seed)


def grow(first: Network[GraphHeads], vectors: np.ndarray, data: Data, clusters: Clusters, config: Config) -> Graph:
    """A, from the clusters that stage 1 opens for the training documents (9, 10)."""
    matches = first.heads.router.settled().matches(vectors)
    edges = config.edges or math.ceil(10 * data.train.n_labels / len(clusters))
    return likely_edges(matches, sp.csr_array(data.train.labels, dtype=np.float32), clusters, edges, config.seed)


# -- the network ---------------------------------------------------------------------------------------------------


Head = TypeVar("Head", GraphHeads, Heads)


class Network(nn.Module, Generic[Head]):
    """An encoder and what stands on its vectors."""

    def __init__(self, encoder: BagText | TransformerText, heads: Head, stage: Stage):
        super().__init__()
        self.encoder, self.stage = encoder, stage
        self.heads: Head = heads

    def start_epoch(self, epoch: int) -> None:
        """True labels are looked for where they now hang most firmly."""
        if isinstance(self.heads, GraphHeads):
            self.heads.router.find_parents()

    def loss(self, batch: BagBatch | TokenBatch) -> Tensor:
        """L = L_c + λ L_s, or of all labels the logistic loss."""
        return self.heads.loss(self.encoder(batch), batch.positives)

    def rank(self, batch: BagBatch | TokenBatch, k: int) -> Ranking:
        """What validation judges."""
        return self.heads.settled().rank(self.encoder(batch).cpu().numpy(), k)

    def groups(self, optim: Optim) -> list[Group]:
        """Every kind of parameter at its own rate."""
        return encoder_groups(self.encoder, self.stage, optim) + head_groups(self.heads, self.stage, optim)


def encoder_groups(encoder: BagText | TransformerText, stage: Stage, optim: Optim) -> list[Group]:
    """A bag has few weights beside its token vectors, and none that knew anything before."""
    own, words = (stage.cluster_lr, stage.label_lr) if isinstance(encoder, BagText) else (optim.lr, optim.lr)
    groups = [Group("encoder", adamw(encoder.dense, own, optim.weight_decay), optim.accumulate)]
    return [*groups, Group("words", RowAdam(encoder.tables, words), optim.accumulate)] if encoder.tables else groups


def head_groups(heads: GraphHeads | Heads, stage: Stage, optim: Optim) -> list[Group]:
    """Labels and edges move where a batch touched them; edges are not averaged, for a mean of two graphs is none."""
    if isinstance(heads, Heads):
        return [Group("labels", adamw(heads.parameters(), stage.label_lr, optim.weight_decay), stage.accumulate)]
    clusters, edges = heads.router.clusters.parameters(), heads.router.edges
    groups = [
        Group("clusters", adamw(clusters, stage.cluster_lr, optim.weight_decay), stage.accumulate),
        Group("labels", RowAdam(heads.tables, stage.label_lr), stage.accumulate),
    ]
    if edges.requires_grad:
        groups.append(Group("edges", RowAdam([edges], stage.label_lr), stage.accumulate, average=False))
    return groups


def first_network(texts: Source, clusters: Clusters, stage: Stage, config: Config) -> Network[GraphHeads]:
    """Every label on its one cluster, and every edge sure."""
    with seeded(config.seed):
        encoder = texts.start()
        heads = heads_on(encoder.dim, partition(clusters), len(clusters.labels), config.walk, math.inf, stage)
        return Network(encoder, heads, stage)


def second_network(first: Network[GraphHeads], graph: Graph, config: Config) -> Network[GraphHeads]:
    """φ and Ŵ_C of stage 1 on the graph; label rows start anew, unless they are to stay."""
    router, walk = first.heads.router, config.walk
    beta = walk.beta or router.n_labels / len(graph.labels)
    with seeded(config.seed):
        heads = heads_on(first.encoder.dim, graph, router.n_labels, walk, beta, config.stage_2)
    heads.router.clusters = router.clusters
    if config.label_start == "stage-1":
        heads.rows, heads.biases = first.heads.rows, first.heads.biases
    return Network(first.encoder, heads, config.stage_2)


def heads_on(dim: int, graph: Graph, n_labels: int, walk: Walk, beta: float, stage: Stage) -> GraphHeads:
    """A graph and label rows, on vectors of this length."""
    router = GraphRouter(dim, graph, n_labels, walk.beam, walk.alpha, beta, walk.shortlist)
    return GraphHeads(dim, router, stage.shortlist_loss)


def trained(name: str, network: Network[Head], texts: Source, stage: Stage, config: Config, run: Run) -> Network[Head]:
    """Through the loop, which resumes where an earlier attempt was killed."""
    optim = with_many_steps(stage.optim, len(texts.train.lengths))
    return run.train(name, network, texts.train, optim, seed=config.seed, valid=texts.valid)
