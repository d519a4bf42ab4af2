"""What Table 5 compares with: LightXML with static negatives, two networks trained one after the other.

negatives       trainings   text vectors                            candidates
dynamic         one         shared by G and D, both move them       what G opens at the moment: learn.py
static          G, then D   G's, frozen while D learns              what G opens after its training
static-twice    G, then D   G's; D has its own, which start there   the same
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from longtail.data.batches import generator, longest_first
from longtail.encoders.learn.bag import Dropout
from longtail.encoders.learn.batches import TokenBatch, TokenBatches
from longtail.encoders.learn.transformer import TransformerEncoder
from longtail.errors import ConfigError
from longtail.methods.lightxml.settings import Config
from longtail.methods.shared.clustered_transformer.learn import Network, groups_of, heads_on, start_reading
from longtail.methods.shared.clustered_transformer.model import ClusteredTransformer
from longtail.methods.shared.clustered_transformer.stages import Data
from longtail.methods.shared.learn.transformer_reading import batches_of
from longtail.progress import steps
from longtail.rankers.learn.clustered import LearningDiscriminator
from longtail.ranking import Ranking
from longtail.train.loop import on_device, seeded
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim


def learn_in_turn(data: Data, config: Config, run: Run) -> ClusteredTransformer:
    """The generator to its end, then the discriminator on what that opens."""
    refuse_nothing_chosen(data, config)
    documents, valid = batches_of(data.read, data.train, data.valid)
    again = config.negatives == "static-twice"
    with seeded(config.seed):
        encoder = TransformerEncoder(data.read.start, config.reading)
        heads = heads_on(encoder, data, config.recall)
    start_reading(heads, data, config.reading, config.recall, run)
    discriminator, heads.discriminator = heads.discriminator, None  # until recall has learned
    assert discriminator is not None  # there are clusters
    recall = Network(encoder, heads, config.reading.dropout, config.head_lr, config.head_eps)
    run.train("recall", recall, documents, config.optim, seed=config.seed)
    opened = run.stage("opened", open_clusters, recall, documents, config.optim.batch_size, run.device)
    with seeded(config.seed):
        second = TransformerEncoder(encoder.export(), config.reading)
    if not again:
        second.requires_grad_(False)
    ranker = Ranker(second, discriminator, recall, opened, config.reading.dropout, config.head_lr)
    run.train("rank", ranker, documents, config.optim, seed=config.seed, valid=valid)
    heads.discriminator = discriminator
    return ClusteredTransformer(encoder.export(), heads.export(), second.export() if again else None)


def refuse_nothing_chosen(data: Data, config: Config) -> None:
    """Raise ConfigError where the generator would open everything there is."""
    if data.flat or len(data.clusters) <= config.recall.beam:
        what = "every label is scored" if data.flat else f"all {len(data.clusters)} clusters are opened"
        raise ConfigError(
            f"negatives = {config.negatives!r}, but for {data.train.n_labels:,} labels {what}, so none are chosen; "
            "lower recall.one_vs_all_up_to, recall.labels_per_cluster or recall.beam"
        )


def open_clusters(recall: Network, documents: TokenBatches, batch_size: int, device: str) -> np.ndarray:
    """The clusters that a trained generator opens for every document, (documents, beam) int32."""
    opened = np.empty((len(documents.lengths), recall.heads.beam), np.int32)
    for rows in steps(longest_first(documents.lengths, batch_size), "reading documents"):
        batch = on_device(documents.batch(rows, generator(0)), torch.device(device))
        with torch.inference_mode():
            logits = recall.heads.generator(recall.encoder(batch.ids, batch.lengths))
        opened[rows] = recall.heads.opened(logits).cpu().numpy()
    return opened


class Ranker(nn.Module):
    """A discriminator on candidates that were chosen before."""

    def __init__(
        self, encoder: TransformerEncoder, discriminator: LearningDiscriminator, recall: Network, opened: np.ndarray,
        dropout: float, head_lr: float,
    ):  # fmt: skip
        super().__init__()
        self.encoder, self.discriminator, self.opened = encoder, discriminator, opened
        self.dropout, self.head_lr = Dropout(dropout), head_lr
        self.before = (recall,)  # in a tuple, where torch does not look for what learns or is to be saved

    def train(self, mode: bool = True) -> Self:
        """A transformer that is frozen drops nothing."""
        super().train(mode)
        self.encoder.train(mode and any(each.requires_grad for each in self.encoder.parameters()))
        return self

    def loss(self, batch: TokenBatch) -> Tensor:
        """(5) alone."""
        documents = self.dropout(self.encoder(batch.ids, batch.lengths))
        opened = torch.from_numpy(self.opened[batch.rows.cpu().numpy()])
        return self.discriminator.loss(documents, opened, batch.positives)

    def rank(self, batch: TokenBatch, k: int) -> Ranking:
        """What validation judges: the generator of before, and the discriminator as it is."""
        (recall,) = self.before
        one, other = (each(batch.ids, batch.lengths).cpu().numpy() for each in (recall.encoder, self.encoder))
        return replace(recall.heads.export(), discriminator=self.discriminator.export()).rank(one, k, other)

    def groups(self, optim: Optim) -> list[Group]:
        """As when both learn together."""
        return groups_of(self.encoder, self.discriminator, self.head_lr, optim)
