"""Transformer encoder: the pooled vectors of its last layers.

Jiang et al., AAAI 2021 (LightXML), "Text representation":

    e = [e₁, …, e_n]        [CLS], or the mean of all tokens, in the last n layers, the last layer first

This module is for inference, by compiled layers where forward.py knows the family and there is no GPU, else by torch;
learn/transformer.py is for training.  Models with a bag load this module too, for an encoder may be of either kind;
what only reading takes is therefore imported when a text is read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from longtail.config import setting
from longtail.corpus import Documents, Texts
from longtail.errors import ConfigError, CorpusError, MissingExtraError, ModelError
from longtail.features.tokens import Subwords, Tokens
from longtail.invariants import Array, Number, Tables, Unsound
from longtail.precision import as_floats
from longtail.progress import counting
from longtail.reasons import Contributions

if TYPE_CHECKING:
    from longtail.encoders.families import Shape
    from longtail.encoders.forward import Forward
    from longtail.encoders.learn.transformer import TransformerEncoder


@dataclass(frozen=True)
class TransformerReading:
    """Settings of a transformer encoder."""

    max_tokens: int = setting(128, "most tokens per text, including special ones", "512, or 128 for large")
    layers: int = setting(5, "number of last layers whose vectors are concatenated; at most all", "5; Fig. 2: 1")
    pool: Literal["cls", "mean"] = setting(
        "mean",
        "vector of a layer: cls, that of [CLS]; mean, the mean of all tokens, minus that of a sample of training texts",
        "cls",
    )
    word_lr: float | None = setting(
        1e-3,
        "peak learning rate of word vectors, with sparse updates; none: dense updates with the layers' rate",
        "none",
    )
    attention_dropout: bool = setting(
        False, "keep the transformer's own dropout of attention, which slows training on a CPU by a fifth", "true"
    )

    def __post_init__(self) -> None:
        if self.layers < 1:
            raise ConfigError("transformer.layers is at least 1")
        if self.word_lr is not None and self.word_lr <= 0:
            raise ConfigError("transformer.word_lr is more than 0, or none")


@dataclass(frozen=True)
class Transformer:
    """A transformer of any family with its tokenizer, self-contained."""

    architecture: dict[str, Any]  # its config.json
    weights: Annotated[dict[str, np.ndarray], Tables(scales="scales")]
    pieces: Pieces
    layers: Annotated[int, Number(1)] = 1
    pool: str = "cls"
    center: Annotated[np.ndarray | None, Array("dim", np.float32)] = None  # subtracted from every vector
    scales: dict[str, np.ndarray] = field(default_factory=dict)  # of weights in int8

    def check(self) -> None:
        """Raise Unsound unless it says how to pool; shapes of weights are checked when layers are built."""
        if self.pool not in ("cls", "mean"):
            raise Unsound(f"pool is {self.pool!r:.20}, and must be cls or mean")

    @property
    def dim(self) -> int:
        """Dimension of a text vector."""
        if self._shape is None:
            return self._encoder.dim
        return min(self.layers, self._shape.layers) * self._shape.hidden

    @property
    def n_tokens(self) -> int:
        """Size of the vocabulary."""
        return self.pieces.largest + 1

    def read(self, documents: Documents) -> Tokens:
        """Documents as token ids."""
        return self.pieces.encode(texts_of(documents))

    def numbers(self) -> dict[str, np.ndarray]:
        """All weights as float32, whatever they are stored as."""
        return {name: as_floats(rows, self.scales.get(name)) for name, rows in self.weights.items()}

    def encode(self, tokens: Tokens, roughly: bool = False) -> np.ndarray:
        """e of every text, (texts, dim) float32; `roughly`, for training, is bfloat16 where that is faster."""
        vectors = np.empty((len(tokens.offsets) - 1, self.dim), np.float32)
        for rows, some in self._encoded(tokens, roughly):
            vectors[rows] = some
        return vectors

    def explained(
        self, documents: Documents, rows: np.ndarray, read: Tokens | None = None
    ) -> tuple[np.ndarray, Contributions]:
        """e of one document, (1, dim), and what its words add to ⟨row, e⟩ of some rows (rows, dim), about.

        `read` is the document as it is read, where somebody has done that already.
        Gradient × input: what layers mix cannot be told apart exactly.  The bias is all that is left.
        """
        import torch

        from longtail.features.spans import Places, pieces_of

        text, ids = texts_of(documents)[0], (self.read(documents) if read is None else read).ids
        found = pieces_of(text, self.pieces.subwords)[: self.pieces.room]
        where, given = self._encoder.center.device, np.ascontiguousarray(rows, np.float32)
        vector, added = (
            part.cpu().numpy()
            for part in self._encoder.gradient_times_input(
                torch.from_numpy(ids).to(where), torch.from_numpy(given).to(where)
            )
        )
        own = added[:, len(self.pieces.before) :][:, : len(found)].astype(np.float64)
        places = Places.of(text, [(at, [(piece.start, piece.stop)]) for at, piece in enumerate(found)])
        values, logits = places.spread(own), rows.astype(np.float64) @ vector[0]
        rest = logits - values.sum(axis=1)
        return vector, Contributions(places.starts, places.stops, values, rest, logits, approximate=True)

    def before_block(self, tokens: Tokens) -> np.ndarray:
        """The same as `encode`: a transformer has no block."""
        return self.encode(tokens)

    def as_start(self) -> Transformer:
        """As initialisation of another training: unchanged."""
        return self

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield indices and vectors of batches of documents, (batch,) and (batch, dim) float32, longest first."""
        return self._encoded(self.read(documents))

    def _encoded(self, tokens: Tokens, roughly: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Some texts at a time, by our own layers, or by torch where these do not know the family or there is a GPU."""
        from longtail.data.batches import longest_first

        lengths = np.diff(tokens.offsets)
        by_torch = roughly or self._shape is None or has_gpu()
        encoded = partial(self._by_torch, roughly=roughly) if by_torch else self._by_kernels
        with counting(len(tokens.ids), "reading documents") as done:
            for rows in longest_first(lengths, BATCH if by_torch else MANY):
                yield rows, encoded(tokens, rows)
                done(lengths[rows].sum())

    def _by_kernels(self, tokens: Tokens, rows: np.ndarray) -> np.ndarray:
        layers = min(self.layers, len(self._forward.layers))
        vectors = self._forward.encode(tokens, rows, layers, self.pool, self.pieces.first)
        return vectors if self.center is None else vectors - self.center

    def _by_torch(self, tokens: Tokens, rows: np.ndarray, roughly: bool) -> np.ndarray:
        import torch

        from longtail.data.batches import padded
        from longtail.encoders.learn.bfloat16 import multiplies_bfloat16

        starts, stops = tokens.offsets[rows], tokens.offsets[rows + 1]
        ids, lengths = padded(tokens.ids, starts, stops, self.pieces.pad), stops - starts
        where = self._encoder.center.device
        fast = torch.autocast(where.type, torch.bfloat16, enabled=roughly and multiplies_bfloat16(where))
        with torch.inference_mode(), fast:
            vectors = self._encoder(torch.from_numpy(ids).to(where), torch.from_numpy(lengths).to(where))
        return vectors.cpu().numpy()

    @cached_property
    def _shape(self) -> Shape | None:
        """The sizes of a family that our layers know."""
        from longtail.encoders.families import shape_of

        return shape_of(self.architecture) if self.pieces.segment == 0 else None

    @cached_property
    def _forward(self) -> Forward:
        """The layers in compiled code, built on first use; never stored."""
        from longtail.encoders.forward import Forward

        shape, pieces = self._shape, self.pieces
        assert shape is not None
        if pieces.largest >= shape.words:
            raise ModelError(
                f"a tokenizer with token {pieces.largest} before a transformer with vectors for {shape.words}"
            )
        if pieces.max_tokens > shape.longest:
            raise ModelError(f"a transformer that cannot read {pieces.max_tokens} tokens, but {shape.longest}")
        return Forward(shape, self.weights, self.scales)

    @cached_property
    def _encoder(self) -> TransformerEncoder:
        """The torch model, built on first use, on a GPU if there is one; never stored."""
        try:
            import torch

            from longtail.encoders.learn.transformer import TransformerEncoder, try_out
        except ImportError:
            raise MissingExtraError("a transformer", "train") from None
        encoder = TransformerEncoder(self).eval().to("cuda" if torch.cuda.is_available() else "cpu")
        try_out(encoder)
        return encoder


def has_gpu() -> bool:
    """Whether torch can compute on a GPU; torch is asked only where it is loaded or a driver is."""
    if "torch" not in sys.modules and not any(Path(place).exists() for place in DRIVERS):
        return False
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # of NVIDIA, AMD, and Windows below Linux


def center_of(start: Transformer, texts: Texts, seed: int) -> np.ndarray:
    """The mean vector of a sample of texts, (dim,) float32."""
    some = np.sort(np.random.default_rng(seed).permutation(len(texts))[:SOME])
    vectors = [vectors for _, vectors in replace(start, center=None).batches(Documents(texts[some]))]
    return np.concatenate(vectors).mean(axis=0)


SOME = 512  # sample size for the mean vector


def texts_of(documents: Documents) -> Texts:
    """The documents' texts; raises an explained error if there are none."""
    if documents.texts is None:
        raise CorpusError("this model reads text, and these documents have only features; give their texts")
    return documents.texts


BATCH = 32  # documents per batch of torch: enough for all cores, few enough to limit padding
MANY = 1024  # documents at a time of our own layers, which do not pad


# -- tokens -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pieces:
    """A transformer's tokenizer, its special tokens, and the position of [CLS].

    BERT, RoBERTa and similar models put it first: [CLS] … [SEP].  XLNet puts it last: … <sep> <cls>.
    """

    subwords: Subwords
    before: tuple[int, ...]  # special tokens before a text
    behind: tuple[int, ...]  # special tokens after a text
    pad: int  # id of the padding token
    first: bool  # whether [CLS] is the first token, else the last
    segment: int  # the segment of [CLS]; all other tokens are in segment 0
    max_tokens: int  # per text, including special ones
    longest: int  # text the transformer supports, in tokens

    def __post_init__(self) -> None:
        if self.max_tokens > self.longest:
            raise ConfigError(f"{self.max_tokens} tokens of a text: this encoder reads at most {self.longest}")
        if self.room < 1:
            raise ConfigError(f"{self.max_tokens} tokens of a text: special ones take {self.specials} of them")

    def check(self) -> None:
        """Raise Unsound unless every id is a token of the vocabulary."""
        if min(*self.before, *self.behind, self.pad, self.segment, self.max_tokens) < 0:
            raise Unsound("special tokens, the segment and max_tokens are 0 or more")

    @property
    def largest(self) -> int:
        """The largest token id of a text."""
        return max(len(self.subwords.names) - 1, *self.before, *self.behind, self.pad)

    @property
    def specials(self) -> int:
        """Number of special tokens of a text."""
        return len(self.before) + len(self.behind)

    @property
    def room(self) -> int:
        """Number of tokens of a text without special ones."""
        return self.max_tokens - self.specials

    def encode(self, texts: Texts) -> Tokens:
        """Token ids of each text with special tokens, at most `max_tokens`; long texts are cut as they are read."""
        return Tokens.joined(map(self.framed, self.subwords.encoded(texts)))

    def framed(self, tokens: Tokens) -> Tokens:
        """Truncate each text and add special tokens."""
        lengths = np.minimum(np.diff(tokens.offsets), self.room)
        offsets = np.append(0, np.cumsum(lengths + self.specials))
        starts, stops = offsets[:-1], offsets[1:]
        ids = np.empty(offsets[-1], np.int32)
        for at, token in enumerate(self.before):
            ids[starts + at] = token
        for at, token in enumerate(reversed(self.behind), 1):
            ids[stops - at] = token
        # Kept token j is token j + (start of its text in `tokens` - start among the kept).
        kept = np.arange(lengths.sum())
        before = np.cumsum(lengths) - lengths
        inside = kept + np.repeat(starts + len(self.before) - before, lengths)
        ids[inside] = tokens.ids[kept + np.repeat(tokens.offsets[:-1] - before, lengths)]
        return Tokens(ids, offsets)
