"""Training of an encoder with cluster heads as one network."""

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
    """The initial encoder."""
    source = data.source
    return source.started(source.first, config.dropout, words_dropped=config.bag.words_dropped)


def heads_on(encoder: LearningEncoder, data: Data, config: ClusteredConfig) -> Heads:
    """Generator and, unless every label is its own cluster, discriminator on the encoder."""
    discriminator = None if data.flat else LearningDiscriminator(encoder.dim, config.label_dim, data.clusters)
    heads = Heads(encoder.dim, data.clusters, config.beam, discriminator)
    heads.expect(data.train.labels)
    return heads


def start_reading(heads: Heads, data: Data, config: ClusteredConfig, run: Run) -> None:
    """Initialise label and cluster rows from label texts, if configured."""
    if config.label_start == "texts":
        bottleneck = None if heads.discriminator is None else array_of(heads.discriminator.bottleneck.weight)
        inputs = data.source.first, data.train.label_set, data.clusters, bottleneck
        heads.start(run.stage("label-start", read_labels, *inputs))


def batches_of(data: Data) -> tuple[Labelled, Labelled]:
    """Batches of training and of validation documents."""
    train, valid, source = data.train, data.valid, data.source
    return Labelled(source.train, train.labels, train.filtered), Labelled(source.valid, valid.labels, valid.filtered)


class Network(nn.Module):
    """An encoder and its heads."""

    judged: Clustered | None = None  # exported heads during validation: copied once from a GPU

    def __init__(self, encoder: LearningEncoder, heads: Heads, eps: float = 1e-8):
        super().__init__()
        self.encoder, self.heads, self.eps = encoder, heads, eps

    def loss(self, batch: TextBatch) -> Tensor:
        """(6), with the same dropout mask for generator and discriminator."""
        return self.classify(self.encoder(batch.texts), batch.positives)

    def classify(self, vectors: Tensor, positives: Tensor) -> Tensor:
        """The loss of the heads on vectors with dropout."""
        return self.heads.loss(self.encoder.drop(vectors), positives)

    def rank(self, batch: TextBatch, k: int) -> Ranking:
        """Predictions for validation."""
        if self.judged is None:
            self.judged = self.heads.export()
        return self.judged.rank(array_of(self.encoder(batch.texts)), k)

    def train(self, mode: bool = True) -> Self:
        """Switch the mode and discard exported heads."""
        self.judged = None
        return super().train(mode)

    def groups(self, optim: Optim) -> list[Group]:
        """Separate rates for encoder and heads; sparse updates of tables."""
        return encoder_groups(self.encoder, optim) + head_groups(self.heads, optim, self.eps)


def head_groups(heads: nn.Module, optim: Optim, eps: float = 1e-8) -> list[Group]:
    """Parameter groups of heads; tables get sparse updates."""
    tables = [table for part in heads.modules() for table in getattr(part, "tables", [])]
    dense = [each for each in heads.parameters() if all(each is not table for table in tables)]
    return [
        *dense_group("heads", dense, optim.row_lr, optim, eps),
        *table_group("labels", tables, optim.row_lr, optim),
    ]
