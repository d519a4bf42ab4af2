"""Short texts to vectors without a transformer: token vectors added up, then a block.

Mittal et al., WSDM 2021 (DECAF), section 3, "Document and label-text embedding":

    r̂⁰   = E r                                       bag: the weighed token vectors of a text, added up
    ℰ(r) = σ(α) ⊙ r̂⁰ + σ(β) ⊙ (R · ReLU(r̂⁰))         gated block: α = β = 0 and R = identity at first
    x̂    = ReLU(ℰ_D(x))                              of documents; label texts go without the last ReLU

Mishra et al., IJCNN 2023 (LightDXML), section IV:

    h = ReLU(E x),   x̂ = h + ReLU(R h + r)           residual block, of norm at most 1

Here is what reads texts with trained weights; learn/bag.py trains them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import numpy as np

from longtail.config import setting
from longtail.corpus import Documents
from longtail.errors import ConfigError
from longtail.features.reading import Reader
from longtail.features.spans import places_in_reader, text_of
from longtail.invariants import Array, agree
from longtail.kernels.bag import bag_sums
from longtail.kernels.blocks import through_block
from longtail.kernels.csr import Rows
from longtail.progress import steps
from longtail.reasons import Contributions


@dataclass(frozen=True)
class BagReading:
    """How a bag encoder reads a text."""

    subwords: int = setting(8000, "WordPieces to learn from the corpus and read beside the words; 0: words alone")
    vectors: str = setting("random", "where token vectors start: random, wordllama, minilm, or a path (.vec, .bin)")
    dim: int = setting(256, "length of token and document vectors")
    words_dropped: float = setting(0.0, "share of a document's tokens left out while learning")

    def __post_init__(self) -> None:
        if self.dim < 1 or not 0 <= self.words_dropped < 1:
            raise ConfigError("bag.dim is at least 1, and bag.words_dropped a share below 1")


@dataclass(frozen=True)
class GatedBlock:
    """DECAF's block; σ(β) and the spectral norm are already in `residual` and `offset`."""

    residual: Annotated[np.ndarray, Array("dim dim", np.float32)]
    offset: Annotated[np.ndarray, Array("dim", np.float32)]
    identity: Annotated[np.ndarray, Array("dim", np.float32)]  # σ(α)

    @classmethod
    def first(cls, dim: int) -> Self:
        """Before anything is learned."""
        half = np.full(dim, 0.5, np.float32)
        return cls(np.diag(half), np.zeros(dim, np.float32), half)

    def documents(self, sums: np.ndarray) -> np.ndarray:
        """x̂ = ReLU(ℰ_D(x)), (documents, dim) float32."""
        return np.maximum(through_block(sums, self.residual, self.offset, self.identity), 0)

    def linear_at(self, total: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """⟨row, x̂⟩ = ⟨direction, r̂⁰⟩ + constant around one text's r̂⁰ (dim,): directions (rows, dim), constants (rows,).

        With a = [ℰ > 0] and p = [r̂⁰ > 0] as they are for this text, ⟨w, x̂⟩ = ⟨a⊙w, σ(α)⊙r̂⁰ + R(p⊙r̂⁰) + offset⟩.
        """
        alive = through_block(total[None], self.residual, self.offset, self.identity)[0] > 0
        kept = rows * alive
        return self.identity * kept + (kept @ self.residual) * (total > 0), kept @ self.offset


@dataclass(frozen=True)
class ResidualBlock:
    """LightDXML's block."""

    residual: Annotated[np.ndarray, Array("dim dim", np.float32)]  # R
    offset: Annotated[np.ndarray, Array("dim", np.float32)]  # r

    @classmethod
    def first(cls, dim: int) -> Self:
        """Before anything is learned."""
        return cls(np.eye(dim, dtype=np.float32), np.zeros(dim, np.float32))

    def documents(self, sums: np.ndarray) -> np.ndarray:
        """x̂ = h + ReLU(R h + r), (documents, dim) float32, nothing below zero."""
        positive = np.maximum(sums, 0)
        return positive + np.maximum(self._before_relu(positive), 0)

    def _before_relu(self, positive: np.ndarray) -> np.ndarray:
        return through_block(positive, self.residual, self.offset, np.zeros_like(self.offset))

    def linear_at(self, total: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As of `GatedBlock`: ⟨w, x̂⟩ = ⟨w, h⟩ + ⟨q⊙w, R h + r⟩ with h = p⊙(E x), q = [R h + r > 0], p = [E x > 0]."""
        kept = rows * (self._before_relu(np.maximum(total, 0)[None])[0] > 0)
        return (rows + kept @ self.residual) * (total > 0), kept @ self.offset


BlockKind = Literal["gated", "residual"]
BLOCKS: dict[BlockKind, type[GatedBlock | ResidualBlock]] = {"gated": GatedBlock, "residual": ResidualBlock}


@dataclass(frozen=True)
class TokenBag:
    """A bag encoder: which tokens a text has, their vectors, and a block."""

    reader: Reader
    vectors: Annotated[np.ndarray, Array("tokens dim", np.float32)]  # E
    block: GatedBlock | ResidualBlock

    def check(self) -> None:
        """Every token has a vector, as long as the block is wide."""
        agree("tokens and their vectors", self.reader.n_tokens, len(self.vectors))
        agree("token vectors and the block", self.dim, len(self.block.offset))

    @property
    def dim(self) -> int:
        """Length of a text's vector."""
        return self.vectors.shape[1]

    @property
    def n_tokens(self) -> int:
        """How many tokens it knows."""
        return len(self.vectors)

    def read(self, documents: Documents) -> Rows:
        """Documents as bags of weighed tokens."""
        return self.reader.rows(documents)

    def encode(self, bags: Rows) -> np.ndarray:
        """x̂ of every bag, (documents, dim) float32."""
        return self.block.documents(self.before_block(bags))

    def before_block(self, bags: Rows) -> np.ndarray:
        """E r of every bag, (texts, dim) float32."""
        return bag_sums(bags, self.vectors)

    def explained(
        self, documents: Documents, rows: np.ndarray, read: Rows | None = None
    ) -> tuple[np.ndarray, Contributions]:
        """x̂ of one document, (1, dim), and what its words add to ⟨row, x̂⟩ of some rows (rows, dim).

        `read` is the document as it is read, where somebody has done that already.
        Blocks are piecewise linear, so ⟨row, x̂⟩ = Σ_t weight_t ⟨E_t, direction⟩ + constant, exactly.
        """
        _, tokens, weights = bags = self.read(documents) if read is None else read
        total = self.before_block(bags)
        vector, rows = self.block.documents(total), rows.astype(np.float64)
        directions, constants = self.block.linear_at(total[0], rows)
        values = (directions @ self.vectors[tokens].T) * weights
        places = places_in_reader(self.reader, text_of(documents), tokens)
        added = places.starts, places.stops, places.spread(values)
        return vector, Contributions(*added, constants, rows @ vector[0])

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Vectors of some documents at a time, (some, dim) float32, and which documents they are."""
        for start in steps(range(0, len(documents), BATCH), "reading documents"):
            rows = np.arange(start, min(start + BATCH, len(documents)))
            yield rows, self.encode(self.read(documents[rows]))

    def as_start(self) -> TokenBag:
        """For another training: token vectors with the mean length √2 that random ones have.

        Training makes them longer, and a network that starts with long vectors trusts its first guesses too much.
        """
        mean = np.linalg.norm(self.vectors, axis=1).mean() if len(self.vectors) else 0
        return replace(self, vectors=self.vectors * np.float32(np.sqrt(2) / mean)) if mean > 0 else self


BATCH = 8192  # documents whose bags and vectors are held at once
