"""Training of GUDN: an encoder with cluster heads, and guides from the encoded label names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.encoders.learn.batches import Input, Labelled, TextBatch
from longtail.encoders.learn.encoder import Names
from longtail.methods.gudn.settings import Config
from longtail.methods.shared.clustered.learn import Network, batches_of, encoder_on, heads_on, start_reading
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.methods.shared.clustered.stages import Data
from longtail.ranking import Ranking
from longtail.train.loop import seeded
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim


def learn(
    data: Data, names: Names, config: Config, run: Run, guide: Callable[[Network, Config], Guided] | None = None,
    link: bool = True,
) -> ClusteredEncoder:  # fmt: skip
    """Train encoder and heads with guides, which are not kept; `guide` and `link` are for ablations."""
    with seeded(config.seed):
        encoder = encoder_on(data, config)
        heads = heads_on(encoder, data, config)
        network = Network(encoder, heads, config.eps)
        guided = guide(network, config) if guide else Guided(network, config, link)
    start_reading(heads, data, config, run)
    documents, valid = batches_of(data)
    run.train("gudn", guided, NamedBatches(documents, names), config.optim, seed=config.seed, valid=valid)
    return ClusteredEncoder(network.encoder.export(), network.heads.export())


class Guided(nn.Module):
    """An encoder with cluster heads, and guides without parameters of their own."""

    def __init__(self, network: Network, config: Config, link: bool = True):
        super().__init__()
        self.network, self.config, self.link = network, config, link
        self.guided = link or config.feature_guide > 0
        self.strength = float(self.guided)  # weight of the guides in the next batch

    def start_batch(self, done: float) -> None:
        """Decay the guides linearly, if configured."""
        if self.guided and self.config.guide_until is not None:
            self.strength = max(0.0, 1 - done / self.config.guide_until)

    def loss(self, batch: NamedBatch) -> Tensor:
        """(6): L = L_class + L_guide; documents without labels have no guide."""
        texts = self.network.encoder(batch.texts)  # E_t
        loss = self.network.classify(texts, batch.positives)  # (5)
        told = (batch.positives != PAD).any(dim=1)
        if not told.any() or self.strength == 0:
            return loss
        return loss + self.strength * self._guide(texts[told], self.read_labels(batch)[told], batch.named[told])

    def _guide(self, texts: Tensor, labels: Tensor, positives: Tensor) -> Tensor:
        """(4): L_guide = L_feature, weighted, + L_link."""
        loss = self.config.feature_guide * self._compare(texts, labels, positives)  # (2)
        if self.link:
            loss = loss + self.network.classify(labels, positives)  # (3)
        return loss

    def _compare(self, texts: Tensor, labels: Tensor, positives: Tensor) -> Tensor:
        if self.config.guide_by == "contrast":
            return contrast_loss(texts, labels, positives)
        return feature_loss(texts, labels, centred=self.config.guide_by == "centred-distance")

    def read_labels(self, batch: NamedBatch) -> Tensor:
        """E_l: (documents, dim)."""
        return self.network.encoder(batch.names)

    def rank(self, batch: TextBatch, k: int) -> Ranking:
        """Predictions for validation, from text alone."""
        return self.network.rank(batch, k)

    def groups(self, optim: Optim) -> list[Group]:
        """Groups of the network."""
        return self.network.groups(optim)


def feature_loss(texts: Tensor, labels: Tensor, centred: bool = False) -> Tensor:
    """(2): 1/2n Σ ‖E_t − E_l‖²; with `centred`, after subtracting the means of E_t and of E_l.

    Names are shorter than texts, and means of few tokens are longer vectors: half of the distance is between the two
    means and independent of the document.
    """
    apart = texts - labels
    if centred:
        apart = without_mean(apart)
    return apart.square().sum() / (2 * len(apart))


TEMPERATURE = 0.05  # of cosines, usual for sentence encoders


def contrast_loss(texts: Tensor, labels: Tensor, positives: Tensor) -> Tensor:
    """Replaces (2): symmetric in-batch contrastive loss (InfoNCE) of E_t and E_l, each minus its mean, by cosine.

    The squared distance of (2) is smallest when both vectors collapse; this loss is not.  Pairs of documents that share
    a label are masked.
    """
    texts, labels = without_mean(texts), without_mean(labels)
    cosines = F.normalize(texts) @ F.normalize(labels).T / TEMPERATURE
    own = torch.eye(len(texts), dtype=torch.bool, device=texts.device)
    cosines = cosines.masked_fill(share_labels(positives) & ~own, -torch.inf)
    right = torch.arange(len(texts), device=texts.device)
    return (F.cross_entropy(cosines, right) + F.cross_entropy(cosines.T, right)) / 2


def share_labels(positives: Tensor) -> Tensor:
    """Which documents share a label, (documents, documents) bool."""
    same = positives[:, None, :, None] == positives[None, :, None, :]
    return (same & (positives != PAD)[:, None, :, None]).flatten(2).any(dim=2)


def without_mean(rows: Tensor) -> Tensor:
    """Rows minus their mean; a single row is unchanged."""
    return rows - rows.mean(dim=0) if len(rows) > 1 else rows


# -- batches -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedBatch:
    """Documents of a batch, and the joined names of their labels."""

    texts: Input
    names: Input  # of the joined names
    positives: Tensor  # (batch, most) true labels, PAD
    named: Tensor  # (batch, most) labels whose names are used, PAD


@dataclass(frozen=True)
class NamedBatches:
    """Batches of documents and label names; the names are shuffled every time."""

    documents: Labelled
    names: Names

    @property
    def lengths(self) -> np.ndarray:
        """Length of each text."""
        return self.documents.lengths

    @property
    def labels(self) -> sp.csr_array:
        """True labels of each document."""
        return self.documents.labels

    @property
    def filtered(self) -> sp.csr_array | None:
        """Pairs that validation excludes."""
        return self.documents.filtered

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> NamedBatch:
        """The documents at `rows` with the names of their labels, up to the token limit."""
        batch = self.documents.batch(rows, rng)
        chosen = [self._chosen(row, rng) for row in rows]
        named = torch.full_like(batch.positives, PAD)
        for row, labels in zip(named, chosen):
            row[: len(labels)] = torch.from_numpy(labels)
        return NamedBatch(batch.texts, self.names.joined(chosen), batch.positives, named)

    def _chosen(self, row: int, rng: np.random.Generator) -> np.ndarray:
        """Shuffled labels of a document, up to the token limit, at least one."""
        own = rng.permutation(self.labels.indices[self.labels.indptr[row] : self.labels.indptr[row + 1]])
        return self.names.fitting(own).astype(np.int64)
