"""Texts to vectors by a transformer: what it says of the whole text, in its last layers.

Jiang et al., AAAI 2021 (LightXML), "Text representation":

    e = [e₁, …, e_n]        [CLS] in the last n layers, the last one first; or the mean of all tokens there

Here is what reads texts with weights that no longer learn; learn/transformer.py is what learns them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from longtail.config import setting
from longtail.corpus import Documents, Texts
from longtail.encoders.pieces import Pieces
from longtail.errors import ConfigError, CorpusError, MissingExtraError
from longtail.invariants import Array, Number, Unsound, all_finite
from longtail.progress import counting

if TYPE_CHECKING:
    from longtail.encoders.learn.transformer import TransformerEncoder


@dataclass(frozen=True)
class Reading:
    """How a transformer reads a text, and which of it learns."""

    max_tokens: int = setting(128, "tokens of a text that are read, special ones included", "512, or 128 for large")
    layers: int = setting(5, "last layers whose vectors make up a text's; all where there are fewer", "5; Fig. 2: 1")
    pool: Literal["cls", "mean"] = setting("mean", "a layer's vector: the mean of all tokens, or that of [CLS]", "cls")
    centred: bool = setting(
        True, "vectors are taken from the mean of some training texts, which says nothing of any one of them", "false"
    )
    dropout: float = setting(0.1, "share of a text's vector dropped while learning", "0.5")
    words: Literal["rows", "all", "frozen"] = setting(
        "rows", "word vectors that move: those of a batch's words, all of them with weight decay, or none", "all"
    )
    word_lr: float | None = setting(None, "peak learning rate of word vectors that move as rows; none: as the rest")
    recompute: bool = setting(False, "compute layers again for the gradient instead of keeping them: half the memory")

    def __post_init__(self) -> None:
        if self.layers < 1 or not 0 <= self.dropout < 1:
            raise ConfigError("reading.layers is at least 1, and reading.dropout a share below 1")
        if self.word_lr is not None and (self.word_lr <= 0 or self.words != "rows"):
            raise ConfigError('reading.word_lr is more than 0, and for reading.words = "rows" alone')


@dataclass(frozen=True)
class Transformer:
    """A transformer of any family, with its tokenizer: all it takes to read a text, wherever it came from."""

    architecture: dict[str, Any]  # its config.json
    weights: dict[str, np.ndarray]
    pieces: Pieces
    layers: Annotated[int, Number(1)] = 1
    pool: str = "cls"
    center: Annotated[np.ndarray | None, Array("dim", np.float32)] = None  # taken from every vector

    def check(self) -> None:
        """Weights are finite; that they fit the architecture is known when it is built (learn/transformer.py)."""
        if self.pool not in ("cls", "mean"):
            raise Unsound(f"pool is {self.pool!r:.20}, and must be cls or mean")
        for name, weights in self.weights.items():
            if weights.dtype != np.float32 or not all_finite(weights):
                raise Unsound(f"weights.{name} must hold finite float32 numbers")

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Vectors of a few documents at a time, (few, dim) float32, and which documents they are; the longest first."""
        import torch

        from longtail.data.batches import longest_first, padded

        tokens = self.pieces.encode(texts_of(documents))
        with counting(len(tokens.ids), "reading documents") as done:
            for rows in longest_first(np.diff(tokens.offsets), BATCH):
                starts, stops = tokens.offsets[rows], tokens.offsets[rows + 1]
                ids, lengths = padded(tokens.ids, starts, stops, self.pieces.pad), stops - starts
                where = self._encoder.center.device
                with torch.inference_mode():
                    vectors = self._encoder(torch.from_numpy(ids).to(where), torch.from_numpy(lengths).to(where))
                yield rows, vectors.cpu().numpy()
                done(lengths.sum())

    @cached_property
    def _encoder(self) -> TransformerEncoder:
        """Made of the weights when first needed, on a GPU where there is one; never stored."""
        try:
            import torch

            from longtail.encoders.learn.transformer import TransformerEncoder, try_out
        except ImportError:
            raise MissingExtraError("a transformer", "train") from None
        reading = Reading(layers=self.layers, pool=self.pool)  # type: ignore[arg-type]
        encoder = TransformerEncoder(self, reading).eval().to("cuda" if torch.cuda.is_available() else "cpu")
        try_out(encoder)
        return encoder


def center_of(start: Transformer, reading: Reading, texts: Texts, seed: int) -> np.ndarray:
    """The mean vector of some texts, (dim,) float32."""
    some = np.sort(np.random.default_rng(seed).permutation(len(texts))[:SOME])
    reads = replace(start, layers=reading.layers, pool=reading.pool, center=None)
    vectors = [vectors for _, vectors in reads.batches(Documents(texts[some]))]
    return np.concatenate(vectors).mean(axis=0)


SOME = 512  # texts whose mean vector stands for that of all


def texts_of(documents: Documents) -> Texts:
    """The documents' texts, or a sentence about why there are none."""
    if documents.texts is None:
        raise CorpusError("this model reads text, and these documents have only features; give their texts")
    return documents.texts


BATCH = 32  # documents read together: enough to keep every core busy, few enough to be padded little
