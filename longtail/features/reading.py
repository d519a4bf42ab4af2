"""Documents as bags of weighed tokens: their words, and pieces of words, which rare words share with others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from longtail.corpus import Documents
from longtail.features.bagging import Bagging
from longtail.features.bags import Bags, words_expected
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.features.tokens import Subwords
from longtail.kernels.csr import Rows, rows_of
from longtail.sparse import sp


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

    @cached_property
    def bagging(self) -> Bagging:
        """Compiled tables of words and pieces, built when a text is first read; never stored."""
        return Bagging(self.words.tfidf, self.pieces)

    @property
    def n_tokens(self) -> int:
        """Number of columns."""
        return self.words.n_features + (len(self.pieces.vocabulary) if self.pieces else 0)


def tokens_expected(documents: Documents, options: TfidfOptions, subwords: int) -> int:
    """Columns that a reader of these documents will have; pairs of pieces are about as many as pairs of words."""
    words = words_expected(documents, options)
    if not subwords or documents.texts is None:
        return words
    return words + (max(words, subwords) if options.ngrams == 2 else subwords)
