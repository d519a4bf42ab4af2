"""The half of LightXML that learns: one network for text and labels, or for static negatives two, one after the other.

negatives       trainings   text vectors                            candidates
dynamic         one         shared by G and D, both move them       what G opens at the moment
static          G, then D   G's, frozen while D learns              what G opens after its training
static-twice    G, then D   G's; D has its own, which start there   the same
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from longtail.corpus import Corpus
from longtail.data.batches import generator, longest_first
from longtail.encoders.learn.bag import Dropout
from longtail.encoders.learn.batches import TokenBatch, TokenBatches
from longtail.encoders.learn.transformer import TransformerEncoder
from longtail.encoders.transformer import Reading
from longtail.features.tokens import Tokens
from longtail.methods.lightxml import Config, Data, LightXML, Recall, read_labels
from longtail.progress import steps
from longtail.rankers.clustered import Clustered
from longtail.rankers.learn.clustered import Discriminator, Heads, array_of
from longtail.ranking import Ranking
from longtail.train.loop import on_device, seeded
from longtail.train.optim import Group, adamw
from longtail.train.row_adam import RowAdam
from longtail.train.run import Run
from longtail.train.settings import Optim


def learn(data: Data, config: Config, run: Run) -> LightXML:
    """Transformer, generator and discriminator together (Algorithm 1)."""
    with seeded(config.seed):
        encoder = TransformerEncoder(data.start, config.reading)
        heads = heads_on(encoder, data, config.recall)
    start_reading(heads, data, config.reading, config.recall, run)
    network = Network(encoder, heads, config.reading.dropout, config.head_lr, config.head_eps)
    documents, valid = batches(data, data.train, data.tokens), batches(data, data.valid, data.valid_tokens)
    run.train("lightxml", network, documents, config.optim, seed=config.seed, valid=valid)
    return LightXML(network.encoder.settled(), network.heads.settled())


def heads_on(encoder: TransformerEncoder, data: Data, recall: Recall) -> Heads:
    """Generator and, unless every label is its own cluster, discriminator on the encoder's vectors."""
    discriminator = None if data.flat else Discriminator(encoder.dim, recall.label_dim, data.clusters)
    heads = Heads(encoder.dim, data.clusters, recall.beam, discriminator)
    heads.expect(data.train.labels)
    return heads


def start_reading(heads: Heads, data: Data, reading: Reading, recall: Recall, run: Run) -> None:
    """Labels and clusters point where the labels' texts do, if they are to."""
    if recall.start == "texts":
        bottleneck = None if heads.discriminator is None else array_of(heads.discriminator.bottleneck.weight)
        inputs = data.start, reading, data.train.label_set, data.clusters, bottleneck
        heads.start(run.stage("label-texts", read_labels, *inputs))


def batches(data: Data, corpus: Corpus, tokens: Tokens) -> TokenBatches:
    """Documents as the networks read them."""
    return TokenBatches(tokens.ids, tokens.offsets, corpus.labels, data.start.pieces.pad, corpus.filtered)


class Network(nn.Module):
    """A transformer and the heads on its vectors."""

    judged: Clustered | None = None  # the heads while they are judged: from a GPU they are copied once

    def __init__(
        self, encoder: TransformerEncoder, heads: Heads, dropout: float, head_lr: float, head_eps: float = 1e-8
    ):
        super().__init__()
        self.encoder, self.heads, self.dropout = encoder, heads, Dropout(dropout)
        self.head_lr, self.head_eps = head_lr, head_eps

    def loss(self, batch: TokenBatch) -> Tensor:
        """(6): the same dropped vector goes to generator and discriminator."""
        return self.heads.loss(self.dropout(self.encoder(batch.ids, batch.lengths)), batch.positives)

    def rank(self, batch: TokenBatch, k: int) -> Ranking:
        """What validation judges."""
        if self.judged is None:
            self.judged = self.heads.settled()
        return self.judged.rank(self.encoder(batch.ids, batch.lengths).cpu().numpy(), k)

    def train(self, mode: bool = True) -> Self:
        """What was settled before is old now."""
        self.judged = None
        return super().train(mode)

    def groups(self, optim: Optim) -> list[Group]:
        """Transformer and heads at their own rates; tables move where a batch touched them."""
        return groups_of(self.encoder, self.heads, self.head_lr, optim, self.head_eps)


def groups_of(
    encoder: TransformerEncoder, heads: nn.Module, head_lr: float, optim: Optim, head_eps: float = 1e-8
) -> list[Group]:
    """One group for each kind of parameter and rate; a head's tables are what it has rows of few of which it uses."""
    tables = [table for part in heads.modules() for table in getattr(part, "tables", [])]
    dense = [each for each in heads.parameters() if all(each is not table for table in tables)]
    parts = {
        "encoder": (encoder.dense, lambda moving: adamw(moving, optim.lr, optim.weight_decay)),
        "words": (encoder.tables, lambda moving: RowAdam(moving, encoder.word_lr or optim.lr)),
        "heads": (dense, lambda moving: adamw(moving, head_lr, optim.weight_decay, head_eps)),
        "labels": (tables, lambda moving: RowAdam(moving, head_lr)),
    }
    return [Group(name, how(moving), optim.accumulate) for name, (moving, how) in parts.items() if moving]


# -- Table 5: static negatives -----------------------------------------------------------------------------------------


def learn_in_turn(data: Data, config: Config, run: Run) -> LightXML:
    """The generator to its end, then the discriminator on what that opens."""
    documents, valid = batches(data, data.train, data.tokens), batches(data, data.valid, data.valid_tokens)
    again = config.negatives == "static-twice"
    with seeded(config.seed):
        encoder = TransformerEncoder(data.start, config.reading)
        heads = heads_on(encoder, data, config.recall)
    start_reading(heads, data, config.reading, config.recall, run)
    discriminator, heads.discriminator = heads.discriminator, None  # until recall has learned
    assert discriminator is not None  # fit refuses static negatives where no clusters are
    recall = Network(encoder, heads, config.reading.dropout, config.head_lr, config.head_eps)
    run.train("recall", recall, documents, config.optim, seed=config.seed)
    opened = run.stage("opened", open_clusters, recall, documents, config.optim.batch_size, run.device)
    with seeded(config.seed):
        second = TransformerEncoder(encoder.settled(), config.reading)
    if not again:
        second.requires_grad_(False)
    ranker = Ranker(second, discriminator, recall, opened, config.reading.dropout, config.head_lr)
    run.train("rank", ranker, documents, config.optim, seed=config.seed, valid=valid)
    heads.discriminator = discriminator
    return LightXML(encoder.settled(), heads.settled(), second.settled() if again else None)


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
        self, encoder: TransformerEncoder, discriminator: Discriminator, recall: Network, opened: np.ndarray,
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
        return replace(recall.heads.settled(), discriminator=self.discriminator.settled()).rank(one, k, other)

    def groups(self, optim: Optim) -> list[Group]:
        """As when both learn together."""
        return groups_of(self.encoder, self.discriminator, self.head_lr, optim)
