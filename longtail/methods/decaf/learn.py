"""The half of DECAF that learns: one network, trained three times through the training loop.

module   documents meet        rows                                start
I        clusters              ℰ_L(u_m)                            blocks: identity
II       clusters, clustered   σ(α) ⊙ ℰ_L(u_m) + σ(β) ⊙ û²_m       E of module I, û² = E u, blocks anew
         again
IV       labels                σ(α) ⊙ ℰ_L(z_l) + σ(β) ⊙ ẑ²_l       E of module II, ẑ² = E z, blocks anew (III)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.encoders.learn.bag import Block, Dropout, bag, exported
from longtail.index.clusters import Clusters
from longtail.index.partition import cluster_targets, cluster_texts, in_cluster_order, members_of
from longtail.kernels.bag import bag_sums
from longtail.kernels.csr import Rows, rows_of
from longtail.methods.decaf.model import Scorer
from longtail.methods.decaf.settings import Config, Learning, Parts
from longtail.methods.decaf.stages import Data
from longtail.methods.shared.negatives import EASY, POOL, labels_in_use, only_in_use
from longtail.rankers.learn.candidates import Candidates, Meeting, apart, meeting, meeting_loss, together
from longtail.rankers.learn.label_rows import LearningRows, array_of
from longtail.shortlist import Shortlist
from longtail.train.loop import seeded
from longtail.train.optim import Group, Optim
from longtail.train.row_adam import RowAdam
from longtail.train.run import Run
from longtail.train.settings import with_many_steps

BLOCK_RATE = 0.1  # of the learning rate: blocks move with every batch, a token or a label with few


def learn_surrogate(data: Data, clusters: Clusters, vectors: np.ndarray, config: Config, run: Run) -> np.ndarray:
    """Module I: token vectors that tell clusters apart by their texts alone, h_m = ℰ_L(u_m)."""
    meetings = against_clusters(data, clusters, config)
    network = started(vectors, meetings, config, config.surrogate, "text", frozen=False)
    trained(network, "surrogate", meetings, config.surrogate, config.seed, run)
    return array_of(network.vectors)


def learn_shortlister(
    data: Data, clusters: Clusters, vectors: np.ndarray, config: Config, run: Run, number: int
) -> Scorer:
    """Module II: classifiers of clusters that read and remember."""
    meetings = against_clusters(data, clusters, config)
    # Table 6 draws the refinement of labels at random, that of clusters not.
    parts = "both" if config.classifier == "no-init" else config.classifier
    network = started(vectors, meetings, config, config.shortlister, parts, config.lite)
    trained(network, f"shortlister-{number}", meetings, config.shortlister, config.seed + number, run)
    return network.scorer(meetings.texts)


def learn_ranker(
    data: Data, clusters: Clusters, opened: np.ndarray, vectors: np.ndarray, config: Config, run: Run, number: int
) -> Scorer:
    """Modules III and IV: classifiers of labels, learned on what the shortlister proposes."""
    texts, labels = rows_of(data.label_texts[clusters.labels]), in_cluster_order(data.labels, clusters)
    pool = (
        first_pool(clusters.starts, opened, np.random.default_rng(config.seed + number)) if config.negatives else None
    )
    meetings = Meetings(rows_of(data.documents), labels, texts, config.negatives, clusters.starts, opened, pool)
    network = started(vectors, meetings, config, config.ranker, config.classifier, config.lite)
    trained(network, f"ranker-{number}", meetings, config.ranker, config.seed + number, run)
    return network.scorer(meetings.texts)


def against_clusters(data: Data, clusters: Clusters, config: Config) -> Meetings:
    """Documents that meet clusters: those of their own labels, and any others."""
    texts = rows_of(cluster_texts(data.label_texts, clusters))
    return Meetings(rows_of(data.documents), cluster_targets(data.labels, clusters), texts, config.negatives)


# -- the network ---------------------------------------------------------------------------------------------------


class Network(nn.Module):
    """Token vectors, a block that reads documents, and rows that read label texts."""

    def __init__(self, vectors: Tensor, labels: LearningRows, learning: Learning, frozen: bool, meetings: Meetings):
        super().__init__()
        self.vectors = nn.Parameter(vectors, requires_grad=not frozen)
        self.read, self.dropout = Block(vectors.shape[1], learning.dropout), Dropout(learning.dropout)
        self.words, self.labels = Dropout(learning.words_dropped), labels
        self.meetings = meetings
        # The same memory as the meetings' pool, so that a checkpoint carries it and a resume restores it.
        self.register_buffer("pool", None if meetings.pool is None else torch.from_numpy(meetings.pool))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Moved to another device, all but the pool goes there: batches are made on the CPU."""
        super()._apply(fn, recurse)
        if self.meetings.pool is not None:
            self.pool = torch.from_numpy(self.meetings.pool)
        return self

    def start_epoch(self, epoch: int) -> None:
        """Before every epoch but the first: what each document finds hardest now becomes its negatives."""
        if self.pool is not None and epoch > 0:
            self.meetings.sharpen(self.scorer(self.meetings.texts))
            self.train()

    def loss(self, batch: Meeting) -> Tensor:
        """[L̃] the logistic loss on the pairs that meet: summed over a document's, the mean over documents."""
        sums = bag(self.vectors, batch.starts, batch.tokens, batch.weights_dropped(self.words))
        documents = self.dropout(self.read(sums[: batch.documents]).relu())
        rows, biases = self.labels(batch.candidates, sums[batch.documents :])
        return meeting_loss(documents, rows, biases, batch)

    def groups(self, optim: Optim) -> list[Group]:
        """Tokens and labels move where a batch touched them, blocks always."""
        tables = [self.vectors, *self.labels.tables]
        blocks = [each for each in self.parameters() if each.requires_grad and all(each is not t for t in tables)]
        return [
            Group("tables", RowAdam(tables, optim.lr)),
            Group("blocks", torch.optim.Adam(blocks, BLOCK_RATE * optim.lr)),
        ]

    def scorer(self, texts: Rows) -> Scorer:
        """Export to NumPy: an encoder of documents, and a row for every label."""
        self.eval()
        sums = torch.from_numpy(bag_sums(texts, array_of(self.vectors))).to(self.vectors.device)
        return Scorer(exported(self.vectors, self.read), self.labels.export(sums))


