"""Texts to vectors by either encoder, for methods to which it makes no difference: a bag of tokens or a transformer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from longtail.config import setting
from longtail.corpus import Documents
from longtail.encoders.bag import BagEncoder
from longtail.encoders.transformer import Transformer
from longtail.errors import ConfigError
from longtail.features.reading import Reader
from longtail.invariants import Unsound, agree
from longtail.progress import steps

BAG = "bag"  # what a setting `encoder` says for the encoder that is no transformer


@dataclass(frozen=True)
class BagReading:
    """How a bag encoder reads a text."""

    subwords: int = setting(8000, "WordPieces to learn from the corpus and read beside the words; 0: words alone")
    vectors: str = setting("random", "where token vectors start: random, wordllama, minilm, or a fastText .vec file")
    dim: int = setting(256, "length of token and document vectors")
    dropout: float = setting(0.3, "share of a layer's output dropped while learning")
    words_dropped: float = setting(0.0, "share of a document's tokens left out while learning")

    def __post_init__(self) -> None:
        if self.dim < 1 or not (0 <= self.dropout < 1 and 0 <= self.words_dropped < 1):
            raise ConfigError("bag.dim is at least 1, and bag.dropout and bag.words_dropped shares below 1")


@dataclass(frozen=True)
class TextEncoder:
    """An encoder that no longer learns: a bag encoder with its reader, or a transformer."""

    reader: Reader | None = None
    bag: BagEncoder | None = None
    transformer: Transformer | None = None

    def check(self) -> None:
        """There is one encoder, and a bag encoder has a vector for every token."""
        if (self.bag is None) == (self.transformer is None) or (self.bag is None) != (self.reader is None):
            raise Unsound("there must be a bag encoder with its reader, or a transformer")
        if self.reader is not None and self.bag is not None:
            agree("tokens and their vectors", self.reader.n_tokens, len(self.bag.vectors))

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Vectors of some documents at a time, (some, dim) float32, and which documents they are."""
        if self.transformer is not None:
            yield from self.transformer.batches(documents)
            return
        assert self.reader is not None and self.bag is not None
        for start in steps(range(0, len(documents), BATCH), "reading documents"):
            rows = np.arange(start, min(start + BATCH, len(documents)))
            yield rows, self.bag.documents(self.reader.rows(documents[rows]))


BATCH = 8192  # documents whose bags and vectors are held at once
