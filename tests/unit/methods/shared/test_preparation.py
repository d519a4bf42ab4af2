"""What methods do before they learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import fit
from longtail.corpus import Corpus, Documents, LabelSet
from longtail.errors import CorpusError
from longtail.features.tfidf import TfidfOptions
from longtail.methods.shared.preparation import cluster_labels, learn_words, with_label_texts


@pytest.mark.parametrize("method", ["linear", "decaf", "lightdxml", "lightxml", "gudn", "elias", "elias++"])
def test_a_corpus_in_which_no_document_has_a_label_is_refused_by_name(method: str, tiny_encoder: Path):
    bare = Corpus(Documents.of(["red fox"] * 20), sp.csr_array((20, 1), dtype=np.float32), LabelSet.of(["fox"]), "bare")
    with pytest.raises(CorpusError, match="bare: no document carries a label; there is nothing to learn"):
        fit(method, bare, **({"encoder": str(tiny_encoder)} if method in ("lightxml", "gudn") else {}))


def test_label_texts_stand_behind_the_documents():
    documents, labels = Documents.of(["red fox"]), LabelSet.of(["fox", "deep sea"])
    assert list(with_label_texts(documents, labels).texts) == ["red fox", "fox", "deep sea"]
    features = Documents(features=sp.csr_array([[1.0, 0.0]]))
    assert with_label_texts(features, labels) is features


def test_words_of_labels_are_known_even_where_no_document_uses_them():
    reader = learn_words(Documents.of(["red fox"]), LabelSet.of(["deep sea"]), TfidfOptions(), subwords=0)
    assert reader.vocabulary == ["deep", "fox", "red", "sea"]


def test_a_label_without_documents_lies_where_its_text_puts_it():
    """Documents of labels 0 and 1 use feature 0, those of label 2 feature 1; label 3 has only a text, of feature 1."""
    features, labels = sp.csr_array([[1.0, 0.0], [1, 0], [0, 1]]), sp.csr_array(np.eye(3, 4, dtype=np.float32))
    texts = sp.csr_array(np.array([[0, 1], [0, 1], [1, 0], [0, 1]], np.float32))
    of_label = cluster_labels(features, labels, texts, 2, seed=0).of_label
    assert of_label[0] == of_label[1] != of_label[2] == of_label[3]
