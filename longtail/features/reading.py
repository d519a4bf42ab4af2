"""Documents as bags of weighed tokens: their words, and pieces of words, which rare words share with others."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from longtail.corpus import Documents
from longtail.features.bags import Bags, of_unit_length
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
        both = sp.hstack([words, self.pieces.transform(documents.texts)], format="csr")
        return of_unit_length(sp.csr_array(both))
