"""Ablation of Table 5: LightXML with static negatives, two networks trained one after the other.

negatives       trainings   text vectors                            candidates
dynamic         one         shared and trained by G and D           clusters opened by the current G: learn.py
static          G, then D   G's, frozen while D is trained          clusters opened by the trained G
static-twice    G, then D   D has its own, initialised from G's     the same
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from longtail.data.batches import generator, longest_first
from longtail.encoders.learn.batches import Labelled, TextBatch
from longtail.encoders.learn.encoder import LearningEncoder
from longtail.errors import ConfigError
from longtail.methods.lightxml.settings import Config, Variant
from longtail.methods.shared.clustered.learn import (
    Network,
    batches_of,
    encoder_on,
    head_groups,
    heads_on,
    start_reading,
)
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.methods.shared.clustered.stages import Data
from longtail.methods.shared.learn.groups import encoder_groups
from longtail.progress import steps
from longtail.rankers.learn.clustered import LearningDiscriminator
from longtail.rankers.learn.label_rows import array_of
from longtail.ranking import Ranking
from longtail.train.loop import on_device, seeded
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim


def learn_in_turn(data: Data, config: Config, run: Run, variant: Variant) -> ClusteredEncoder:
    """Train the generator, then the discriminator on the clusters it opens."""
    refuse_nothing_chosen(data, config)
    documents, valid = batches_of(data)
    again = variant == "static-twice"
    with seeded(config.seed):
        encoder = encoder_on(data, config)
        heads = heads_on(encoder, data, config)
    start_reading(heads, data, config, run)
    discriminator, heads.discriminator = heads.discriminator, None  # until the generator is trained
    assert discriminator is not None  # there are clusters
    recall = Network(encoder, heads, config.eps)
    run.train("recall", recall, documents, config.optim, seed=config.seed)
    opened = run.stage("opened", open_clusters, recall, documents, config.optim.batch_size, run.device)
    with seeded(config.seed):
        second = data.source.started(encoder.export(), config.dropout)
    if not again:
        second.requires_grad_(False)
    ranker = Ranker(second, discriminator, recall, opened)
    run.train("rank", ranker, documents, config.optim, seed=config.seed, valid=valid)
    heads.discriminator = discriminator
    return ClusteredEncoder(encoder.export(), heads.export(), second.export() if again else None)


def refuse_nothing_chosen(data: Data, config: Config) -> None:
    """Raise ConfigError if the generator would open all clusters."""
    if data.flat or len(data.clusters) <= config.beam:
        what = "every label is scored" if data.flat else f"all {len(data.clusters)} clusters are opened"
        raise ConfigError(
            f"static negatives, but for {data.train.n_labels:,} labels {what}, so none are chosen; "
            "lower one_vs_all_up_to, labels_per_cluster or beam"
        )


def open_clusters(recall: Network, documents: Labelled, batch_size: int, device: str) -> np.ndarray:
    """The clusters that the trained generator opens for every document, (documents, beam) int32."""
    opened = np.empty((len(documents.lengths), recall.heads.beam), np.int32)
    for rows in steps(longest_first(documents.lengths, batch_size), "reading documents"):
        batch = on_device(documents.batch(rows, generator(0)), torch.device(device))
        with torch.inference_mode():
            logits = recall.heads.generator(recall.encoder(batch.texts))
        opened[rows] = recall.heads.opened(logits).cpu().numpy()
    return opened


class Ranker(nn.Module):
    """A discriminator on fixed candidates."""

    def __init__(
        self, encoder: LearningEncoder, discriminator: LearningDiscriminator, recall: Network, opened: np.ndarray
    ):
        super().__init__()
        self.encoder, self.discriminator, self.opened = encoder, discriminator, opened
        self.before = (recall,)  # in a tuple, so that torch does not register its parameters

    def train(self, mode: bool = True) -> Self:
        """Switch the mode, without dropout inside a frozen encoder."""
        super().train(mode)
        self.encoder.train(mode and any(each.requires_grad for each in self.encoder.parameters()))
        self.encoder.drop.train(mode)
        return self

    def loss(self, batch: TextBatch) -> Tensor:
        """The loss (5)."""
        documents = self.encoder.drop(self.encoder(batch.texts))
        opened = torch.from_numpy(self.opened[batch.rows.cpu().numpy()])
        return self.discriminator.loss(documents, opened, batch.positives)

    def rank(self, batch: TextBatch, k: int) -> Ranking:
        """Predictions for validation, by the trained generator and the current discriminator."""
        (recall,) = self.before
        one, other = (array_of(each(batch.texts)) for each in (recall.encoder, self.encoder))
        return replace(recall.heads.export(), discriminator=self.discriminator.export()).rank(one, k, other)

    def groups(self, optim: Optim) -> list[Group]:
        """The same groups as in joint training."""
        return encoder_groups(self.encoder, optim) + head_groups(self.discriminator, optim)
