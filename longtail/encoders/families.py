"""The families of transformers that forward.py computes (BERT, RoBERTa, DistilBERT): sizes, and names of weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from longtail.errors import ModelError


@dataclass(frozen=True)
class Names:
    """What a family calls the fields of its config.json and its weights."""

    fields: tuple[str, ...]  # hidden, layers, heads, inner, and the activation between the two products
    layer: str  # prefix of a layer's weights, with its number
    parts: tuple[str, ...]  # query, key, value, out, norm, up, down, norm
    eps: str | None = "layer_norm_eps"
    segments: str | None = "type_vocab_size"
    from_padding: bool = False  # positions are counted from the number of the padding token


BERT = Names(
    ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act"),
    "encoder.layer.{}.",
    ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
     "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
)  # fmt: skip
ROBERTA = replace(BERT, from_padding=True)
DISTILBERT = Names(
    ("dim", "n_layers", "n_heads", "hidden_dim", "activation"),
    "transformer.layer.{}.",
    ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
     "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
    eps=None,
    segments=None,
)  # fmt: skip
FAMILIES = {"bert": BERT, "roberta": ROBERTA, "xlm-roberta": ROBERTA, "camembert": ROBERTA, "distilbert": DISTILBERT}
EPS = 1e-12  # of families that do not say


@dataclass(frozen=True)
class Shape:
    """The sizes of a transformer."""

    names: Names
    eps: float
    hidden: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    segments: int  # 0 where a family has none
    before: int  # position before the first token

    @property
    def longest(self) -> int:
        """Number of tokens of the longest text."""
        return self.positions - self.before - 1

    def weights(self) -> dict[str, tuple[int, ...]]:
        """The shape of every array of weights, by its name."""
        counts = {"word": self.words, "position": self.positions, "token_type": self.segments}
        found: dict[str, tuple[int, ...]] = {
            f"embeddings.{name}_embeddings.weight": (count, self.hidden) for name, count in counts.items() if count
        }
        found |= _with_bias("embeddings.LayerNorm", (self.hidden,))
        square, up, norm = (self.hidden, self.hidden), (self.inner, self.hidden), (self.hidden,)
        shapes = (square, square, square, square, norm, up, up[::-1], norm)
        for layer in range(self.layers):
            for part, shape in zip(self.names.parts, shapes):
                found |= _with_bias(self.names.layer.format(layer) + part, shape)
        return found


def _with_bias(name: str, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def shape_of(architecture: dict[str, Any]) -> Shape | None:
    """The sizes by a config.json, or nothing if it is of another family or differs from it in what is computed."""
    names = FAMILIES.get(str(architecture.get("model_type")))
    if names is None or architecture.get("position_embedding_type", "absolute") != "absolute":
        return None
    *sizes, activation = (architecture.get(name) for name in names.fields)
    sizes += [architecture.get(name) for name in ("vocab_size", "max_position_embeddings")]
    sizes.append(architecture.get(names.segments) if names.segments else 0)
    sizes.append(architecture.get("pad_token_id") if names.from_padding else -1)
    eps = architecture.get(names.eps) if names.eps else EPS
    if activation != "gelu" or not isinstance(eps, float) or not all(type(size) is int for size in sizes):
        return None
    shape = Shape(names, eps, *cast(list[int], sizes))
    return shape if _can_be(shape) else None


def _can_be(shape: Shape) -> bool:
    """Whether there are layers of such sizes; integers are multiplied in pairs, so sizes are even."""
    sizes = (shape.hidden, shape.layers, shape.heads, shape.inner, shape.words, shape.longest)
    if min(sizes) < 1 or shape.segments < 0 or shape.before < -1 or not 0 < shape.eps < 1:
        return False
    return shape.hidden % shape.heads == shape.hidden % 2 == shape.inner % 2 == 0 and shape.layers <= MOST_LAYERS


MOST_LAYERS = 1000


def check_weights(shape: Shape, weights: dict[str, np.ndarray]) -> None:
    """Raise ModelError unless all weights are there, in the shapes that the architecture asks for."""
    wanted, found = shape.weights(), {name: array.shape for name, array in weights.items()}
    if wanted != found:
        unlike = sorted(name for name in wanted | found if wanted.get(name) != found.get(name))
        raise ModelError(f"a transformer whose weights do not fit its architecture ({', '.join(unlike[:3])})")
