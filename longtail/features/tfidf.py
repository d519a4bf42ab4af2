"""TF-IDF rows: what scikit-learn's TfidfVectorizer makes of the same texts, many times faster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from longtail.config import setting
from longtail.corpus import Texts
from longtail.errors import ConfigError
from longtail.features.bagging import Bagging
from longtail.features.grams import Grams, is_unspaced
from longtail.features.tokens import Subwords
from longtail.invariants import Array, agree
from longtail.sparse import Rows, sp


@dataclass(frozen=True)
class TfidfOptions:
    """Which terms become features, and how their counts are weighed.  A term is a token or a pair of neighbours."""

    ngrams: int = setting(1, "tokens in the longest term: 1, or 2 for pairs of neighbours too")
    min_df: int = setting(1, "documents a term must be in")
    sublinear: bool = setting(False, "weigh a count by 1 + log(count)")

    def __post_init__(self) -> None:
        if self.ngrams not in (1, 2):
            raise ConfigError(f"ngrams = {self.ngrams}: terms are single tokens (1) or pairs too (2)")
        if self.min_df < 1:
            raise ConfigError(f"min_df = {self.min_df}: it counts documents, so it is at least 1")


@dataclass(frozen=True)
class Tfidf:
    """Which column each term has, and what it weighs.

    weight = count · idf, or (1 + log count) · idf, in rows of length 1, with idf = log((1 + n) / (1 + df)) + 1

    >>> tfidf = Tfidf.fit(Texts.of(["red fox", "red sea"]))
    >>> tfidf.vocabulary
    ['fox', 'red', 'sea']
    >>> tfidf.transform(Texts.of(["the fox"])).toarray()
    array([[1., 0., 0.]], dtype=float32)
    """

    vocabulary: list[str]  # the term of each column, in alphabetical order; a pair is "first second"
    idf: Annotated[np.ndarray, Array("terms", np.float32)]
    sublinear: bool
    subwords: Subwords | Grams | None = None  # what the tokens are; None: words

    @classmethod
    def fit(
        cls,
        texts: Texts,
        options: TfidfOptions = TfidfOptions(),  # noqa: B008 - frozen
        subwords: Subwords | Grams | None = None,
        threads: int | None = None,
    ) -> Tfidf:
        """Choose the terms of the texts; the same whatever the number of threads."""
        from longtail.features.terms import count_terms  # a model that answers has its vocabulary

        terms = count_terms(texts, options.ngrams, options.min_df, subwords, threads)
        idf = np.log((1 + len(texts)) / (1 + terms.documents)) + 1
        return cls(terms.spelled(), idf.astype(np.float32), options.sublinear, subwords)

    @classmethod
    def suited(cls, texts: Texts, options: TfidfOptions = TfidfOptions()) -> Tfidf:  # noqa: B008 - frozen
        """Terms of words; of texts in languages without spaces, terms of one to three characters."""
        if not is_unspaced(texts):
            return cls.fit(texts, options)
        return cls.fit(texts, replace(options, ngrams=1), Grams.of(texts))

    def check(self) -> None:
        """Check that every term has a weight."""
        agree("terms and their weights", len(self.vocabulary), len(self.idf))

    def transform(self, texts: Texts, threads: int | None = None) -> sp.csr_array:
        """(texts, terms) float32, every row of length 1 or empty, its columns in order."""
        starts, columns, weights = self.rows(texts, threads)
        index = np.int32 if len(columns) < 2**31 else np.int64
        parts = weights, columns.astype(index, copy=False), starts.astype(index)
        matrix = sp.csr_array(parts, shape=(len(starts) - 1, len(self.vocabulary)))
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def rows(self, texts: Texts, threads: int | None = None) -> Rows:
        """The same as plain arrays: for one text, scipy's matrix takes longer to make than its weights."""
        return self.bagging.rows(texts, threads)

    @cached_property
    def bagging(self) -> Bagging:
        """Compiled conversion of texts to rows, built from the vocabulary on first use; never stored."""
        return Bagging(self, None) if self.subwords is None else Bagging(None, self)
