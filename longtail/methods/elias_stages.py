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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, Self, TypeVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from longtail.corpus import PAD, Corpus, Documents
from longtail.data.batches import BagBatch, BagBatches, Batches, TokenBatch, TokenBatches, generator, longest_first
from longtail.encoders.pretrained import pretrained
from longtail.encoders.text import BAG
from longtail.encoders.text_layers import BagText, TransformerText
from longtail.features.tokens import Tokens
from longtail.features.vectors import first_vectors
from longtail.index.clusters import Clusters
from longtail.index.graph import Graph, Walk, likely_edges, partition
from longtail.index.partition import cluster_texts
from longtail.kernels.csr import rows_of, take
from longtail.methods.elias import Config, Data, Elias, Stage
from longtail.rankers.classifiers import Classifiers, FreeRows, ReadRows
from longtail.rankers.clustered import Clustered
from longtail.rankers.clustered_heads import array_of
from longtail.rankers.graphed import Graphed
from longtail.rankers.graphed_heads import GraphHeads, GraphRouter, OneVsAll
from longtail.rankers.meeting import in_order
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
    graph = run.stage("graph", grow, first, vectors, data, texts, clusters, config)
    network = second_network(first, graph, texts, clusters, config)
    second = trained("stage-2", network, texts, config.stage_2, config, run)
    return Elias(second.encoder.settled(), graphed=second.heads.settled())


def learn_one_vs_all(data: Data, config: Config, run: Run) -> Elias:
    """The same encoder under classifiers of all labels, which learn from every document (Table 2)."""
    texts = read(data, config, run)
    with seeded(config.seed):
        encoder = texts.start()
        heads = OneVsAll(data.train.n_labels, classifiers_on(encoder, texts, config))
        network = Network(encoder, heads, config.stage_2)
    trained("one-vs-all", network, texts, config.stage_2, config, run)
    return Elias(network.encoder.settled(), one_vs_all=network.heads.settled())


# -- what is read --------------------------------------------------------------------------------------------------


Encoder = BagText | TransformerText


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
        lambda: BagText(reader, start, how.dropout),
        run.stage("label-texts", reader.bags, Documents(data.train.label_set.words())) if read else None,
        batches("bags", data.train), batches("valid-bags", data.valid),
    )  # fmt: skip


def as_tokens(data: Data, config: Config, run: Run) -> Source:
    """Tokens of a transformer."""
    train, valid = data.train.texts, data.valid.texts
    start = run.stage("encoder", pretrained, config.encoder, config.reading.max_tokens)

    def batches(tokens: Tokens, corpus: Corpus) -> TokenBatches:
        return TokenBatches(tokens.ids, tokens.offsets, corpus.labels, start.pieces.pad, corpus.filtered)

    return Source(
        lambda: TransformerText(start, config.reading),
        None,
        batches(run.stage("tokens", start.pieces.encode, train), data.train),
        batches(run.stage("valid-tokens", start.pieces.encode, valid), data.valid),
    )


def vectors_of(encoder: Encoder, batches: Batches, device: str) -> np.ndarray:
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


def grow(
    first: Network[GraphHeads], vectors: np.ndarray, data: Data, texts: Source, clusters: Clusters, config: Config
) -> Graph:
    """A, from the clusters that stage 1 opens for the training documents (9, 10).

    Where labels are read, their texts are documents too, each of its own label.
    """
    index, labels = first.heads.router.settled(), sp.csr_array(data.train.labels, dtype=np.float32)
    matches = index.matches(vectors)
    if texts.label_texts is not None:
        bag = first.encoder.settled().bag
        assert bag is not None
        matches = sp.vstack([matches, index.matches(bag.documents(rows_of(texts.label_texts)))], format="csr")
        labels = sp.vstack([labels, sp.eye_array(labels.shape[1], dtype=np.float32)], format="csr")
    edges = config.edges or math.ceil(10 * data.train.n_labels / len(clusters))
    return likely_edges(sp.csr_array(matches), sp.csr_array(labels), clusters, edges, config.seed, config.edge_start == "counted")


