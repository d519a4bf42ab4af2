"""GUDN guided otherwise: by one-hot labels instead of label names (Table 4), or through the pooler (authors' code)."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.encoders.learn.encoder import Names
from longtail.encoders.pretrained import Pooler, pooler_of
from longtail.methods.gudn.learn import Guided, NamedBatch, learn
from longtail.methods.gudn.settings import Config
from longtail.methods.shared.clustered.learn import Network, head_groups
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.methods.shared.clustered.stages import Data
from longtail.methods.shared.learn.groups import dense_group, encoder_groups
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim


def learn_by_one_hot(data: Data, names: Names, config: Config, run: Run) -> ClusteredEncoder:
    """As `learn`, but L_feature, the only guide, uses the labels of a document, not their names."""

    def guide(network: Network, config: Config) -> GuidedByOneHot:
        return GuidedByOneHot(network, OneHot(data.train.n_labels, network.encoder.dim), config)

    return learn(data, names, config, run, guide)


class GuidedByOneHot(Guided):
    """GUDN with a guide that has its own parameters and uses no names."""

    def __init__(self, network: Network, one_hot: OneHot, config: Config):
        super().__init__(network, config, link=False)  # Table 4 is of L_feature alone
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


# -- the authors' L_feature --------------------------------------------------------------------------------------------


def learn_by_pooler(data: Data, names: Names, config: Config, run: Run, link: bool = True) -> ClusteredEncoder:
    """As `learn`, but L_feature compares what the pretrained pooler makes of texts and of label names."""
    pooler = run.stage("pooler", pooler_of, config.encoder)

    def guide(network: Network, config: Config) -> GuidedByPooler:
        return GuidedByPooler(network, pooler, config, link)

    return learn(data, names, config, run, guide)


class GuidedByPooler(Guided):
    """GUDN as released: mean over batch and dimensions of (p_t − p_l)², p = tanh(W e + b) of the last layer's [CLS]."""

    def __init__(self, network: Network, pooler: Pooler, config: Config, link: bool = True):
        super().__init__(network, config, link)
        self.pooler = nn.Linear(*pooler.weight.shape)
        self.pooler.load_state_dict({name: torch.from_numpy(np.array(part)) for name, part in vars(pooler).items()})

    def _compare(self, texts: Tensor, labels: Tensor, positives: Tensor) -> Tensor:
        return F.mse_loss(self._pooled(texts), self._pooled(labels))

    def _pooled(self, vectors: Tensor) -> Tensor:
        """Vectors are those of all layers, the last layer first."""
        return torch.tanh(self.pooler(vectors[:, : self.pooler.in_features]))

    def groups(self, optim: Optim) -> list[Group]:
        """Groups of the network, and the pooler at the rate of the transformer's layers."""
        own, _ = self.network.encoder.rates(optim.lr, optim.row_lr)
        return [*super().groups(optim), *dense_group("pooler", list(self.pooler.parameters()), own, optim)]
