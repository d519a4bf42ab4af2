"""The layers of a transformer in compiled code (families.py has which), so that what answers needs no torch.

Texts are not padded: their tokens lie in one run of memory.  The tokens of a few texts are shared by all cores; many
texts are cut into chunks, which cores take one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from longtail.encoders.families import Shape, check_weights
from longtail.errors import ModelError
from longtail.features.tokens import Tokens
from longtail.kernels.layers import STRIP, Layer, Norm, Space, Words, pool, read, through_layer
from longtail.kernels.matmul import COLUMNS, LARGEST, ROWS, Packed, in_one_run, packed
from longtail.kernels.products import table_of
from longtail.kernels.threads import PerThread, each_in_threads, in_threads
from longtail.precision import as_floats

CHUNK = 256  # tokens that a core takes at a time


class Forward:
    """Layers ready to compute, from weights in any precision."""

    def __init__(self, shape: Shape, weights: dict[str, np.ndarray], scales: dict[str, np.ndarray]):
        check_weights(shape, weights)
        self.shape, self._weights, self._scales = shape, weights, scales
        self.words, self.first_three, self.layers = self._words(), *self._products()
        self._desks = PerThread[_Desk](partial(_Desk, self))

    def __reduce__(self) -> tuple:
        return Forward, (self.shape, self._weights, self._scales)

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

    def _products(self) -> tuple[Packed, list[Layer]]:
        """`three` of the first layer, and all layers, their weights in the order in which they are read."""
        names = [[self.shape.names.layer.format(layer) + part for part in self.shape.names.parts]
                 for layer in range(self.shape.layers)]  # fmt: skip
        three, *products = in_one_run([
            self._packed(some) for parts in names for some in (parts[:3], parts[3:4], parts[5:6], parts[6:7])
        ])  # fmt: skip
        products.append(_without_outputs(three))
        norms = [(self._norm(parts[4]), self._norm(parts[7])) for parts in names]
        layers = [
            Layer(out, one, up, down, other, next_three, self.shape.heads)
            for (one, other), out, up, down, next_three in zip(norms, *(products[at::4] for at in range(4)))
        ]
        return three, layers

    def _packed(self, names: list[str]) -> Packed:
        """The weights of these names as one product."""
        weights, biases = (
            np.concatenate([self._weights[f"{name}.{part}"] for name in names]) for part in ("weight", "bias")
        )
        scales = [self._scales[f"{name}.weight"] for name in names if f"{name}.weight" in self._scales]
        return packed(weights, np.concatenate(scales) if scales else None, biases)

    # -- texts ---------------------------------------------------------------------------------------------------------

    def encode(self, tokens: Tokens, texts: np.ndarray, layers: int, pool: str, first: bool) -> np.ndarray:
        """The pooled states of the last layers of some texts, the last first: (texts, layers · hidden) float32.

        `first` says whether [CLS] is the first token of a text, or the last.
        """
        lengths = np.diff(tokens.offsets)[texts]
        found = np.empty((len(texts), layers * self.shape.hidden), np.float32)
        token = MEAN if pool == "mean" else FIRST if first else LAST

        def chunk(rows: np.ndarray) -> None:
            ids = np.concatenate([tokens[text] for text in texts[rows]])
            self._check(ids, lengths[rows])
            found[rows] = self._pooled(ids, np.append(0, np.cumsum(lengths[rows])), layers, token)

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

    def _pooled(self, ids: np.ndarray, offsets: np.ndarray, layers: int, token: int) -> np.ndarray:
        """The pooled states of the last layers of some texts, as `encode` has them."""
        hidden = self.shape.hidden
        found = np.empty((len(offsets) - 1, layers * hidden), np.float32)
        states = np.empty((len(ids), hidden), np.float32)
        now, later = (np.empty((len(ids), 3 * hidden), np.float32) for _ in range(2))

        def part(step: int, start: int, stop: int) -> None:
            desk: _Desk = self._desks.here  # type: ignore[assignment]
            if step == 0:
                desk.read(ids, offsets, start, stop, states, now)
            else:
                desk.layers[step - 1](offsets, start, stop, states, now, later)

        in_threads(partial(part, 0), len(ids))
        for layer in range(1, self.shape.layers + 1):
            in_threads(partial(part, layer), len(ids))
            now, later = later, now
            if (place := self.shape.layers - layer) < layers:
                pool(states, offsets, token, found, place * hidden)
        return found


MEAN, FIRST, LAST = 1, 0, -1  # what `pool` makes of the tokens of a text


class _Desk:
    """What one thread computes with: the loops, bound to the weights and to its own buffers."""

    def __init__(self, forward: Forward):
        space = _space(forward.shape, forward.first_three.panels.dtype)
        self.read: Callable[..., int] = read.bound(forward.words, forward.first_three, space)
        self.layers: list[Callable[..., int]] = [through_layer.bound(layer, space) for layer in forward.layers]


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


def _without_outputs(product: Packed) -> Packed:
    return product._replace(panels=product.panels[:0], scales=product.scales[:0], bias=product.bias[:0])


def _space(shape: Shape, dtype: np.dtype) -> Space:
    is_float, size = dtype == np.float32, shape.hidden // shape.heads
    longest, wide = (-(-numbers // COLUMNS) * COLUMNS for numbers in (shape.longest, size))
    return Space(
        sums=np.empty(ROWS * COLUMNS, np.float32 if is_float else np.int32),
        codes=np.empty(STRIP * max(shape.hidden, shape.inner), np.float32 if is_float else np.int16),
        scales=np.ones(STRIP, np.float32),
        context=np.empty((STRIP, shape.hidden), np.float32),
        mixed=np.empty((STRIP, shape.hidden), np.float32),
        middle=np.empty((STRIP, shape.inner), np.float32),
        keys=np.zeros(longest * size, np.float32),
        values=np.zeros(shape.longest * wide, np.float32),
        attention=np.empty((ROWS, longest), np.float32),
        attended=np.empty(ROWS * COLUMNS, np.float32),
        largest=LARGEST[dtype],
    )