# -- the network ---------------------------------------------------------------------------------------------------


Head = TypeVar("Head", GraphHeads, OneVsAll)


class Network(nn.Module, Generic[Head]):
    """An encoder and what stands on its vectors.

    With `negatives`, the candidates of a batch are its true labels and so many that each of its documents brings:
    drawn from those that it ranked first when the epoch began, and a few from all.
    """

    pool: Tensor | None  # (documents, POOL) int32 labels, PAD

    def __init__(self, encoder: Encoder, heads: Head, stage: Stage, negatives: Negatives | None = None):
        super().__init__()
        self.encoder, self.stage, self.negatives = encoder, stage, negatives
        self.heads: Head = heads
        self.settled: Graphed | Clustered | None = None  # while nothing learns, so that every label is read once
        self.register_buffer("pool", None if negatives is None else negatives.any())

    def start_epoch(self, epoch: int) -> None:
        """True labels are looked for where they now hang most firmly, and negatives are what now is hardest."""
        if not isinstance(self.heads, GraphHeads):
            return
        self.heads.router.find_parents()
        if self.negatives is not None and self.pool is not None and epoch > 0:
            self.pool.copy_(self.negatives.hardest(self.encoder, self.heads))
            self.train()

    def loss(self, batch: BagBatch | TokenBatch) -> Tensor:
        """L = L_c + λ L_s, or of all labels the logistic loss."""
        if self.negatives is None or not isinstance(self.heads, GraphHeads):
            return self.heads.loss(self.encoder(batch), batch.positives)
        assert self.pool is not None
        candidates = self.negatives.with_true(batch.positives, self.pool[batch.rows])
        return self.heads.loss_on(candidates, self.encoder(batch), batch.positives)

    def rank(self, batch: BagBatch | TokenBatch, k: int) -> Ranking:
        """What validation judges."""
        if self.settled is None:
            self.settled = self.heads.settled()
        return self.settled.rank(self.encoder(batch).cpu().numpy(), k)

    def train(self, mode: bool = True) -> Self:
        """Whoever starts to learn, or stops, forgets what the heads had come to."""
        self.settled = None
        return super().train(mode)

    def groups(self, optim: Optim) -> list[Group]:
        """Every kind of parameter at its own rate."""
        return encoder_groups(self.encoder, self.stage, optim) + head_groups(self.heads, self.stage, optim)


@dataclass(frozen=True)
class Negatives:
    """How documents come by the labels that they bring to their batch."""

    each: int  # brought by a document
    texts: Batches = field(repr=False)

    def any(self) -> Tensor:
        """Before anything is known: labels that some document has."""
        return self.known[torch.randint(len(self.known), (len(self.texts.lengths), POOL))]

    @cached_property
    def known(self) -> Tensor:
        """Of labels without documents nothing is known, so they are nobody's hard negatives."""
        return torch.from_numpy(np.unique(self.texts.labels.indices).astype(np.int32))

    def hardest(self, encoder: Encoder, heads: GraphHeads) -> Tensor:
        """The labels that every document ranks first of those it believes in most."""
        vectors = vectors_of(encoder, self.texts, str(next(encoder.parameters()).device))
        settled = heads.settled()
        near = replace(settled.index, shortlist=min(settled.index.shortlist, RANKED))
        labels = replace(settled, index=near).rank(vectors, POOL).labels
        labels[~np.isin(labels, self.known.numpy())] = PAD
        return torch.from_numpy(labels)

    def with_true(self, positives: Tensor, pool: Tensor) -> np.ndarray:
        """True labels and some of the documents' pools, and for every `EASY` of these any label: in order, once."""
        shape = len(pool), self.each
        hard = pool.gather(1, torch.randint(POOL, shape, device=pool.device))
        easy = torch.randint(self.texts.labels.shape[1], (math.ceil(hard.numel() / EASY),))
        names = np.concatenate([array_of(part).ravel() for part in (positives, hard, easy)])
        return in_order(names[names != PAD]).astype(np.int64)


