"""The features of documents, wherever they come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Documents
from longtail.errors import CorpusError
from longtail.features.tfidf import Tfidf, TfidfOptions


@dataclass(frozen=True)
class DocumentFeatures:
    """How documents become rows: TF-IDF of their texts, or the features they came with where they have no texts.

    >>> documents = Documents.of(["red fox", "red sea"])
    >>> DocumentFeatures.fit(documents).of(documents).shape
    (2, 3)
    """

    width: int
    tfidf: Tfidf | None

    @classmethod
    def fit(cls, documents: Documents, options: TfidfOptions = TfidfOptions()) -> DocumentFeatures:  # noqa: B008 - frozen
        """Learn a vocabulary from the texts, if there are texts."""
        if documents.texts is None:
            return cls(documents.features.shape[1], None)  # type: ignore[union-attr]
        tfidf = Tfidf.fit(documents.texts, options)
        return cls(len(tfidf.vocabulary), tfidf)

    def of(self, documents: Documents) -> sp.csr_array:
        """(documents, width) float32, every row of length 1 or empty, its columns in order."""
        if self.tfidf is not None:
            if documents.texts is None:
                raise CorpusError("this model reads text, and these documents have only features; give their texts")
            return self.tfidf.transform(documents.texts)
        if documents.features is None:
            raise CorpusError("this model was trained on ready-made features and cannot read text; give features")
        if documents.features.shape[1] != self.width:
            raise CorpusError(
                f"this model was trained on {self.width} features, and these documents have "
                f"{documents.features.shape[1]}; make both with the same vocabulary"
            )
        return unit_rows(documents.features)


def unit_rows(matrix: sp.csr_array) -> sp.csr_array:
    """The rows of a matrix made length 1, float32, columns in order; rows of zeros stay so."""
    rows = sp.csr_array(matrix, dtype=np.float32, copy=True)
    rows.sum_duplicates()
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64))
    rows.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(rows.indptr)).astype(np.float32)
    return rows
