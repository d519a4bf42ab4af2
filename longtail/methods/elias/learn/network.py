"""The network of ELIAS: encoder, graph and classifiers, with its loss and sampling of negatives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.data.batches import Batches, generator, longest_first
from longtail.encoders.learn.batches import TextBatch
from longtail.encoders.learn.encoder import LearningEncoder
from longtail.methods.elias.settings import Stage
from longtail.methods.shared.learn.groups import dense_group, encoder_groups, table_group
from longtail.methods.shared.negatives import EASY, POOL, labels_in_use, only_in_use
from longtail.progress import steps
from longtail.rankers.clustered import Clustered
from longtail.rankers.graphed import Graphed
from longtail.rankers.learn.candidates import in_order, of_few_sizes
from longtail.rankers.learn.graphed import GraphHeads, OneVsAll
from longtail.rankers.learn.label_rows import array_of
from longtail.ranking import Ranking
from longtail.ranks import here
from longtail.train.loop import on_device
from longtail.train.optim import Group
from longtail.train.settings import Optim

Head = TypeVar("Head", GraphHeads, OneVsAll)


class Network(nn.Module, Generic[Head]):
    """An encoder and its heads.

    With `negatives`, the documents of a batch share candidates: their true labels, negatives sampled per document from
    its top labels at the start of the epoch, and a few from all labels.
    """

    pool: Tensor | None  # (documents, POOL) int32 labels, PAD

    def __init__(self, encoder: LearningEncoder, heads: Head, stage: Stage, negatives: Negatives | None = None):
        super().__init__()
        self.encoder, self.stage, self.negatives = encoder, stage, negatives
        self.heads: Head = heads
        self.exported: Graphed | Clustered | None = None  # cached in eval mode, so that label rows are computed once
        self.register_buffer("pool", None if negatives is None else negatives.any())

    def start_epoch(self, epoch: int) -> None:
        """Update the parents of labels and the pool of hard negatives."""
        self.encoder.start_epoch(epoch)
        if not isinstance(self.heads, GraphHeads):
            return
        self.heads.router.find_parents()
        if self.negatives is not None and self.pool is not None and epoch > 0:
            self.pool.copy_(self.negatives.hardest(self.encoder, self.heads))
            self.train()

    def loss(self, batch: TextBatch) -> Tensor:
        """L = L_c + λ L_s, or the logistic loss over all labels."""
        if self.negatives is None or not isinstance(self.heads, GraphHeads):
            return self.heads.loss(self.vectors(batch), batch.positives)
        assert self.pool is not None
        candidates = self.negatives.with_true(batch.positives, self.pool[batch.rows])
        return self.heads.loss_on(candidates, self.vectors(batch), batch.positives)

    def vectors(self, batch: TextBatch) -> Tensor:
        """φ of each document, (documents, dim), with dropout in training."""
        return self.encoder.drop(self.encoder(batch.texts))

    def rank(self, batch: TextBatch, k: int) -> Ranking:
        """Predictions for validation."""
        if self.exported is None:
            self.exported = self.heads.export()
        return self.exported.rank(array_of(self.encoder(batch.texts)), k)

    def train(self, mode: bool = True) -> Self:
        """Switch the mode and discard exported heads."""
        self.exported = None
        return super().train(mode)

    def groups(self, optim: Optim) -> list[Group]:
        """Separate rates for encoder, labels, clusters and edges."""
        return encoder_groups(self.encoder, optim) + head_groups(self.heads, self.stage, optim)


# -- parameter groups --------------------------------------------------------------------------------------------------


def head_groups(heads: GraphHeads | OneVsAll, stage: Stage, optim: Optim) -> list[Group]:
    """Groups of the heads, with sparse updates of labels and edges.

    Edge weights could be averaged too, since stage 2 never changes their labels; like the authors, we do not.
    """
    every, rows = stage.row_batches, heads.classifiers
    groups = [
        *table_group("labels", rows.tables, optim.row_lr, optim, every),
        *dense_group("label texts", rows.dense, stage.cluster_lr, optim, accumulate=every),
    ]
    if isinstance(heads, OneVsAll):
        return groups
    groups += dense_group(
        "clusters", list(heads.router.clusters.parameters()), stage.cluster_lr, optim, accumulate=every
    )
    if heads.router.edges.requires_grad:
        groups += table_group("edges", [heads.router.edges], optim.row_lr, optim, every, average=False)
    return groups


# -- negatives -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Negatives:
    """Sampling of negatives."""

    each: int  # negatives per document
    texts: Batches = field(repr=False)

    def any(self) -> Tensor:
        """Initial pools: random labels that have documents."""
        names = torch.from_numpy(np.flatnonzero(self.in_use).astype(np.int32))
        return names[torch.randint(len(names), (len(self.texts.lengths), POOL))]

    @cached_property
    def in_use(self) -> np.ndarray:
        """Labels that can be hard negatives."""
        return labels_in_use(self.texts.labels)

    def hardest(self, encoder: LearningEncoder, heads: GraphHeads) -> Tensor:
        """New pools: the top labels of every document."""
        vectors = vectors_of(encoder, self.texts, str(next(encoder.parameters()).device))
        exported = heads.export()
        near = replace(exported, index=replace(exported.index, shortlist=min(exported.index.shortlist, RANKED)))
        ranked = here().divided(len(vectors), lambda part: near.rank(vectors[part], POOL).labels)
        return torch.from_numpy(only_in_use(ranked, self.in_use))

    def with_true(self, positives: Tensor, pool: Tensor) -> np.ndarray:
        """Sorted candidates: true labels, samples of the pools, and one random label per `EASY` samples."""
        shape = len(pool), self.each
        hard = pool.gather(1, torch.randint(POOL, shape, device=pool.device))
        easy = torch.randint(self.texts.labels.shape[1], (math.ceil(hard.numel() / EASY),))
        names = np.concatenate([array_of(part).ravel() for part in (positives, hard, easy)])
        return of_few_sizes(in_order(names[names != PAD]).astype(np.int64), array_of(positives))


RANKED = 400  # candidates for a pool: fewer than in inference, since all of train is ranked every epoch


def vectors_of(encoder: LearningEncoder, batches: Batches, device: str) -> np.ndarray:
    """φ of all documents, (documents, dim) float32."""
    encoder.eval()
    vectors = np.empty((len(batches.lengths), encoder.dim), np.float32)
    for rows in steps(longest_first(batches.lengths, AT_ONCE), "reading documents"):
        batch = on_device(batches.batch(rows, generator(0)), torch.device(device))
        with torch.inference_mode():
            vectors[rows] = array_of(encoder(batch.texts))
    return vectors


AT_ONCE = 128  # documents per batch without gradients
