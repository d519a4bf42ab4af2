"""Training of DECAF: one network, trained three times.

module   scored against        rows                                initialisation
I        clusters              ℰ_L(u_m)                            blocks: identity
II       clusters, clustered   σ(α) ⊙ ℰ_L(u_m) + σ(β) ⊙ û²_m       encoder of module I, û² = E u, new blocks
         again
IV       labels                σ(α) ⊙ ℰ_L(z_l) + σ(β) ⊙ ẑ²_l       encoder of module II, ẑ² = E z, new blocks (III)

With a transformer, E z is its vector of the text z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from longtail.corpus import PAD, Corpus
from longtail.encoders.bag import TokenBag
from longtail.encoders.encoder import Encoder
from longtail.encoders.label_texts import TextRows
from longtail.encoders.learn.bag import BLOCK_SHARE, Block
from longtail.encoders.learn.batches import ReadTexts
from longtail.encoders.learn.encoder import LearningEncoder, Source
from longtail.index.balanced import balanced_clusters
from longtail.index.clusters import Clusters
from longtail.index.partition import cluster_targets, in_cluster_order, members_of
from longtail.methods.decaf.model import Scorer
from longtail.methods.decaf.settings import RANKER, SHORTLISTER, SURROGATE, Config, Parts, Variant
from longtail.methods.shared.learn.groups import dense_group, encoder_groups, table_group
from longtail.methods.shared.negatives import EASY, POOL, labels_in_use, only_in_use
from longtail.methods.shared.preparation import cluster_labels
from longtail.rankers.learn.candidates import Candidates, Meeting, apart, meeting, meeting_loss, together
from longtail.rankers.learn.label_rows import LearningRows
from longtail.ranks import here
from longtail.shortlist import Shortlist
from longtail.sparse import take
from longtail.store import let_go
from longtail.train.checkpoint import mapped_weights
from longtail.train.loop import seeded
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim, with_many_steps


@dataclass(frozen=True)
class Data:
    """Training data of all modules."""

    source: Source  # tokenized documents x and label texts z
    labels: sp.csr_array  # y: (documents, labels)


def cluster_by_words(corpus: Corpus, source: Source, labels_per_cluster: int, seed: int) -> Clusters:
    """Cluster labels by c_l = Σ x_i over the documents of label l; by label text if there are none."""
    documents, label_texts = source.features(corpus)
    return cluster_labels(documents, corpus.labels, label_texts, labels_per_cluster, seed)


def cluster_by_vectors(
    labels: sp.csr_array, source: Source, encoder: Encoder, labels_per_cluster: int, seed: int
) -> Clusters:
    """Cluster labels by c_l = Σ E x_i, in the space learned by module I."""
    points = np.asarray(labels.T @ encoder.before_block(source.read_train()))
    unseen = np.flatnonzero(np.bincount(labels.indices, minlength=len(points)) == 0)
    if len(unseen):
        points[unseen] = source.before_block(encoder, TextRows.one_each(unseen))
    return balanced_clusters(points, labels_per_cluster, seed)


def learn_surrogate(data: Data, clusters: Clusters, config: Config, run: Run) -> Encoder:
    """Module I: train the encoder on clusters, classified by their texts alone, h_m = ℰ_L(u_m)."""
    meetings = against_clusters(data, clusters, config)
    network = started(data, meetings, data.source.first, "text", config.dropout_of(SURROGATE), config)
    return trained(network, "surrogate", config.optim_of(SURROGATE), run, config.seed).encoder


def learn_shortlister(
    data: Data, clusters: Clusters, start: Encoder, variant: Variant, config: Config, run: Run, number: int
) -> Scorer:
    """Module II: train cluster classifiers from text and refinement."""
    meetings = against_clusters(data, clusters, config)
    # Table 6 randomises the refinement of labels only, not of clusters.
    parts: Parts = "both" if variant.parts == "no-init" else variant.parts
    network = started(data, meetings, start, parts, config.dropout_of(SHORTLISTER), config, variant.lite)
    return trained(network, f"shortlister-{number}", config.optim_of(SHORTLISTER), run, config.seed + number)


def learn_ranker(
    data: Data, clusters: Clusters, opened: np.ndarray, start: Encoder, variant: Variant, config: Config, run: Run,
    number: int,
) -> Scorer:  # fmt: skip
    """Modules III and IV: train label classifiers on the shortlister's candidates."""
    rows, labels = TextRows.one_each(clusters.labels), in_cluster_order(data.labels, clusters)
    rng = np.random.default_rng(config.seed + number)
    pool = first_pool(clusters.starts, opened, rng) if config.negatives else None
    texts = data.source.with_labels(rows)
    meetings = Meetings(texts, labels, rows, config.negatives, clusters.starts, opened, pool)
    dropout, dropped = config.dropout_of(RANKER), config.bag.words_dropped
    network = started(data, meetings, start, variant.parts, dropout, config, variant.lite, dropped)
    return trained(network, f"ranker-{number}", config.optim_of(RANKER), run, config.seed + number)


