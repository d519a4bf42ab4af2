"""Texts tokenized once before training, and the initial encoder.

A new encoder needs two modules, X.py and learn/X.py, a Source, and a line in SOURCES.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Union

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, Texts
from longtail.encoders.bag import BLOCKS, BlockKind, TokenBag
from longtail.encoders.encoder import BAG, TRANSFORMER, Encoder, Encoding
from longtail.encoders.label_texts import TextRows, row_directions
from longtail.encoders.learn.bag import LearningBag
from longtail.encoders.learn.batches import BagInput, BagTexts, ReadTexts, TokenInput, TokenTexts
from longtail.encoders.learn.transformer import LearningTransformer
from longtail.encoders.pretrained import pretrained
from longtail.encoders.transformer import Pieces, Transformer, TransformerReading, center_of
from longtail.features.bags import Reader, of_unit_length
from longtail.features.labels import label_text_bags
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.features.tokens import Tokens
from longtail.features.vectors import first_vectors
from longtail.sparse import rows_of

LearningEncoder = LearningBag | LearningTransformer
Names = Union["NamedBags", "NamedTokens"]
Stage = Callable[..., Any]  # run.stage: computes a result once per run


class Source(Protocol):
    """Tokenized texts for one kind of encoder; encoder arguments are of that kind."""

    @property
    def first(self) -> Encoder:
        """The encoder, untrained or pretrained."""

    @property
    def train(self) -> ReadTexts:
        """Training documents."""

    @property
    def valid(self) -> ReadTexts:
        """Validation documents."""

    @property
    def has_words(self) -> np.ndarray:
        """Which training documents have tokens, (documents,) bool."""

    def read_train(self) -> Any:  # noqa: ANN401 - bags or tokens
        """Training documents as input of `first.encode`."""

    def with_labels(self, rows: TextRows) -> ReadTexts:
        """Training documents, and the texts of label rows."""

    def started(
        self,
        start: Any,  # noqa: ANN401 - encoder of this kind
        dropout: float,
        rows: TextRows | None = None,
        words_dropped: float = 0.0,
    ) -> LearningEncoder:
        """An encoder ready for training, with the texts of label rows if given."""

    def before_block(self, encoder: Any, rows: TextRows) -> np.ndarray:  # noqa: ANN401
        """Vectors of the texts of label rows, before any block: (rows, dim)."""

    def first_rows(self, encoder: Any, rows: TextRows) -> np.ndarray:  # noqa: ANN401
        """Label rows from their texts alone, of a length that lets training start: (rows, dim)."""

    def encode_labels(self, encoder: Any) -> np.ndarray:  # noqa: ANN401
        """Vectors of label texts, encoded like documents: (labels, dim)."""

    def features(self, corpus: Corpus) -> tuple[sp.csr_array, sp.csr_array | None]:
        """Sparse features of the documents and label texts of `corpus`, for clustering labels."""

    def names(self, names: Texts, most: int) -> Names:
        """Label names, to be joined into texts of at most `most` tokens."""


# -- a bag of tokens ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BagSource:
    """Documents as bags of tokens."""

    first: TokenBag
    documents: sp.csr_array  # (documents, tokens)
    valid_documents: sp.csr_array
    label_texts: sp.csr_array | None  # (labels, tokens); None if not used

    @property
    def train(self) -> BagTexts:
        """Training documents."""
        return BagTexts(rows_of(self.documents))

    @property
    def valid(self) -> BagTexts:
        """Validation documents."""
        return BagTexts(rows_of(self.valid_documents))

    def with_labels(self, rows: TextRows) -> BagTexts:
        """Training documents, and the texts of label rows."""
        return BagTexts(rows_of(self.documents), rows_of(self._texts(rows)))

    def started(
        self, start: TokenBag, dropout: float, rows: TextRows | None = None, words_dropped: float = 0.0
    ) -> LearningBag:
        """An encoder ready for training, with the texts of label rows if given."""
        texts = None if rows is None else rows_of(self._texts(rows))
        return LearningBag(start, dropout, words_dropped, texts)

    def before_block(self, encoder: TokenBag, rows: TextRows) -> np.ndarray:
        """Vectors of the texts of label rows, before the block: (rows, dim)."""
        return encoder.before_block(rows_of(self._texts(rows)))

    def first_rows(self, encoder: TokenBag, rows: TextRows) -> np.ndarray:
        """The vectors of the texts: those of a bag have a length that lets training start."""
        return self.before_block(encoder, rows)

    def encode_labels(self, encoder: TokenBag) -> np.ndarray:
        """Vectors of label texts, encoded like documents: (labels, dim)."""
        assert self.label_texts is not None
        return encoder.encode(rows_of(self.label_texts))

    def _texts(self, rows: TextRows) -> sp.csr_array:
        assert self.label_texts is not None
        return rows.summed(self.label_texts)

    def read_train(self) -> Any:  # noqa: ANN401 - what encode takes
        """Training documents as input of `first.encode`."""
        return rows_of(self.documents)

    @property
    def has_words(self) -> np.ndarray:
        """Which training documents have tokens."""
        return np.diff(self.documents.indptr) > 0

    def features(self, corpus: Corpus) -> tuple[sp.csr_array, sp.csr_array | None]:
        """The bags themselves."""
        return self.documents, self.label_texts

    def names(self, names: Texts, most: int) -> NamedBags:
        """Label names; a bag has no length limit."""
        return NamedBags(self.first.reader.bags(Documents(names)))


def bag_source(
    train: Corpus, valid: Corpus, encoding: Encoding, seed: int, stage: Stage, reader: Reader, label_texts: bool,
    block: BlockKind,
) -> BagSource:  # fmt: skip
    """Bags of words and word pieces, and initial token vectors."""
    how = encoding.bag
    vectors = stage("token-vectors", first_vectors, reader.vocabulary, how.vectors, how.dim, seed)
    first = TokenBag(reader, vectors, BLOCKS[block].first(how.dim))
    documents = stage("documents", reader.bags, train.documents)
    held_out = stage("valid-documents", reader.bags, valid.documents)
    texts = stage("label-texts", reader.bags, Documents(train.label_set.words())) if label_texts else None
    return BagSource(first, documents, held_out, texts)


@dataclass(frozen=True)
class NamedBags:
    """Label names as bags; joined names are summed."""

    bags: sp.csr_array  # (labels, tokens)

    def fitting(self, labels: np.ndarray) -> np.ndarray:
        """The labels that fit: all."""
        return labels

    def joined(self, chosen: Sequence[np.ndarray]) -> BagInput:
        """One text per list of labels."""
        labels, starts = np.concatenate(chosen), np.append(0, np.cumsum([len(each) for each in chosen]))
        entries = np.ones(len(labels), np.float32), labels, starts
        members = sp.csr_array(entries, shape=(len(chosen), self.bags.shape[0]))
        return BagTexts(rows_of(of_unit_length(sp.csr_array(members @ self.bags)))).batch(np.arange(len(chosen)))


# -- a transformer -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenSource:
    """Documents as token ids of a transformer."""

    first: Transformer
    tokens: Tokens
    valid_tokens: Tokens
    label_tokens: Tokens | None
    reading: TransformerReading
    words: TfidfOptions
    reader: Reader | None  # vocabulary of words, if already learned
    read_last: list[tuple[Transformer, np.ndarray]] = field(default_factory=list)  # cache of label vectors

    @property
    def train(self) -> TokenTexts:
        """Training documents."""
        return TokenTexts(self.tokens, self.first.pieces.pad)

    @property
    def valid(self) -> TokenTexts:
        """Validation documents."""
        return TokenTexts(self.valid_tokens, self.first.pieces.pad)

    def with_labels(self, rows: TextRows) -> TokenTexts:
        """Training documents; the encoder holds the label texts."""
        return self.train

    def started(
        self, start: Transformer, dropout: float, rows: TextRows | None = None, words_dropped: float = 0.0
    ) -> LearningTransformer:
        """An encoder ready for training, with the texts of label rows if given; `words_dropped` is ignored."""
        if rows is None:
            return LearningTransformer(start, self.reading, dropout)
        as_rows = partial(row_directions, rows)
        return LearningTransformer(
            start, self.reading, dropout, self.label_tokens, as_rows, as_rows(self.encode_labels(start))
        )

    def before_block(self, encoder: Transformer, rows: TextRows) -> np.ndarray:
        """Vectors of the texts of label rows: (rows, dim)."""
        return rows.averaged(self.encode_labels(encoder))

    def first_rows(self, encoder: Transformer, rows: TextRows) -> np.ndarray:
        """Directions of the texts; at their full length, logits would start at 20 and more."""
        return row_directions(rows, self.encode_labels(encoder))

    def encode_labels(self, encoder: Transformer) -> np.ndarray:
        """Vectors of label texts, encoded like documents: (labels, dim); cached."""
        assert self.label_tokens is not None
        if not any(known is encoder for known, _ in self.read_last):
            self.read_last[:] = [*self.read_last[-1:], (encoder, encoder.encode(self.label_tokens, roughly=True))]
        return next(vectors for known, vectors in self.read_last if known is encoder)

    def read_train(self) -> Tokens:
        """Training documents as input of `first.encode`."""
        return self.tokens

    @property
    def has_words(self) -> np.ndarray:
        """Which training documents have tokens."""
        return np.diff(self.tokens.offsets) > self.first.pieces.specials

    def features(self, corpus: Corpus) -> tuple[sp.csr_array, sp.csr_array | None]:
        """TF-IDF of words, since a transformer has no sparse features."""
        known = None if self.reader is None else self.reader.words.tfidf
        tfidf = known or Tfidf.suited(corpus.texts, self.words)
        return tfidf.transform(corpus.texts), label_text_bags(tfidf, corpus.label_set)

    def names(self, names: Texts, most: int) -> NamedTokens:
        """Label names, to be joined into texts of at most `most` tokens."""
        pieces = replace(self.first.pieces, max_tokens=most)
        return NamedTokens(pieces.subwords.encode(names), pieces)


def token_source(
    train: Corpus, valid: Corpus, encoding: Encoding, seed: int, stage: Stage, reader: Reader | None, label_texts: bool,
    block: BlockKind,
) -> TokenSource:  # fmt: skip
    """Token ids for a pretrained transformer."""
    texts, valid_texts = train.texts, valid.texts  # raises for a corpus without text before any computation
    how = encoding.transformer
    first = stage("encoder", pretrained, encoding.encoder, how.max_tokens)
    first = replace(first, layers=how.layers, pool=how.pool)
    if how.pool == "mean":
        first = replace(first, center=stage("center", center_of, first, texts, seed))
    read = first.pieces.encode
    tokens, valid_tokens = stage("tokens", read, texts), stage("valid-tokens", read, valid_texts)
    label_tokens = stage("label-tokens", read, train.label_set.words()) if label_texts else None
    return TokenSource(first, tokens, valid_tokens, label_tokens, how, encoding.words, reader)


@dataclass(frozen=True)
class NamedTokens:
    """Label names as token ids without special ones; joined names are concatenated."""

    tokens: Tokens
    pieces: Pieces

    def fitting(self, labels: np.ndarray) -> np.ndarray:
        """The labels that fit: the first ones up to the token limit, at least one."""
        lengths = np.cumsum([len(self.tokens[label]) for label in labels])
        return labels[: max(1, int(np.searchsorted(lengths, self.pieces.room, side="right")))]

    def joined(self, chosen: Sequence[np.ndarray]) -> TokenInput:
        """One text per list of labels."""
        texts = ([token for label in labels for token in self.tokens[label].tolist()] for labels in chosen)
        read = TokenTexts(self.pieces.framed(Tokens.of(texts)), self.pieces.pad)
        return read.batch(np.arange(len(chosen)), uneven=True)


SOURCES: dict[str, Callable[..., Source]] = {BAG: bag_source, TRANSFORMER: token_source}


def source_of(
    train: Corpus, valid: Corpus, encoding: Encoding, seed: int, stage: Stage, reader: Reader | None, *,
    label_texts: bool = False, block: BlockKind = "gated",
) -> Source:  # fmt: skip
    """The source for the encoder in the settings; `reader` has the vocabulary of a bag."""
    return SOURCES[encoding.kind](train, valid, encoding, seed, stage, reader, label_texts, block)
