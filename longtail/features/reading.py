"""Documents as bags of weighed tokens: their words, and pieces of words, which rare words share with others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Documents
from longtail.features.bags import Bags, words_expected
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.features.tokens import Subwords
from longtail.kernels.csr import Rows, rows_of


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
        pieces = Tfidf.fit(texts, options, Subwords.train(texts, subwords)) if subwords and texts is not None else None
        return cls(Bags.fit(documents, options), pieces)

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
        """The same as plain arrays."""
        if self.words.tfidf is None or documents.texts is None:
            return rows_of(self.words.rows(documents))
        words = self.words.tfidf.rows(documents.texts)
        if self.pieces is None:
            return words
        return beside(words, self.pieces.rows(documents.texts), self.words.n_features)

    @property
    def n_tokens(self) -> int:
        """Columns there are."""
        return self.words.n_features + (len(self.pieces.vocabulary) if self.pieces else 0)


def tokens_expected(documents: Documents, options: TfidfOptions, subwords: int) -> int:
    """Columns that a reader of these documents will have; pairs of pieces are about as many as pairs of words."""
    words = words_expected(documents, options)
    if not subwords or documents.texts is None:
        return words
    return words + (max(words, subwords) if options.ngrams == 2 else subwords)


def beside(left: Rows, right: Rows, width: int) -> Rows:
    """Rows of length 1 or empty, side by side, again of length 1 or empty; the left ones have `width` columns.

    scipy's hstack and a division by the length say the same and take ten times as long for one text.
    """
    many, more = np.diff(left[0]), np.diff(right[0])
    scale = 1 / np.sqrt(np.maximum((many > 0).astype(np.float32) + (more > 0), 1))
    place = np.arange(len(left[1])) + np.repeat(right[0][:-1], many)
    other = np.arange(len(right[1])) + np.repeat(left[0][1:], more)
    columns, values = (np.empty(len(place) + len(other), kind) for kind in (np.int32, np.float32))
    columns[place], columns[other] = left[1], right[1] + width
    values[place], values[other] = left[2] * np.repeat(scale, many), right[2] * np.repeat(scale, more)
    return left[0] + right[0], columns, values
