"""What an encoder takes in training, estimated before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from longtail.corpus import Documents
from longtail.encoders.encoder import BAG, TRANSFORMER, Encoding
from longtail.features.bags import features_expected, tokens_expected


@dataclass(frozen=True)
class Expected:
    """Estimated memory of an encoder in training."""

    parameters: int
    dim: int  # dimension of a text vector
    kept: int  # activations kept per batch for the gradient
    stored: int  # bytes of all tokenized documents


def expected(documents: Documents, encoding: Encoding, batch_size: int) -> Expected:
    """Estimate from text lengths and encoder size."""
    return EXPECTED[encoding.kind](documents, encoding, batch_size)


def _bag(documents: Documents, encoding: Encoding, batch_size: int) -> Expected:
    dim, entries = encoding.bag.dim, features_expected(documents, encoding.words)
    tokens = tokens_expected(documents, encoding.words, encoding.bag.subwords)
    return Expected(dim * (tokens + 2 * dim), dim, batch_size * dim, 24 * entries)


def _transformer(documents: Documents, encoding: Encoding, batch_size: int) -> Expected:
    from longtail.encoders.pretrained import size_of

    size, reading = size_of(encoding.encoder), encoding.transformer
    # A layer keeps about twenty numbers per input number, and one per pair of tokens and head.
    read, one = batch_size * reading.max_tokens, 20 * size.hidden + 12 * reading.max_tokens
    kept = read * size.layers * one
    dim = min(reading.layers, size.layers) * size.hidden
    return Expected(size.parameters, dim, kept, 4 * reading.max_tokens * len(documents))


EXPECTED = {BAG: _bag, TRANSFORMER: _transformer}
