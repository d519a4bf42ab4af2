"""A transformer by name before its first step, and the tokens it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from longtail.corpus import Corpus
from longtail.encoders.pretrained import Size, pretrained
from longtail.encoders.transformer import Reading, Transformer, center_of
from longtail.features.tokens import Tokens
from longtail.train.run import Run


@dataclass(frozen=True)
class Tokenized:
    """Documents as a transformer reads them."""

    start: Transformer  # before its first step
    train: Tokens
    valid: Tokens


def tokenize(train: Corpus, valid: Corpus, encoder: str, reading: Reading, seed: int, run: Run) -> Tokenized:
    """The transformer and the tokens of both corpora; each part is made once a run."""
    texts, valid_texts = train.texts, valid.texts  # refuses a corpus without text before anything is computed
    start = run.stage("encoder", pretrained, encoder, reading.max_tokens)
    if reading.centred:
        start = replace(start, center=run.stage("center", center_of, start, reading, texts, seed))
    tokens = run.stage("tokens", start.pieces.encode, texts)
    return Tokenized(start, tokens, run.stage("valid-tokens", start.pieces.encode, valid_texts))


def vector_length(size: Size, reading: Reading) -> int:
    """Length of a document's vector: the last layers side by side."""
    return min(reading.layers, size.layers) * size.hidden
