"""The half of GUDN that learns: a transformer with cluster heads, and in training a second reading, of label names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.data.batches import padded
from longtail.encoders.learn.batches import TokenBatch, TokenBatches
from longtail.encoders.learn.transformer import TransformerEncoder
from longtail.encoders.pieces import Pieces
from longtail.features.tokens import Tokens
from longtail.methods.gudn.settings import Config
from longtail.methods.shared.clustered_transformer.learn import Network, heads_on, start_reading
from longtail.methods.shared.clustered_transformer.model import ClusteredTransformer
from longtail.methods.shared.clustered_transformer.stages import Data
from longtail.methods.shared.learn.transformer_reading import batches_of
from longtail.ranking import Ranking
from longtail.train.loop import seeded
from longtail.train.optim import Group
from longtail.train.run import Run
from longtail.train.settings import Optim


def learn(
    data: Data, names: Tokens, config: Config, run: Run, guide: Callable[[Network, Config], Guided] | None = None
) -> ClusteredTransformer:
    """Transformer and heads under guidance, of which nothing is kept; `guide` is there for ablations."""
    with seeded(config.seed):
        encoder = TransformerEncoder(data.read.start, config.reading)
        heads = heads_on(encoder, data, config.recall)
        network = Network(encoder, heads, config.reading.dropout, config.head_lr, config.head_eps)
        guided = (guide or Guided)(network, config)
    start_reading(heads, data, config.reading, config.recall, run)
    documents, valid = batches_of(data.read, data.train, data.valid)
    named = NamedBatches(documents, names, replace(data.read.start.pieces, max_tokens=config.label_tokens))
    run.train("gudn", guided, named, config.optim, seed=config.seed, valid=valid)
    return ClusteredTransformer(network.encoder.export(), network.heads.export())


class Guided(nn.Module):
    """A transformer with cluster heads and a guide, which has no parameters of its own."""

    def __init__(self, network: Network, config: Config):
        super().__init__()
        self.network, self.config = network, config
        self.strength = float(config.guided)  # of the guides, at the batch that comes next

    def start_batch(self, done: float) -> None:
        """Guides fade evenly, if they are to: what label names can teach is learned first."""
        if self.config.guided and self.config.guide_until is not None:
            self.strength = max(0.0, 1 - done / self.config.guide_until)

    def loss(self, batch: NamedBatch) -> Tensor:
        """(6): L = L_class + L_guide; a document without labels has nothing to be guided by."""
        texts = self.network.encoder(batch.ids, batch.lengths)  # E_t
        loss = self._classify(texts, batch.positives)  # (5)
        told = (batch.positives != PAD).any(dim=1)
        if not told.any() or self.strength == 0:
            return loss
        return loss + self.strength * self._guide(texts[told], self.read_labels(batch)[told], batch.named[told])

    def _guide(self, texts: Tensor, labels: Tensor, positives: Tensor) -> Tensor:
        """(4): L_guide = L_feature + L_link, each with its weight."""
        loss = self.config.feature_guide * self._compare(texts, labels, positives)  # (2)
        if self.config.link_guide:
            loss = loss + self.config.link_guide * self._classify(labels, positives)  # (3)
        return loss

    def _compare(self, texts: Tensor, labels: Tensor, positives: Tensor) -> Tensor:
        if self.config.guide_by == "contrast":
            return contrast_loss(texts, labels, positives, self.config.guide_centred)
        return feature_loss(texts, labels, self.config.guide_centred)

    def _classify(self, vectors: Tensor, positives: Tensor) -> Tensor:
        return self.network.heads.loss(self.network.dropout(vectors), positives)

    def read_labels(self, batch: NamedBatch) -> Tensor:
        """E_l: (documents, dim)."""
        return read_by_length(self.network.encoder, batch.label_ids, batch.label_lengths)

    def rank(self, batch: TokenBatch, k: int) -> Ranking:
        """What validation judges: text alone."""
        return self.network.rank(batch, k)

    def groups(self, optim: Optim) -> list[Group]:
        """Those of the network."""
        return self.network.groups(optim)


def read_by_length(encoder: nn.Module, ids: Tensor, lengths: Tensor) -> Tensor:
    """The vectors of all rows, the shorter half read apart from the longer.

    A batch holds texts of like length, but what their labels are called is short or long: padded to the longest,
    nearly half of what is read on eurlex57k would be padding, in halves a quarter.
    """
    order = lengths.argsort(stable=True)
    halves = [encoder(ids[half, : lengths[half].max()], lengths[half]) for half in order.chunk(2)]
    return torch.cat(halves)[order.argsort()]


def feature_loss(texts: Tensor, labels: Tensor, centred: bool = False) -> Tensor:
    """(2): 1/2n Σ ‖E_t − E_l‖²; `centred`, of vectors without the mean of their side.

    Names are shorter than texts, and the mean of few tokens is longer: half of the distance is between the two means
    and says nothing of any document.
    """
    apart = texts - labels
    if centred:
        apart = without_mean(apart)
    return apart.square().sum() / (2 * len(apart))


TEMPERATURE = 0.05  # of cosines, as sentence encoders are trained


def contrast_loss(texts: Tensor, labels: Tensor, positives: Tensor, centred: bool = False) -> Tensor:
    """In place of (2): −log of the share of E_l among the batch's label names, by their cosine to E_t, and the reverse.

    Two vectors that shall be one come closest by saying nothing, two that shall find each other do not.  Documents
    that share a label are neither right nor wrong for each other.
    """
    if centred:
        texts, labels = without_mean(texts), without_mean(labels)
    cosines = F.normalize(texts) @ F.normalize(labels).T / TEMPERATURE
    own = torch.eye(len(texts), dtype=torch.bool, device=texts.device)
    cosines = cosines.masked_fill(share_labels(positives) & ~own, -torch.inf)
    right = torch.arange(len(texts), device=texts.device)
    return (F.cross_entropy(cosines, right) + F.cross_entropy(cosines.T, right)) / 2


def share_labels(positives: Tensor) -> Tensor:
    """Which documents have a label in common, (documents, documents)."""
    same = positives[:, None, :, None] == positives[None, :, None, :]
    return (same & (positives != PAD)[:, None, :, None]).flatten(2).any(dim=2)


def without_mean(rows: Tensor) -> Tensor:
    """What tells rows apart; one is no crowd."""
    return rows - rows.mean(dim=0) if len(rows) > 1 else rows


# -- batches -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedBatch:
    """A few documents, and the joined names of their labels."""

    ids: Tensor  # (batch, longest) tokens of the texts
    lengths: Tensor  # (batch,)
    label_ids: Tensor  # (batch, longest) tokens of the joined names
    label_lengths: Tensor  # (batch,)
    positives: Tensor  # (batch, most) true labels, PAD
    named: Tensor  # (batch, most) those whose names are among `label_ids`, PAD


@dataclass(frozen=True)
class NamedBatches:
    """Documents and label names; the names stand in another order every time a document is read."""

    documents: TokenBatches
    names: Tokens  # of every label's name, without special tokens
    pieces: Pieces

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text."""
        return self.documents.lengths

    @property
    def labels(self) -> sp.csr_array:
        """What is true of each document."""
        return self.documents.labels

    @property
    def filtered(self) -> sp.csr_array | None:
        """Pairs that validation takes out."""
        return self.documents.filtered

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> NamedBatch:
        """The documents at `rows` with the names of their labels, as many as there is room for."""
        texts = self.documents.batch(rows, rng)
        chosen = [self._chosen(row, rng) for row in rows]
        joined = self.pieces.framed(
            Tokens.of([token for label in labels for token in self.names[label].tolist()] for labels in chosen)
        )
        starts, stops = joined.offsets[:-1], joined.offsets[1:]
        ids = torch.from_numpy(padded(joined.ids, starts, stops, self.pieces.pad))
        named = torch.full_like(texts.positives, PAD)
        for row, labels in zip(named, chosen):
            row[: len(labels)] = torch.from_numpy(labels)
        return NamedBatch(texts.ids, texts.lengths, ids, torch.from_numpy(stops - starts), texts.positives, named)

    def _chosen(self, row: int, rng: np.random.Generator) -> np.ndarray:
        """A document's labels in any order, as many as have room for their names; the first in any case."""
        own = rng.permutation(self.labels.indices[self.labels.indptr[row] : self.labels.indptr[row + 1]])
        ends = np.cumsum([len(self.names[label]) for label in own])
        return own[: max(1, int((ends <= self.pieces.room).sum()))].astype(np.int64)
