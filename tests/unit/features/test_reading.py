"""Words and pieces of words in one bag."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import Documents
from longtail.errors import CorpusError
from longtail.features.bags import Bags, Reader, of_unit_length, tokens_expected
from longtail.features.tfidf import TfidfOptions

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
