"""Bag encoder: the weighted sum of token vectors, then a block.

Mittal et al., WSDM 2021 (DECAF), section 3, "Document and label-text embedding":

    r̂⁰   = E r                                       bag: weighted sum of the token vectors of a text
    ℰ(r) = σ(α) ⊙ r̂⁰ + σ(β) ⊙ (R · ReLU(r̂⁰))         gated block: initially α = β = 0 and R = identity
    x̂    = ReLU(ℰ_D(x))                              for documents; label texts skip the last ReLU

Mishra et al., IJCNN 2023 (LightDXML), section IV:

    h = ReLU(E x),   x̂ = h + ReLU(R h + r)           residual block; R has spectral norm at most 1

This module is for inference; learn/bag.py is for training.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np

from longtail.config import setting
from longtail.corpus import Documents
from longtail.errors import ConfigError
from longtail.features.bags import Reader
from longtail.invariants import Array, agree
from longtail.kernels.bag import Encoding, bag_sums
from longtail.precision import STORED
from longtail.progress import steps
from longtail.reasons import Contributions
from longtail.sparse import Rows


@dataclass(frozen=True)
class BagReading:
    """Settings of a bag encoder."""

    subwords: int = setting(8000, "size of the WordPiece vocabulary learned in addition to words; 0: words only")
    vectors: str = setting("random", "initial token vectors: random, wordllama, minilm, or a path (.vec, .bin)")
    dim: int = setting(256, "dimension of token and document vectors")
    words_dropped: float = setting(0.0, "token dropout: share of a document's tokens dropped in training")

    def __post_init__(self) -> None:
        if self.dim < 1 or not 0 <= self.words_dropped < 1:
            raise ConfigError("bag.dim is at least 1, and bag.words_dropped a share below 1")


@dataclass(frozen=True)
class GatedBlock:
    """DECAF's block; σ(β) and the spectral norm are folded into `residual` and `offset`."""

    residual: Annotated[np.ndarray, Array("dim dim", np.float32)]
    offset: Annotated[np.ndarray, Array("dim", np.float32)]
    identity: Annotated[np.ndarray, Array("dim", np.float32)]  # σ(α)

    @classmethod
    def first(cls, dim: int) -> Self:
        """The untrained block."""
        half = np.full(dim, 0.5, np.float32)
        return cls(np.diag(half), np.zeros(dim, np.float32), half)


@dataclass(frozen=True)
class ResidualBlock:
    """LightDXML's block."""

    residual: Annotated[np.ndarray, Array("dim dim", np.float32)]  # R
    offset: Annotated[np.ndarray, Array("dim", np.float32)]  # r

    @classmethod
    def first(cls, dim: int) -> Self:
        """The untrained block."""
        return cls(np.eye(dim, dtype=np.float32), np.zeros(dim, np.float32))


BlockKind = Literal["gated", "residual"]
BLOCKS: dict[BlockKind, type[GatedBlock | ResidualBlock]] = {"gated": GatedBlock, "residual": ResidualBlock}


@dataclass(frozen=True)
class TokenBag:
    """A bag encoder: tokenizer with token weights, token vectors, and a block."""

    reader: Reader
    vectors: Annotated[np.ndarray, Array("tokens dim", STORED, scales="scales")]  # E, in any precision
    block: GatedBlock | ResidualBlock
    scales: Annotated[np.ndarray | None, Array("tokens", np.float32, between=(0, np.inf))] = None

    def check(self) -> None:
        """Raise Unsound unless every token has a vector of the block's dimension."""
        agree("tokens and their vectors", self.reader.n_tokens, len(self.vectors))
        agree("token vectors and the block", self.dim, len(self.block.offset))

    @property
    def dim(self) -> int:
        """Dimension of a text vector."""
        return self.vectors.shape[1]

    @property
    def n_tokens(self) -> int:
        """Size of the vocabulary."""
        return len(self.vectors)

    def read(self, documents: Documents) -> Rows:
        """Documents as bags of weighted tokens."""
        return self.reader.rows(documents)

    def encode(self, bags: Rows) -> np.ndarray:
        """x̂ of every bag, (documents, dim) float32."""
        return self._encoding(bags)

    @cached_property
    def _encoding(self) -> Encoding:
        """Made when a text is first read; never stored."""
        gates = self.block.identity if isinstance(self.block, GatedBlock) else None
        return Encoding(self.vectors, self.block.residual, self.block.offset, gates, self.scales)

    def before_block(self, bags: Rows) -> np.ndarray:
        """E r of every bag, (texts, dim) float32."""
        return bag_sums(bags, self.vectors, scales=self.scales)

    def explained(
        self, documents: Documents, rows: np.ndarray, read: Rows | None = None
    ) -> tuple[np.ndarray, Contributions]:
        """x̂ of one document, (1, dim), and what its words add to ⟨row, x̂⟩ of some rows (rows, dim).

        `read` is the document as it is read, where somebody has done that already.
        Blocks are piecewise linear, so ⟨row, x̂⟩ = Σ_t weight_t ⟨E_t, direction⟩ + constant, exactly.
        """
        bag = self.read(documents) if read is None else read
        vector, values, constants, logits = self._encoding.explained(bag, rows)
        words = self.reader.spread_over_words(documents, bag[1], values)
        return vector, Contributions(*words, constants, logits)

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield indices and vectors of batches of documents, (batch,) and (batch, dim) float32."""
        if len(documents) == 1:  # it is itself what is read, so that who asks about it again finds it read
            yield np.zeros(1, np.int64), self.encode(self.read(documents))
            return
        for start in steps(range(0, len(documents), BATCH), "reading documents"):
            rows = np.arange(start, min(start + BATCH, len(documents)))
            yield rows, self.encode(self.read(documents[rows]))

    def as_start(self) -> TokenBag:
        """As initialisation of another training: token vectors scaled to mean length √2, like random ones.

        Training lengthens them, and a network that starts from long vectors is overconfident at first.
        """
        # Not by np.linalg.norm, which squares the whole table first.
        mean = np.sqrt(np.einsum("td,td->t", self.vectors, self.vectors)).mean() if len(self.vectors) else 0
        return replace(self, vectors=self.vectors * np.float32(np.sqrt(2) / mean)) if mean > 0 else self


BATCH = 8192  # documents encoded at once
