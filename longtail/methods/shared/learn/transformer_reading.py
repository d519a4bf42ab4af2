"""Tokens of a transformer as batches for the training loop."""

from __future__ import annotations

from longtail.corpus import Corpus
from longtail.encoders.learn.batches import TokenBatches
from longtail.features.tokens import Tokens
from longtail.methods.shared.transformer_reading import Tokenized


def batches_of(read: Tokenized, train: Corpus, valid: Corpus) -> tuple[TokenBatches, TokenBatches]:
    """Batches of training documents and of validation documents."""

    def batches(tokens: Tokens, corpus: Corpus) -> TokenBatches:
        return TokenBatches(tokens.ids, tokens.offsets, corpus.labels, read.start.pieces.pad, corpus.filtered)

    return batches(read.train, train), batches(read.valid, valid)
