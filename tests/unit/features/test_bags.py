"""Documents as rows: their words or the features they came with, and for encoders pieces of words beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import store
from longtail.corpus import Documents
from longtail.errors import CorpusError
from longtail.features.bags import Bags, Reader, features_expected, of_unit_length, tokens_expected, words_expected
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


TEXTS = ["low lower lowest", "slow low", "new newer newest", "a new low"]


def test_without_pieces_a_reader_reads_words():
    documents = Documents.of(TEXTS)
    reader = Reader.fit(documents, TfidfOptions(), subwords=0)
    assert np.array_equal(reader.bags(documents).toarray(), Bags.fit(documents).rows(documents).toarray())


def test_an_unknown_word_is_read_by_its_pieces():
    documents = Documents.of(TEXTS)
    reader = Reader.fit(documents, TfidfOptions(), subwords=60)
    bag = reader.bags(Documents.of(["slowest"]))
    assert bag.indices.min() >= len(reader.words.tfidf.vocabulary)
    assert bag.shape == (1, len(reader.vocabulary))


def test_a_bag_has_length_one_whatever_is_in_it():
    documents = Documents.of([*TEXTS, ""])
    bags = Reader.fit(documents, TfidfOptions(), subwords=60).bags(documents)
    np.testing.assert_allclose(np.sqrt(bags.multiply(bags).sum(axis=1)), [1, 1, 1, 1, 0], rtol=1e-6)


def test_side_by_side_is_what_scipy_stacks_and_divides():
    documents = Documents.of([*TEXTS, "", "zz", "slowest", "x low"])
    reader = Reader.fit(Documents.of(TEXTS), TfidfOptions(), subwords=60)
    left, right = reader.words.rows(documents), reader.pieces.transform(documents.texts)
    empty = np.diff(left.indptr) == 0, np.diff(right.indptr) == 0
    assert (empty[0] & empty[1]).any() and (empty[0] & ~empty[1]).any() and (~empty[0] & ~empty[1]).any()
    together = reader.bags(documents)
    assert together.has_canonical_format
    expected = of_unit_length(sp.csr_array(sp.hstack([left, right])))
    np.testing.assert_allclose(together.toarray(), expected.toarray(), rtol=1e-6)


def test_words_and_pieces_weigh_the_same_together():
    documents = Documents.of(TEXTS)
    reader = Reader.fit(documents, TfidfOptions(), subwords=60)
    halves = np.square(reader.bags(documents).toarray())[:, : len(reader.words.tfidf.vocabulary)].sum(axis=1)
    np.testing.assert_allclose(halves, 0.5, rtol=1e-5)


def test_ready_made_features_are_read_as_they_are_and_texts_refused():
    features = sp.csr_array(np.array([[0, 3], [4, 0]], np.float32))
    reader = Reader.fit(Documents(features=features), TfidfOptions(), subwords=60)
    assert reader.bags(Documents(features=features)).toarray().tolist() == [[0, 1], [1, 0]]
    assert reader.vocabulary == ["", ""]
    with pytest.raises(CorpusError, match="features"):
        reader.bags(Documents.of(["text"]))


def test_tokens_expected_are_words_and_pieces_or_pairs_of_both():
    documents = Documents.of(["x" * 100])
    assert tokens_expected(documents, TfidfOptions(), subwords=0) == 300
    assert tokens_expected(documents, TfidfOptions(), subwords=80) == 380
    assert tokens_expected(documents, TfidfOptions(ngrams=2), subwords=80) == 3000
    assert tokens_expected(Documents(features=sp.csr_array((2, 7))), TfidfOptions(), subwords=80) == 7
