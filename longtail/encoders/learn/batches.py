"""Training batches: encoder inputs of documents, and their true labels.

Texts are tokenized once before training (see encoder.py), as bags or as token ids.  The documents of a batch may be
followed by label texts, for label rows computed from them (rankers/learn/label_rows.py).  Of several ranks each reads
its part of the token ids of a batch (ranks.py); the encoder returns the vectors of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from longtail.corpus import PAD
from longtail.data.batches import padded
from longtail.features.tokens import Tokens
from longtail.ranks import here
from longtail.sparse import Rows, take


@dataclass(frozen=True)
class Share:
    """Where the documents of this rank are in a batch."""

    documents: int = 0  # of the batch
    before: int = 0


@dataclass(frozen=True)
class BagInput:
    """Weighted tokens, unordered, of documents and then of label texts."""

    documents: int
    starts: Tensor  # (texts + 1,) text i has tokens[starts[i]:starts[i + 1]]
    tokens: Tensor
    weights: Tensor


@dataclass(frozen=True)
class TokenInput:
    """Token ids of this rank's documents, in order."""

    ids: Tensor  # (batch, longest), right-padded with the tokenizer's padding id
    lengths: Tensor  # (batch,) tokens of each document
    labels: Tensor | None = None  # (labels,) whose texts are needed too
    uneven: bool = False  # whether lengths differ much, as texts were not sorted by length
    of: Share = Share()


Input = BagInput | TokenInput


class ReadTexts(Protocol):
    """Tokenized documents for an encoder."""

    @property
    def lengths(self) -> np.ndarray:
        """(documents,) length of each; documents of similar length share a batch."""

    def batch(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Input:
        """The documents at `rows`, and the texts of `labels`."""


@dataclass(frozen=True)
class BagTexts:
    """Documents and label texts as bags of tokens."""

    bags: Rows
    label_texts: Rows | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Equal lengths: bags need no padding."""
        return np.ones(len(self.bags[0]) - 1, np.int64)

    def batch(self, rows: np.ndarray, labels: np.ndarray | None = None) -> BagInput:
        """The documents at `rows`, and the texts of `labels`."""
        starts, tokens, weights = take(self.bags, rows)
        if labels is not None and self.label_texts is not None:
            more = take(self.label_texts, labels)
            starts = np.append(starts, starts[-1] + more[0][1:])
            tokens, weights = np.append(tokens, more[1]), np.append(weights, more[2])
        return BagInput(len(rows), torch.from_numpy(starts), torch.from_numpy(tokens), torch.from_numpy(weights))


@dataclass(frozen=True)
class TokenTexts:
    """Documents as token ids; the encoder holds precomputed vectors of label texts."""

    tokens: Tokens  # may be mapped from disk
    pad: int  # the tokenizer's padding id

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document."""
        return np.diff(self.tokens.offsets)

    def batch(self, rows: np.ndarray, labels: np.ndarray | None = None, uneven: bool = False) -> TokenInput:
        """The documents at `rows`, padded to the longest of them."""
        part = here().part(len(rows))
        own = rows[part]
        starts, stops = self.tokens.offsets[own], self.tokens.offsets[own + 1]
        longest = int((self.tokens.offsets[rows + 1] - self.tokens.offsets[rows]).max(initial=0))
        return TokenInput(
            ids=torch.from_numpy(padded(self.tokens.ids, starts, stops, self.pad, longest)),
            lengths=torch.from_numpy(np.asarray(stops - starts, np.int64)),
            labels=None if labels is None else torch.from_numpy(np.asarray(labels, np.int64)),
            uneven=uneven,
            of=Share(len(rows), part.start),
        )


# -- with true labels --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextBatch:
    """Documents of a batch and their true labels."""

    rows: Tensor  # (batch,) indices of the documents
    texts: Input
    positives: Tensor  # (batch, most) true labels, padded with PAD


@dataclass(frozen=True)
class Labelled:
    """Batches of documents with their true labels."""

    texts: ReadTexts
    labels: sp.csr_array
    filtered: sp.csr_array | None = None

    @property
    def lengths(self) -> np.ndarray:
        """Length of each document."""
        return self.texts.lengths

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> TextBatch:
        """The documents at `rows`."""
        which = torch.from_numpy(np.asarray(rows, np.int64))
        return TextBatch(which, self.texts.batch(rows), positives(self.labels, rows))


def positives(labels: sp.csr_array, rows: np.ndarray) -> Tensor:
    """The true labels of the documents at `rows`: (rows, most) int64, padded with PAD."""
    return torch.from_numpy(padded(labels.indices, labels.indptr[rows], labels.indptr[rows + 1], PAD))
