"""The half of a transformer with cluster heads that learns: one network for text and labels."""

from __future__ import annotations

from typing import Self

from torch import Tensor, nn

from longtail.encoders.learn.bag import Dropout
from longtail.encoders.learn.batches import TokenBatch
from longtail.encoders.learn.transformer import TransformerEncoder
from longtail.encoders.transformer import Reading
from longtail.methods.shared.clustered_transformer.settings import Recall
from longtail.methods.shared.clustered_transformer.stages import Data, read_labels
from longtail.rankers.clustered import Clustered
from longtail.rankers.learn.clustered import Heads, LearningDiscriminator
from longtail.rankers.learn.label_rows import array_of
from longtail.ranking import Ranking
from longtail.train.optim import Group, adamw
from longtail.train.row_adam import RowAdam
from longtail.train.run import Run
from longtail.train.settings import Optim


def heads_on(encoder: TransformerEncoder, data: Data, recall: Recall) -> Heads:
    """Generator and, unless every label is its own cluster, discriminator on the encoder's vectors."""
    discriminator = None if data.flat else LearningDiscriminator(encoder.dim, recall.label_dim, data.clusters)
    heads = Heads(encoder.dim, data.clusters, recall.beam, discriminator)
    heads.expect(data.train.labels)
    return heads


def start_reading(heads: Heads, data: Data, reading: Reading, recall: Recall, run: Run) -> None:
    """Labels and clusters point where the labels' texts do, if they are to."""
    if recall.start == "texts":
        bottleneck = None if heads.discriminator is None else array_of(heads.discriminator.bottleneck.weight)
        inputs = data.read.start, reading, data.train.label_set, data.clusters, bottleneck
        heads.start(run.stage("label-texts", read_labels, *inputs))


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
            self.judged = self.heads.export()
        return self.judged.rank(self.encoder(batch.ids, batch.lengths).cpu().numpy(), k)

    def train(self, mode: bool = True) -> Self:
        """What was exported before is out of date."""
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
