"""One way to the features of documents, from text or ready-made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import store
from longtail.corpus import Documents
from longtail.errors import CorpusError
from longtail.features.bags import Bags, features_expected, of_unit_length, words_expected
from longtail.features.tfidf import TfidfOptions

GIVEN = sp.csr_array(np.array([[3, 0, 4], [0, 0, 0], [0, 2, 0]]))


def test_texts_become_tfidf_rows():
    documents = Documents.of(["red fox", "red sea"])
    bags = Bags.fit(documents, TfidfOptions(ngrams=2))
    assert bags.n_features == 5
    assert bags.rows(documents).toarray().astype(bool).tolist() == [[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]]


def test_documents_without_texts_give_their_own_features_at_length_one():
    bags = Bags.fit(Documents(features=GIVEN))
    rows = bags.rows(Documents(features=GIVEN))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows.toarray(), [[0.6, 0, 0.8], [0, 0, 0], [0, 1, 0]], rtol=1e-6)
    assert GIVEN.toarray().tolist() == [[3, 0, 4], [0, 0, 0], [0, 2, 0]]


def test_texts_come_before_ready_made_features():
    both = Documents(Documents.of(["red", "fox", "sea"]).texts, GIVEN)
    assert Bags.fit(both).rows(both).toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_documents_of_the_other_kind_are_refused():
    of_text, of_features = (
        Bags.fit(Documents.of(["red fox"])),
        Bags.fit(Documents(features=GIVEN)),
    )
    with pytest.raises(CorpusError, match="reads texts"):
        of_text.rows(Documents(features=GIVEN))
    with pytest.raises(CorpusError, match="cannot read texts"):
        of_features.rows(Documents.of(["red fox"]))
    with pytest.raises(CorpusError, match="2 features, and the model was trained on 3"):
        of_features.rows(Documents(features=GIVEN[:, :2]))


@pytest.mark.parametrize("documents", [Documents.of(["red fox", "red sea"]), Documents(features=GIVEN)])
def test_stored_bags_are_the_same(documents: Documents, tmp_path: Path):
    bags = Bags.fit(documents)
    with store.whole_directory(tmp_path / "bags") as building:
        store.write(building, bags)
    read = store.read(tmp_path / "bags", Bags)
    assert read.rows(documents).toarray().tolist() == bags.rows(documents).toarray().tolist()


def test_rows_of_unit_length_add_repeated_entries_and_sort_the_columns():
    tangled = sp.csr_array((np.array([4, 1, 2]), np.array([2, 0, 0]), np.array([0, 3, 3])), shape=(2, 3))
    rows = of_unit_length(tangled)
    assert rows.indices.tolist() == [0, 2]
    np.testing.assert_allclose(rows.data, [0.6, 0.8], rtol=1e-6)
    assert tangled.data.tolist() == [4, 1, 2]


def test_features_are_counted_or_guessed_from_the_length_of_the_texts():
    assert features_expected(Documents(features=GIVEN), TfidfOptions()) == 3
    assert features_expected(Documents.of(["x" * 80, "y" * 10]), TfidfOptions()) == 10
    assert features_expected(Documents.of(["x" * 80, "y" * 10]), TfidfOptions(ngrams=2)) == 20


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, 300), ({"ngrams": 2}, 1500), ({"ngrams": 2, "min_df": 2}, 750)],
)
def test_words_grow_with_the_root_of_the_length_and_pairs_are_more(options: dict, expected: int):
    assert words_expected(Documents.of(["x" * 80, "y" * 20]), TfidfOptions(**options)) == expected
    assert words_expected(Documents(features=GIVEN), TfidfOptions(**options)) == 3
