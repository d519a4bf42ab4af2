"""Documents as bags of weighed tokens: their words, and pieces of words, which rare words share with others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Documents
from longtail.features.bags import Bags
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.features.tokens import Subwords


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
        words = self.words.rows(documents)
        if self.pieces is None:
            return words
        assert documents.texts is not None
        return beside(words, self.pieces.transform(documents.texts))


def beside(left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
    """Rows of length 1 or empty, side by side, again of length 1 or empty.

    scipy's hstack and a division by the length say the same and take ten times as long for one text.
    """
    many, more = np.diff(left.indptr), np.diff(right.indptr)
    scale = 1 / np.sqrt(np.maximum((many > 0).astype(np.float32) + (more > 0), 1))
    place = np.arange(left.nnz) + np.repeat(right.indptr[:-1], many)
    other = np.arange(right.nnz) + np.repeat(left.indptr[1:], more)
    columns, values = np.empty(left.nnz + right.nnz, np.int32), np.empty(left.nnz + right.nnz, np.float32)
    columns[place], columns[other] = left.indices, right.indices + left.shape[1]
    values[place], values[other] = left.data * np.repeat(scale, many), right.data * np.repeat(scale, more)
    width = left.shape[1] + right.shape[1]
    return sp.csr_array((values, columns, left.indptr + right.indptr), shape=(left.shape[0], width))