def against_clusters(data: Data, clusters: Clusters, config: Config) -> Meetings:
    """Batches of documents scored against clusters: those of their labels, and sampled others."""
    rows = TextRows(clusters.labels, clusters.starts)
    texts = data.source.with_labels(rows)
    return Meetings(texts, cluster_targets(data.labels, clusters), rows, config.negatives)


# -- the network ---------------------------------------------------------------------------------------------------


class Network(nn.Module):
    """A document encoder, and rows computed from label texts."""

    pool: Tensor | None

    def __init__(self, encoder: LearningEncoder, labels: LearningRows, meetings: Meetings, read: Any):  # noqa: ANN401
        super().__init__()
        self.encoder, self.labels, self.meetings = encoder, labels, meetings
        self.read = read  # all documents, as input of an exported encoder
        # Shares memory with the pool of `meetings`, so that checkpoints include it and resuming restores it.
        self.register_buffer("pool", None if meetings.pool is None else torch.from_numpy(meetings.pool))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move all but the pool to another device: batches are made on the CPU."""
        super()._apply(fn, recurse)
        if self.meetings.pool is not None:
            self.pool = torch.from_numpy(self.meetings.pool)
        return self

    def start_epoch(self, epoch: int) -> None:
        """Encode label texts and, except before the first epoch, update the hard negatives."""
        self.encoder.start_epoch(epoch)
        if self.pool is not None and epoch > 0:
            self.meetings.sharpen(self.scorer(as_view=True), self.read)
            self.train()

    def loss(self, batch: Meeting) -> Tensor:
        """[L̃] logistic loss, summed over the candidates of a document, mean over documents."""
        documents, texts = self.encoder.with_labels(batch.texts)  # type: ignore[arg-type]
        documents = self.encoder.drop(documents)
        rows, biases = self.labels(batch.candidates, texts)
        return meeting_loss(documents, rows, biases, batch)

    def groups(self, optim: Optim) -> list[Group]:
        """Sparse updates of tokens and labels, dense ones of blocks."""
        return [
            *encoder_groups(self.encoder, optim),
            *table_group("labels", self.labels.tables, optim.row_lr, optim),
            *dense_group("label texts", self.labels.dense, BLOCK_SHARE * optim.row_lr, optim),
        ]

    def scorer(self, as_view: bool = False) -> Scorer:
        """Export to NumPy: a document encoder, which may share its memory, and a row for every label."""
        self.eval()
        return Scorer(self.encoder.export(as_view), self.labels.export())

    def finished(self, name: str, run: Run) -> Scorer:
        """Export after the training of this name; token vectors are mapped from disk, so that they can be let go."""
        scorer = self.scorer(as_view=True)
        if not isinstance(scorer.encoder, TokenBag):
            return scorer
        vectors = mapped_weights(run.directory / "training" / name)["encoder.vectors"]
        return replace(scorer, encoder=replace(scorer.encoder, vectors=vectors))


def started(
    data: Data, meetings: Meetings, start: Encoder, parts: Parts, dropout: float, config: Config,
    frozen: bool = False, words_dropped: float = 0.0,
) -> Network:  # fmt: skip
    """An initial network with rows of these parts."""
    given, start = start, start.as_start()
    rest(given)
    with seeded(config.seed):
        refinement = None if parts == "text" else _refinement(data.source, start, meetings.rows, parts)
        read = None if parts == "refinement" else Block(start.dim, dropout)
        rows = LearningRows(len(meetings.rows), refinement, read)
        encoder = data.source.started(start, dropout, meetings.rows, words_dropped)
    if frozen:
        for table in encoder.tables:
            table.requires_grad_(False)
    rows.sums = encoder.of_labels  # for exports; batches encode their own label texts
    return Network(encoder, rows, meetings, data.source.read_train())


def rest(encoder: Encoder) -> None:
    """Give the memory of mapped token vectors back until they are read again."""
    if isinstance(encoder, TokenBag):
        let_go(encoder.vectors)


def _refinement(source: Source, start: Encoder, rows: TextRows, parts: Parts) -> Tensor:
    """Module III: ẑ² = E z."""
    if parts == "no-init":
        from longtail.methods.decaf.ablations import random_refinement

        return random_refinement(len(rows), start.dim)
    return torch.from_numpy(source.first_rows(start, rows.part(here().part(len(rows)))))


def trained(network: Network, name: str, optim: Optim, run: Run, seed: int) -> Scorer:
    """Train the network, resuming an earlier attempt, and export it."""
    run.train(name, network, network.meetings, with_many_steps(optim, len(network.meetings.lengths)), seed=seed)
    return network.finished(name, run)


def first_pool(starts: np.ndarray, opened: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(documents, POOL) labels sampled from the opened clusters of each document; PAD for empty clusters."""
    clusters = opened[np.arange(len(opened))[:, None], rng.integers(opened.shape[1], size=(len(opened), POOL))]
    sizes = np.diff(starts)[clusters]
    labels = starts[clusters] + (rng.random(clusters.shape) * sizes).astype(np.int64)
    return np.where(sizes == 0, PAD, labels).astype(np.int32)


