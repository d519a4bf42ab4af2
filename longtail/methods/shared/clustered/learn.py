"""An encoder with cluster heads while it learns: one network for text and labels."""

from __future__ import annotations

from typing import Self

from torch import Tensor, nn

from longtail.encoders.learn.batches import Labelled, TextBatch
from longtail.encoders.learn.encoder import LearningEncoder
from longtail.methods.shared.clustered.settings import ClusteredConfig
from longtail.methods.shared.clustered.stages import Data, read_labels
from longtail.methods.shared.learn.groups import dense_group, encoder_groups, table_group
from longtail.rankers.clustered import Clustered
from longtail.rankers.learn.clustered import Heads, LearningDiscriminator
from longtail.rankers.learn.label_rows import array_of
from longtail.ranking import Ranking
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim


def encoder_on(data: Data, config: ClusteredConfig) -> LearningEncoder:
    """The encoder before its first step."""
    source = data.source
    return source.started(source.first, config.dropout, words_dropped=config.bag.words_dropped)


def heads_on(encoder: LearningEncoder, data: Data, config: ClusteredConfig) -> Heads:
    """Generator and, unless every label is its own cluster, discriminator on the encoder's vectors."""
    discriminator = None if data.flat else LearningDiscriminator(encoder.dim, config.label_dim, data.clusters)
    heads = Heads(encoder.dim, data.clusters, config.beam, discriminator)
    heads.expect(data.train.labels)
    return heads


def start_reading(heads: Heads, data: Data, config: ClusteredConfig, run: Run) -> None:
    """Labels and clusters point where the labels' texts do, if they are to."""
    if config.label_start == "texts":
        bottleneck = None if heads.discriminator is None else array_of(heads.discriminator.bottleneck.weight)
        inputs = data.source.first, data.train.label_set, data.clusters, bottleneck
        heads.start(run.stage("label-start", read_labels, *inputs))


def batches_of(data: Data) -> tuple[Labelled, Labelled]:
    """Batches of training documents and of validation documents."""
    train, valid, source = data.train, data.valid, data.source
    return Labelled(source.train, train.labels, train.filtered), Labelled(source.valid, valid.labels, valid.filtered)


class Network(nn.Module):
    """An encoder and the heads on its vectors."""

    judged: Clustered | None = None  # the heads while they are judged: from a GPU they are copied once

    def __init__(self, encoder: LearningEncoder, heads: Heads, eps: float = 1e-8):
        super().__init__()
        self.encoder, self.heads, self.eps = encoder, heads, eps

    def loss(self, batch: TextBatch) -> Tensor:
        """(6): the same dropped vector goes to generator and discriminator."""
        return self.classify(self.encoder(batch.texts), batch.positives)

    def classify(self, vectors: Tensor, positives: Tensor) -> Tensor:
        """The loss of the heads, on vectors of which some is dropped."""
        return self.heads.loss(self.encoder.drop(vectors), positives)

    def rank(self, batch: TextBatch, k: int) -> Ranking:
        """What validation judges."""
        if self.judged is None:
            self.judged = self.heads.export()
        return self.judged.rank(array_of(self.encoder(batch.texts)), k)

    def train(self, mode: bool = True) -> Self:
        """What was exported before is out of date."""
        self.judged = None
        return super().train(mode)

    def groups(self, optim: Optim) -> list[Group]:
        """Encoder and heads at their own rates; tables move where a batch touched them."""
        return encoder_groups(self.encoder, optim) + head_groups(self.heads, optim, self.eps)


def head_groups(heads: nn.Module, optim: Optim, eps: float = 1e-8) -> list[Group]:
    """Of heads; their tables are what they have rows of, few of which a batch uses."""
    tables = [table for part in heads.modules() for table in getattr(part, "tables", [])]
    dense = [each for each in heads.parameters() if all(each is not table for table in tables)]
    return [
        *dense_group("heads", dense, optim.row_lr, optim, eps),
        *table_group("labels", tables, optim.row_lr, optim.accumulate),
    ]