def started(
    vectors: np.ndarray, meetings: Meetings, config: Config, learning: Learning, parts: Parts, frozen: bool
) -> Network:
    """A network before its first step, its rows made of these parts."""
    vectors = at_first_length(vectors)
    with seeded(config.seed):
        refinement = None if parts == "text" else _refinement(vectors, meetings.texts, parts)
        n_labels = len(meetings.texts[0]) - 1
        read = None if parts == "refinement" else Block(config.dim, learning.dropout)
        rows = LearningRows(n_labels, refinement, read)
        return Network(torch.from_numpy(vectors), rows, learning, frozen, meetings)


def at_first_length(vectors: np.ndarray) -> np.ndarray:
    """The vectors with the mean length √2 that random ones start with.

    Learning makes them longer, and a network that starts with long ones believes its first guesses too much.
    """
    mean = np.linalg.norm(vectors, axis=1).mean()
    return vectors * np.float32(np.sqrt(2) / mean) if mean > 0 else np.array(vectors)


def _refinement(vectors: np.ndarray, texts: Rows, parts: Parts) -> Tensor:
    """Module III: ẑ² = E z."""
    if parts == "no-init":
        from longtail.methods.decaf.ablations import random_refinement

        return random_refinement(len(texts[0]) - 1, vectors.shape[1])
    return torch.from_numpy(bag_sums(texts, vectors))


def trained(network: Network, name: str, meetings: Meetings, learning: Learning, seed: int, run: Run) -> Network:
    """Through the loop, which resumes where an earlier attempt was killed."""
    optim = Optim(
        lr=learning.lr, epochs=learning.epochs, batch_size=learning.batch_size, schedule="linear",
        warmup=0.02, keep="last", average_from=learning.epochs - learning.averaged + 1 if learning.averaged else None,
        precision=learning.precision,
    )  # fmt: skip
    return run.train(name, network, meetings, with_many_steps(optim, len(meetings.lengths)), seed=seed)


def first_pool(starts: np.ndarray, opened: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(documents, POOL) labels drawn from the clusters each document opened; PAD where an empty one was drawn."""
    clusters = opened[np.arange(len(opened))[:, None], rng.integers(opened.shape[1], size=(len(opened), POOL))]
    sizes = np.diff(starts)[clusters]
    labels = starts[clusters] + (rng.random(clusters.shape) * sizes).astype(np.int64)
    return np.where(sizes == 0, PAD, labels).astype(np.int32)


# -- who meets whom ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meetings:
    """Batches for the training loop.

    With `negatives`, a batch's candidates are the true labels of its documents and so many negatives that each
    document brings, drawn from its pool and a few from all labels; every document meets all of them.
    Without, a document meets every label of the clusters it opened, or every label there is.
    """

    documents: Rows
    labels: sp.csr_array  # (documents, labels)
    texts: Rows  # bags of the labels' texts
    negatives: int
    cluster_starts: np.ndarray | None = None  # labels of cluster c: those from starts[c] to starts[c + 1]
    opened: np.ndarray | None = None  # (documents, beam) int32 clusters
    pool: np.ndarray | None = None  # (documents, POOL) int32 labels in opened clusters, PAD
    filtered: sp.csr_array | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Bags need no padding, so every document is as long as any other."""
        return np.ones(len(self.documents[0]) - 1, np.int64)

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> Meeting:
        """The documents at `rows` with their candidates."""
        true = self.labels[rows]
        return meeting(self.documents, rows, self._candidates(rows, true, rng), self.texts)

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

    def sharpen(self, scorer: Scorer) -> None:
        """Fill the pools with the labels that score best among those of the opened clusters."""
        assert self.pool is not None and self.opened is not None and self.cluster_starts is not None
        names, sure = np.arange(self.labels.shape[1], dtype=np.int32), np.ones(self.opened.shape, np.float32)
        vectors = scorer.encoder.documents(self.documents)
        rows = replace(scorer.rows, clusters=Clusters(names, self.cluster_starts))
        self.pool[:] = rows.top_inside(vectors, Shortlist(self.opened, sure), self.pool.shape[1]).labels
