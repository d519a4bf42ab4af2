"""The encoders by name.

Every encoder, a class in its own module, has

    dim                          dimension of a text vector
    read(documents) -> Read      tokenized texts: bags of weighted tokens, or token ids in order
    encode(read) -> array        (documents, dim) float32
    before_block(read)           the same without the block of a bag encoder
    explained(documents, rows)   the vector of one document, and what its words add to ⟨row, vector⟩
    batches(documents)           vectors of some documents at a time, and which documents they are
    as_start()                   itself, as another training should start from it

Its training counterpart is in learn/; learn/encoder.py has the table.  cost.py has estimates of their memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longtail.config import explain
from longtail.corpus import Documents
from longtail.encoders.bag import BagReading, TokenBag
from longtail.encoders.transformer import Transformer, TransformerReading
from longtail.features.tfidf import TfidfOptions
from longtail.reasons import Contributions, mixed

BAG, TRANSFORMER = "bag", "transformer"
Encoder = TokenBag | Transformer  # in stored models

MEANING = "text encoder: bag, or a transformer by hub name, directory, or package:NAME"


def vectors_of(encoder: Encoder, documents: Documents) -> np.ndarray:
    """The vector of every document, (documents, dim) float32."""
    read: Any = encoder.read(documents)
    return encoder.encode(read)


def unit_explained(encoders: Sequence[Encoder], documents: Documents, rows: np.ndarray) -> Contributions:
    """What the words of one document add to ⟨row, vector⟩, its vector those of the encoders in line, of length 1.

    With the length of this document fixed, that is linear in the vectors.
    """
    halves = np.split(rows, len(encoders), axis=1)
    vectors, parts = zip(*(encoder.explained(documents, half) for encoder, half in zip(encoders, halves)))
    length = max(float(np.linalg.norm(np.concatenate(vectors, axis=1))), float(np.finfo(np.float32).tiny))
    return mixed(parts, [1 / length] * len(parts))


@dataclass(frozen=True)
class Encoding:
    """The encoder of a method and its settings, from the method's Config."""

    encoder: str
    words: TfidfOptions
    bag: BagReading
    transformer: TransformerReading

    @property
    def kind(self) -> str:
        """The entry of the table."""
        return kind_of(self.encoder)


def kind_of(encoder: str) -> str:
    """The kind of an encoder by its name; any other than bag is a transformer."""
    return BAG if encoder == BAG else TRANSFORMER


def encoder_of(setting: str) -> str | None:
    """The encoder that a setting is of, by its dotted name; None if it is of both.

    >>> encoder_of("elias.bag.dim"), encoder_of("optim.lr")
    ('bag', None)
    """
    return next((part for part in setting.split(".")[:-1] if part in (BAG, TRANSFORMER)), None)


def without_effect(settings: Iterable[str], config: Any) -> list[str]:  # noqa: ANN401 - any method's Config
    """The settings, by dotted names, that are of an encoder that the config does not choose."""
    chosen = {line.name: line.default for line in explain(config) if line.name.split(".")[-1] == "encoder"}
    idle = []
    for name in settings:
        own = encoder_of(name)
        encoder = None if own is None else chosen.get(f"{name.partition(f'{own}.')[0]}encoder")
        if encoder is not None and kind_of(encoder) != own:
            idle.append(name)
    return idle