POOL = 100  # labels that a document draws its negatives from
RANKED = (
    400  # labels whose scores fill a pool: fewer than are ranked in the end, for all of train is ranked every epoch
)
EASY = 6  # for so many hard negatives one of any kind, so that labels of closed clusters do not drift


def encoder_groups(encoder: Encoder, stage: Stage, optim: Optim) -> list[Group]:
    """A bag has few weights beside its token vectors, and none that knew anything before."""
    own, words = (stage.cluster_lr, stage.label_lr) if isinstance(encoder, BagText) else (optim.lr, optim.lr)
    groups = [Group("encoder", adamw(encoder.dense, own, optim.weight_decay), optim.accumulate)]
    return [*groups, Group("words", RowAdam(encoder.tables, words), optim.accumulate)] if encoder.tables else groups


def head_groups(heads: GraphHeads | OneVsAll, stage: Stage, optim: Optim) -> list[Group]:
    """Labels and edges move where a batch touched them; edges are not averaged, for a mean of two graphs is none."""
    groups = [Group("labels", RowAdam(heads.classifiers.tables, stage.label_lr), stage.accumulate)]
    if heads.classifiers.dense:
        blocks = adamw(heads.classifiers.dense, stage.cluster_lr, optim.weight_decay)
        groups.append(Group("label texts", blocks, stage.accumulate))
    if isinstance(heads, OneVsAll):
        return groups
    clusters, edges = heads.router.clusters.parameters(), heads.router.edges
    groups.append(Group("clusters", adamw(clusters, stage.cluster_lr, optim.weight_decay), stage.accumulate))
    if edges.requires_grad:
        groups.append(Group("edges", RowAdam([edges], stage.label_lr), stage.accumulate, average=False))
    return groups


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


def classifiers_on(encoder: Encoder, texts: Source, config: Config) -> Classifiers:
    """Of labels, before their first step."""
    if texts.label_texts is None or not isinstance(encoder, BagText):
        return FreeRows(texts.train.labels.shape[1], encoder.dim)
    return ReadRows(rows_of(texts.label_texts), encoder.sums, config.bag.dropout)


def start_reading(router: GraphRouter, encoder: Encoder, texts: Source, clusters: Clusters) -> None:
    """Where labels are read, a cluster's row starts as the sum of what the texts of its labels say."""
    if texts.label_texts is not None and isinstance(encoder, BagText):
        rows = rows_of(cluster_texts(texts.label_texts, clusters))
        with torch.no_grad():
            router.clusters.weight.copy_(encoder.sums(take(rows, np.arange(len(clusters)))))


def negatives_of(texts: Source, config: Config) -> Negatives | None:
    """None where every document meets its whole shortlist."""
    return Negatives(config.ranker.negatives, texts.train) if config.ranker.negatives else None


def heads_on(router: GraphRouter, classifiers: Classifiers, stage: Stage, config: Config) -> GraphHeads:
    """A way to labels, and their classifiers."""
    return GraphHeads(
        router, classifiers, stage.shortlist_loss, config.ranker.loss == "label", config.ranker.belief_weight
    )


def router_on(dim: int, graph: Graph, n_labels: int, walk: Walk, beta: float) -> GraphRouter:
    """A graph, on vectors of this length."""
    return GraphRouter(dim, graph, n_labels, walk.beam, walk.alpha, beta, walk.shortlist, walk.paths == "all")


def trained(name: str, network: Network[Head], texts: Source, stage: Stage, config: Config, run: Run) -> Network[Head]:
    """Through the loop, which resumes where an earlier attempt was killed."""
    optim = with_many_steps(stage.optim, len(texts.train.lengths))
    return run.train(name, network, texts.train, optim, seed=config.seed, valid=texts.valid)
