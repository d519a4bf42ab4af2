"""The half of either encoder that learns (see text.py), with one face for a method's network.

forward(batch) -> Tensor    (documents, dim), of which some is dropped while learning
tables, dense               parameters of which a batch touches few rows, and all others
export() -> TextEncoder     for inference, in NumPy
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from longtail.encoders.learn.bag import Block, Dropout, bag, exported
from longtail.encoders.learn.batches import BagBatch, TokenBatch
from longtail.encoders.learn.transformer import TransformerEncoder
from longtail.encoders.text import TextEncoder
from longtail.encoders.transformer import Reading, Transformer
from longtail.features.reading import Reader
from longtail.kernels.csr import Rows


class BagText(nn.Module):
    """Token vectors and a residual block."""

    def __init__(self, reader: Reader, vectors: np.ndarray, dropout: float, words_dropped: float = 0.0):
        super().__init__()
        self.reader, self.dim = reader, vectors.shape[1]
        self.vectors = nn.Parameter(torch.from_numpy(np.array(vectors)))
        self.read, self.dropout, self.words = Block(self.dim, dropout), Dropout(dropout), Dropout(words_dropped)

    def forward(self, batch: BagBatch) -> Tensor:
        """x̂ of each document."""
        sums = bag(self.vectors, batch.starts, batch.tokens, self.words(batch.weights))
        return self.dropout(self.read(sums).relu())

    def sums(self, bags: Rows) -> Tensor:
        """The token vectors of other texts, added up: (texts, dim)."""
        return bag(self.vectors, *(torch.from_numpy(part).to(self.vectors.device) for part in bags))

    @property
    def tables(self) -> list[nn.Parameter]:
        """Token vectors."""
        return [self.vectors]

    @property
    def dense(self) -> list[nn.Parameter]:
        """The block's."""
        return list(self.read.parameters())

    def export(self) -> TextEncoder:
        """Export to NumPy for inference."""
        return TextEncoder(reader=self.reader, bag=exported(self.vectors, self.read))


class TransformerText(nn.Module):
    """A transformer's [CLS]."""

    def __init__(self, start: Transformer, reading: Reading):
        super().__init__()
        self.encoder, self.dropout = TransformerEncoder(start, reading), Dropout(reading.dropout)
        self.dim = self.encoder.dim

    def forward(self, batch: TokenBatch) -> Tensor:
        """e of each document."""
        return self.dropout(self.encoder(batch.ids, batch.lengths))

    @property
    def tables(self) -> list[nn.Parameter]:
        """Word vectors, where only a batch's are to move."""
        return self.encoder.tables

    @property
    def dense(self) -> list[nn.Parameter]:
        """Everything else that learns."""
        return self.encoder.dense

    def export(self) -> TextEncoder:
        """Export to NumPy for inference."""
        return TextEncoder(transformer=self.encoder.export())