# -- batches with candidates ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meetings:
    """Batches of documents and the candidate labels they are scored against.

    With `negatives`, all documents of a batch share candidates: their true labels and this many negatives per document,
    sampled from its pool, plus a few from all labels.  Without, the candidates of a document are the labels of its
    opened clusters, or all labels.
    """

    texts: ReadTexts  # of documents and labels
    labels: sp.csr_array  # (documents, labels)
    rows: TextRows  # label texts of each row, of a label or cluster
    negatives: int
    cluster_starts: np.ndarray | None = None  # cluster c has labels starts[c] to starts[c + 1]
    opened: np.ndarray | None = None  # (documents, beam) int32 clusters
    pool: np.ndarray | None = None  # (documents, POOL) int32 labels in opened clusters, PAD
    filtered: sp.csr_array | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Length of each document."""
        return self.texts.lengths

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> Meeting:
        """The documents at `rows` with their candidates."""
        candidates = self._candidates(rows, self.labels[rows], rng)
        return meeting(self.texts, rows, candidates, read_labels=True)

    def _candidates(self, rows: np.ndarray, true: sp.csr_array, rng: np.random.Generator) -> Candidates:
        if self.negatives:
            return together(true, self._drawn(rows, rng))
        if self.opened is None:
            return together(true, np.arange(self.labels.shape[1]))
        assert self.cluster_starts is not None
        return apart(true, *members_of(self.cluster_starts, self.opened[rows]), with_true=False)

    def _drawn(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n_labels, shape = self.labels.shape[1], (len(rows), self.negatives)
        if self.pool is None:
            return rng.integers(n_labels, size=shape)
        hard = self.pool[rows[:, None], rng.integers(self.pool.shape[1], size=shape)]
        return np.append(only_in_use(hard, self.in_use), rng.integers(n_labels, size=hard.size // EASY))

    @cached_property
    def in_use(self) -> np.ndarray:
        """Labels that can be hard negatives."""
        return labels_in_use(self.labels)

    def sharpen(self, scorer: Scorer, read: Any) -> None:  # noqa: ANN401 - tokenized documents
        """Fill the pools with the best-scoring labels of the opened clusters."""
        assert self.pool is not None and self.opened is not None and self.cluster_starts is not None
        names, width = np.arange(self.labels.shape[1], dtype=np.int32), self.pool.shape[1]
        rows = replace(scorer.rows, clusters=Clusters(names, self.cluster_starts))
        vectors = None if isinstance(read, tuple) else scorer.vectors(read)  # bags are encoded as they are needed
        opened = self.opened

        def hardest(part: slice) -> np.ndarray:
            found = np.empty((part.stop - part.start, width), np.int32)
            for start in range(part.start, part.stop, SHARPENED):
                some = np.arange(start, min(start + SHARPENED, part.stop))
                inside = scorer.vectors(take(read, some)) if vectors is None else vectors[some]
                sure = Shortlist(opened[some], np.ones((len(some), opened.shape[1]), np.float32))
                found[some - part.start] = rows.top_inside(inside, sure, width).labels
            return found

        self.pool[:] = here().divided(len(self.pool), hardest)
        let_go(self.opened)


SHARPENED = 16_384  # documents whose pools are filled at once
