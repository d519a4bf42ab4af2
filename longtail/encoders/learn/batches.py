"""What an encoder reads of a few documents while it learns: bags of tokens, or padded tokens; and their true labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from longtail.corpus import PAD
from longtail.data.batches import padded
from longtail.kernels.csr import Rows, take


def positives(labels: sp.csr_array, rows: np.ndarray) -> Tensor:
    """The true labels of the documents at `rows`: (rows, most) int64, PAD where a document has fewer."""
    return torch.from_numpy(padded(labels.indices, labels.indptr[rows], labels.indptr[rows + 1], PAD))


@dataclass(frozen=True)
class TokenBatch:
    """Tokens and true labels of a few documents."""

    rows: Tensor  # (batch,) which documents these are
    ids: Tensor  # (batch, longest) token ids, the tokenizer's padding id behind each document's end
    lengths: Tensor  # (batch,) tokens of each document
    positives: Tensor  # (batch, most) true labels, PAD where a document has fewer

    @property
    def mask(self) -> Tensor:
        """(batch, longest) true where there is a token."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]


@dataclass(frozen=True)
class TokenBatches:
    """Tokenised documents laid end to end: document i is ids[offsets[i]:offsets[i + 1]]."""

    ids: np.ndarray  # (tokens,) may be mapped from disk
    offsets: np.ndarray  # (documents + 1,)
    labels: sp.csr_array
    pad: int  # the tokenizer's padding id
    filtered: sp.csr_array | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document."""
        return np.diff(self.offsets)

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> TokenBatch:
        """The documents at `rows`, padded to the longest of them."""
        starts, stops = self.offsets[rows], self.offsets[rows + 1]
        return TokenBatch(
            rows=torch.from_numpy(np.asarray(rows, np.int64)),
            ids=torch.from_numpy(padded(self.ids, starts, stops, self.pad)),
            lengths=torch.from_numpy(np.asarray(stops - starts, np.int64)),
            positives=positives(self.labels, rows),
        )


@dataclass(frozen=True)
class BagBatch:
    """Weighed tokens, in no order, and true labels of a few documents."""

    rows: Tensor  # (batch,) which documents these are
    starts: Tensor  # (batch + 1,) document i has tokens[starts[i]:starts[i + 1]]
    tokens: Tensor
    weights: Tensor
    positives: Tensor  # (batch, most) true labels, PAD where a document has fewer


@dataclass(frozen=True)
class BagBatches:
    """Documents as bags of tokens."""

    bags: Rows
    labels: sp.csr_array
    filtered: sp.csr_array | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Bags need no padding, so every document is as long as any other."""
        return np.ones(len(self.bags[0]) - 1, np.int64)

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> BagBatch:
        """The documents at `rows`."""
        starts, tokens, weights = (torch.from_numpy(part) for part in take(self.bags, rows))
        which = torch.from_numpy(np.asarray(rows, np.int64))
        return BagBatch(which, starts, tokens, weights, positives(self.labels, rows))
