"""One way to the features of documents, from text or ready-made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import store
from longtail.corpus import Documents
from longtail.errors import CorpusError
from longtail.features.documents import DocumentFeatures, unit_rows
from longtail.features.tfidf import TfidfOptions

GIVEN = sp.csr_array(np.array([[3, 0, 4], [0, 0, 0], [0, 2, 0]]))


def test_texts_become_tfidf_rows():
    documents = Documents.of(["red fox", "red sea"])
    features = DocumentFeatures.fit(documents, TfidfOptions(ngrams=2))
    assert features.width == 5
    assert features.of(documents).toarray().astype(bool).tolist() == [[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]]


def test_documents_without_texts_give_their_own_features_at_length_one():
    features = DocumentFeatures.fit(Documents(features=GIVEN))
    rows = features.of(Documents(features=GIVEN))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows.toarray(), [[0.6, 0, 0.8], [0, 0, 0], [0, 1, 0]], rtol=1e-6)
    assert GIVEN.toarray().tolist() == [[3, 0, 4], [0, 0, 0], [0, 2, 0]]


def test_texts_come_before_ready_made_features():
    both = Documents(Documents.of(["red", "fox", "sea"]).texts, GIVEN)
    assert DocumentFeatures.fit(both).of(both).toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_documents_of_the_other_kind_are_refused():
    of_text, of_features = (
        DocumentFeatures.fit(Documents.of(["red fox"])),
        DocumentFeatures.fit(Documents(features=GIVEN)),
    )
    with pytest.raises(CorpusError, match="reads text"):
        of_text.of(Documents(features=GIVEN))
    with pytest.raises(CorpusError, match="cannot read text"):
        of_features.of(Documents.of(["red fox"]))
    with pytest.raises(CorpusError, match="3 features, and these documents have 2"):
        of_features.of(Documents(features=GIVEN[:, :2]))


@pytest.mark.parametrize("documents", [Documents.of(["red fox", "red sea"]), Documents(features=GIVEN)])
def test_stored_features_are_the_same(documents: Documents, tmp_path: Path):
    features = DocumentFeatures.fit(documents)
    with store.whole_directory(tmp_path / "features") as building:
        store.write(building, features)
    read = store.read(tmp_path / "features", DocumentFeatures)
    assert read.of(documents).toarray().tolist() == features.of(documents).toarray().tolist()


def test_unit_rows_add_repeated_entries_and_sort_the_columns():
    tangled = sp.csr_array((np.array([4, 1, 2]), np.array([2, 0, 0]), np.array([0, 3, 3])), shape=(2, 3))
    rows = unit_rows(tangled)
    assert rows.indices.tolist() == [0, 2]
    np.testing.assert_allclose(rows.data, [0.6, 0.8], rtol=1e-6)
    assert tangled.data.tolist() == [4, 1, 2]
