"""The layers of a transformer in compiled code (families.py has which), so that what answers needs no torch.

Texts are not padded: their tokens lie in one run of memory.  The tokens of a few texts are shared by all cores; many
texts are cut into chunks, which cores take one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from longtail.encoders.families import Shape, check_weights
from longtail.errors import ModelError
from longtail.features.tokens import Tokens
from longtail.kernels.layers import STRIP, Layer, Norm, Space, Words, read, through_layer
from longtail.kernels.matmul import COLUMNS, LARGEST, ROWS, Packed, packed
from longtail.kernels.products import table_of
from longtail.kernels.threads import PerThread, each_in_threads, in_threads
from longtail.precision import as_floats

CHUNK = 256  # tokens that a core takes at a time


class Forward:
    """Layers ready to compute, from weights in any precision."""

    def __init__(self, shape: Shape, weights: dict[str, np.ndarray], scales: dict[str, np.ndarray]):
        check_weights(shape, weights)
        self.shape, self._weights, self._scales = shape, weights, scales
        self.words = self._words()
        threes = [self._three(layer) for layer in range(shape.layers)]
        self.first_three = threes[0]
        self.layers = [self._layer(at, threes[min(at + 1, shape.layers - 1)]) for at in range(shape.layers)]
        self._space = PerThread(partial(_space, shape, threes[0].panels.dtype))

    # -- from weights by name ------------------------------------------------------------------------------------------

    def _words(self) -> Words:
        words, positions, segments = (
            f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")
        )
        places = as_floats(self._weights[positions], self._scales.get(positions))
        if self.shape.segments:
            places = places + as_floats(self._weights[segments], self._scales.get(segments))[0]
        rows, scales = table_of(np.ascontiguousarray(self._weights[words]), self._scales.get(words))
        return Words(rows, scales, np.ascontiguousarray(places), self._norm("embeddings.LayerNorm"), self.shape.before)

    def _norm(self, name: str) -> Norm:
        weight, bias = (
            np.ascontiguousarray(self._weights[f"{name}.{part}"], np.float32) for part in ("weight", "bias")
        )
        return Norm(weight, bias, self.shape.eps)

    def _packed(self, *names: str) -> Packed:
        """The weights of these names as one product."""
        weights, biases = (
            np.concatenate([self._weights[f"{name}.{part}"] for name in names]) for part in ("weight", "bias")
        )
        scales = [self._scales[f"{name}.weight"] for name in names if f"{name}.weight" in self._scales]
        return packed(weights, np.concatenate(scales) if scales else None, biases)

    def _parts(self, layer: int) -> list[str]:
        return [self.shape.names.layer.format(layer) + part for part in self.shape.names.parts]

    def _three(self, layer: int) -> Packed:
        return self._packed(*self._parts(layer)[:3])

    def _layer(self, layer: int, next_three: Packed) -> Layer:
        out, after_attention, up, down, after = self._parts(layer)[3:]
        return Layer(
            self._packed(out), self._norm(after_attention), self._packed(up), self._packed(down), self._norm(after),
            next_three,
        )  # fmt: skip

    # -- texts ---------------------------------------------------------------------------------------------------------

    def encode(self, tokens: Tokens, texts: np.ndarray, layers: int, pool: str, first: bool) -> np.ndarray:
        """The pooled states of the last layers of some texts, the last first: (texts, layers · hidden) float32.

        `first` says whether [CLS] is the first token of a text, or the last.
        """
        lengths = np.diff(tokens.offsets)[texts]
        found = np.empty((len(texts), layers * self.shape.hidden), np.float32)

        def chunk(rows: np.ndarray) -> None:
            ids, offsets = (
                np.concatenate([tokens[text] for text in texts[rows]]),
                np.append(0, np.cumsum(lengths[rows])),
            )
            self._check(ids, lengths[rows])
            for at, pooled in self._pooled(ids, offsets, layers, pool, first):
                found[rows, at * self.shape.hidden : (at + 1) * self.shape.hidden] = pooled

        each_in_threads(chunk, chunks(lengths, CHUNK))
        return found

    def _check(self, ids: np.ndarray, lengths: np.ndarray) -> None:
        """Raise unless every token has a vector and every text fits; tokenizers may lie."""
        if (
            ids.min() < 0
            or ids.max() >= self.shape.words
            or not 0 < lengths.min() <= lengths.max() <= self.shape.longest
        ):
            raise ModelError(
                f"tokens from {ids.min()} to {ids.max()} in texts of up to {lengths.max()}, before a transformer with "
                f"vectors for {self.shape.words} that reads up to {self.shape.longest}"
            )

    def _pooled(
        self, ids: np.ndarray, offsets: np.ndarray, layers: int, pool: str, first: bool
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Of some texts, how far a layer is from the last and its pooled states."""
        for layer, states in enumerate(self._states(ids, offsets), 1):
            place = len(self.layers) - layer
            if place < layers and pool == "mean":
                yield place, np.add.reduceat(states, offsets[:-1]) / np.diff(offsets)[:, None].astype(np.float32)
            elif place < layers:
                yield place, states[offsets[:-1] if first else offsets[1:] - 1]

    def _states(self, ids: np.ndarray, offsets: np.ndarray) -> Iterator[np.ndarray]:
        """The states of all tokens after each layer, (tokens, hidden), in one array."""
        states = np.empty((len(ids), self.shape.hidden), np.float32)
        now, later = (np.empty((len(ids), 3 * self.shape.hidden), np.float32) for _ in range(2))

        def embed(start: int, stop: int) -> None:
            read(ids, offsets, self.words, self.first_three, start, stop, self._space.here, states, now)

        in_threads(embed, len(ids))
        for layer in self.layers:
            through = partial(self._through, layer, offsets, states, now, later)
            in_threads(through, len(ids))
            now, later = later, now
            yield states

    def _through(
        self, layer: Layer, offsets: np.ndarray, states: np.ndarray, now: np.ndarray, later: np.ndarray,
        start: int, stop: int,
    ) -> None:  # fmt: skip
        through_layer(offsets, layer, self.shape.heads, start, stop, self._space.here, states, now, later)


def chunks(lengths: np.ndarray, tokens: int) -> list[np.ndarray]:
    """Texts of about so many tokens together, the longest first: what is left at the end is short.

    >>> [rows.tolist() for rows in chunks(np.array([3, 9, 4, 2, 1]), 6)]
    [[1], [2], [0, 3, 4]]
    """
    found: list[list[int]] = []
    room = 0
    for row in np.argsort(-lengths, kind="stable").tolist():
        if lengths[row] > room:
            found.append([])
            room = tokens
        found[-1].append(row)
        room -= lengths[row]
    return [np.array(rows) for rows in found]


def _space(shape: Shape, dtype: np.dtype) -> Space:
    is_float = dtype == np.float32
    return Space(
        sums=np.empty(ROWS * COLUMNS, np.float32 if is_float else np.int32),
        codes=np.empty(STRIP * max(shape.hidden, shape.inner), np.float32 if is_float else np.int16),
        scales=np.ones(STRIP, np.float32),
        context=np.empty((STRIP, shape.hidden), np.float32),
        mixed=np.empty((STRIP, shape.hidden), np.float32),
        middle=np.empty((STRIP, shape.inner), np.float32),
        largest=LARGEST[dtype],
    )
