"""Ablation of Table 4: GUDN guided by one-hot labels instead of label names."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.encoders.learn.encoder import Names
from longtail.methods.gudn.learn import Guided, NamedBatch, learn
from longtail.methods.gudn.settings import Config
from longtail.methods.shared.clustered.learn import Network, head_groups
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.methods.shared.clustered.stages import Data
from longtail.methods.shared.learn.groups import encoder_groups
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim


def learn_by_one_hot(data: Data, names: Names, config: Config, run: Run) -> ClusteredEncoder:
    """As `learn`, but the guide uses the labels of a document, not their names."""

    def guide(network: Network, config: Config) -> GuidedByOneHot:
        return GuidedByOneHot(network, OneHot(data.train.n_labels, network.encoder.dim), config)

    return learn(data, names, config, run, guide)


class GuidedByOneHot(Guided):
    """GUDN with a guide that has its own parameters and uses no names."""

    def __init__(self, network: Network, one_hot: OneHot, config: Config):
        super().__init__(network, config)
        self.one_hot = one_hot

    def read_labels(self, batch: NamedBatch) -> Tensor:
        """E_l: (documents, dim)."""
        return self.one_hot(batch.named)

    def groups(self, optim: Optim) -> list[Group]:
        """Groups of the network, and the vectors of one-hot labels as a table."""
        heads = nn.ModuleList([self.network.heads, self.one_hot])
        return encoder_groups(self.network.encoder, optim) + head_groups(heads, optim, self.network.eps)


class OneHot(nn.Module):
    """E_l without names: a linear layer on the document's 0/1 label vector."""

    def __init__(self, n_labels: int, dim: int):
        super().__init__()
        self.rows = nn.Parameter(nn.init.xavier_uniform_(torch.empty(n_labels, dim)))

    def forward(self, positives: Tensor) -> Tensor:
        """Sum of the label vectors, (documents, dim)."""
        given = positives != PAD
        ends = given.sum(dim=1).cumsum(0)
        return F.embedding_bag(positives[given], self.rows, ends - given.sum(dim=1), mode="sum", sparse=True)

    @property
    def tables(self) -> list[nn.Parameter]:
        """Table with a row per label."""
        return [self.rows]
