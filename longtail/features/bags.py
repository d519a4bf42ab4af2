"""Documents as sparse rows of unit length: words, weighed, or the features they came with; for encoders, pieces too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from longtail.corpus import Documents, Texts
from longtail.errors import CorpusError
from longtail.features.bagging import Bagging
from longtail.features.grams import MOST, is_unspaced
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.features.tokens import Subwords
from longtail.invariants import Number, agree
from longtail.sparse import Rows, rows_of, sp

if TYPE_CHECKING:
    from longtail.features.locating import Words


@dataclass(frozen=True)
class Bags:
    """How documents become rows; without `tfidf` they must bring features of their own.

    >>> documents = Documents.of(["red fox", "red sea"])
    >>> Bags.fit(documents).rows(documents).shape
    (2, 3)
    """

    n_features: Annotated[int, Number(0)]
    tfidf: Tfidf | None

    @classmethod
    def fit(cls, documents: Documents, options: TfidfOptions = TfidfOptions()) -> Bags:  # noqa: B008 - frozen
        """Learn words and their weights; where there is no text, take the features as they are given."""
        if documents.texts is None:
            return cls(documents.features.shape[1], None)  # type: ignore[union-attr]
        return cls.of(Tfidf.suited(documents.texts, options))

    @classmethod
    def of(cls, tfidf: Tfidf) -> Bags:
        """Of a vocabulary that is there."""
        return cls(len(tfidf.vocabulary), tfidf)

    def check(self) -> None:
        """Check that every term has a feature."""
        if self.tfidf is not None:
            agree("terms and features", len(self.tfidf.vocabulary), self.n_features)

    def rows(self, documents: Documents) -> sp.csr_array:
        """One row a document, (documents, features) float32."""
        if self.tfidf is not None:
            return self.tfidf.transform(_texts(documents))
        if documents.features is None:
            raise CorpusError("this model was trained on ready-made features and cannot read texts; give features")
        if documents.features.shape[1] != self.n_features:
            given = documents.features.shape[1]
            raise CorpusError(
                f"these documents have {given} features, and the model was trained on {self.n_features}; "
                "make both with the same vocabulary"
            )
        return of_unit_length(documents.features)

    def plain_rows(self, documents: Documents) -> Rows:
        """The same rows as three plain arrays."""
        return rows_of(self.rows(documents)) if self.tfidf is None else self.tfidf.rows(_texts(documents))


@dataclass(frozen=True)
class Reader:
    """Words (or the features documents came with), and where there is text, pieces beside them.

    >>> documents = Documents.of(["red foxes", "red fox"])
    >>> Reader.fit(documents, TfidfOptions(), subwords=0).vocabulary
    ['fox', 'foxes', 'red']
    """

    words: Bags
    pieces: Tfidf | None

    @classmethod
    def fit(cls, documents: Documents, options: TfidfOptions, subwords: int) -> Reader:
        """Learn words, and so many pieces of them; 0 learns none."""
        texts = documents.texts
        if not subwords or texts is None:
            return cls(Bags.fit(documents, options), None)
        # Pieces serve languages without spaces too, so words beside them may be what they are.
        pieces = Tfidf.fit(texts, options, Subwords.train(texts, subwords))
        return cls(Bags.of(Tfidf.fit(texts, options)), pieces)

    @property
    def vocabulary(self) -> list[str]:
        """The token of each column; features have no names."""
        words = self.words.tfidf.vocabulary if self.words.tfidf else [""] * self.words.n_features
        return words + (self.pieces.vocabulary if self.pieces else [])

    def bags(self, documents: Documents) -> sp.csr_array:
        """(documents, tokens) float32, every row of length 1 or empty."""
        starts, columns, values = self.rows(documents)
        return sp.csr_array((values, columns, starts), shape=(len(starts) - 1, self.n_tokens))

    def rows(self, documents: Documents) -> Rows:
        """The same rows as three plain arrays."""
        if self.words.tfidf is None or documents.texts is None:
            return rows_of(self.words.rows(documents))
        return self.bagging.rows(documents.texts)

    def spread_over_words(self, documents: Documents, columns: np.ndarray, values: np.ndarray) -> Words:
        """Values of the tokens of one document's bag, (labels, tokens), as those of its words: see spans.py."""
        from longtail.features.spans import spread_over_words, text_of  # only explanations need it

        return spread_over_words(self.bagging, text_of(documents), columns, values)

    @cached_property
    def bagging(self) -> Bagging:
        """Compiled tables of words and pieces, built when a text is first read; never stored."""
        return Bagging(self.words.tfidf, self.pieces)

    @property
    def n_tokens(self) -> int:
        """Number of columns."""
        return self.words.n_features + (len(self.pieces.vocabulary) if self.pieces else 0)


def _texts(documents: Documents) -> Texts:
    if documents.texts is None:
        raise CorpusError("this model reads texts, and these documents have only features; give their texts")
    return documents.texts


def of_unit_length(rows: sp.csr_array) -> sp.csr_array:
    """Rows divided by their Euclidean length, as float32 in index order; empty rows stay empty."""
    unit = sp.csr_array(rows, dtype=np.float32, copy=True)
    unit.sum_duplicates()
    squares = sp.csr_array((np.square(unit.data, dtype=np.float64), unit.indices, unit.indptr), shape=unit.shape)
    lengths = np.sqrt(squares @ np.ones(unit.shape[1]))
    unit.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(unit.indptr))
    return unit


def beside_dense(vectors: np.ndarray, rows: sp.csr_array) -> sp.csr_array:
    """[dense ; sparse], (documents, dim + features) float32, each of the two of length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = sp.csr_array((vectors / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32))
    return sp.csr_array(sp.hstack([unit, of_unit_length(rows)], format="csr"))


def features_expected(documents: Documents, words: TfidfOptions) -> int:
    """Stored features of all documents: counted where given, else one for nine bytes of text, with pairs two.

    Of languages without spaces, whose characters have three bytes: two for each character.
    """
    if documents.texts is None:
        return documents.features.nnz  # type: ignore[union-attr]
    if is_unspaced(documents.texts):
        return 2 * int((documents.texts.stops - documents.texts.starts).sum()) // 3
    return words.ngrams * int((documents.texts.stops - documents.texts.starts).sum()) // 9


def words_expected(documents: Documents, words: TfidfOptions) -> int:
    """Different features of all documents; in texts they grow with the square root of the length (Heaps' law).

    For our corpora it says 44,000 to 440,000 where there are 31,000 to 195,000 words, and with pairs that two documents
    share 110,000 to 1,100,000 where there are 43,000 to 804,000.
    """
    if documents.texts is None:
        return documents.features.shape[1]  # type: ignore[union-attr]
    expected = int(30 * np.sqrt((documents.texts.stops - documents.texts.starts).sum()))
    if is_unspaced(documents.texts):
        return min(3 * expected, MOST)
    if words.ngrams == 2:
        expected = 5 * expected // min(words.min_df, 2)
    return expected


def tokens_expected(documents: Documents, options: TfidfOptions, subwords: int) -> int:
    """Columns that a reader of these documents will have; pairs of pieces are about as many as pairs of words."""
    words = words_expected(documents, options)
    if not subwords or documents.texts is None:
        return words
    return words + (max(words, subwords) if options.ngrams == 2 else subwords)
