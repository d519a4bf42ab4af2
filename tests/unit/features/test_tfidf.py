"""TF-IDF rows against scikit-learn's."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from longtail import store
from longtail.corpus import Texts
from longtail.errors import ConfigError
from longtail.features import tokens as tokens_module
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.features.tokens import Subwords

# Few words, so that they meet again; among them letters that str.lower treats in its own ways.
WORDS = [
    "red",
    "RED",
    "fox",
    "Éa",
    "éa",
    "ΟΔΟΣ",
    "οδος",
    "İl",
    "il",
    "中文",
    "x",
    "a_1",
    "42",
    "🙂",
    "e\u0301e",
    "\ud800",
]
texts_of_words = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=8)
odd_text = st.text(st.characters(categories=None), max_size=20)


def theirs(strings: list[str], options: TfidfOptions) -> tuple[list[str], sp.csr_array]:
    vectorizer = TfidfVectorizer(
        ngram_range=(1, options.ngrams),
        min_df=options.min_df,
        sublinear_tf=options.sublinear,
    )
    rows = sp.csr_array(vectorizer.fit_transform(strings))
    rows.sort_indices()
    return list(vectorizer.get_feature_names_out()), rows


def same_as_theirs(strings: list[str], options: TfidfOptions) -> None:
    try:
        vocabulary, expected = theirs(strings, options)
    except ValueError:  # their word for "no terms"
        assert nothing_left(strings, options)
        return
    tfidf = Tfidf.fit(Texts.of(strings), options)
    assert tfidf.vocabulary == vocabulary
    same(tfidf.transform(Texts.of(strings)), expected)


def nothing_left(strings: list[str], options: TfidfOptions) -> bool:
    try:
        return Tfidf.fit(Texts.of(strings), options).vocabulary == []
    except ConfigError:
        return True


def same(rows: sp.csr_array, expected: sp.csr_array) -> None:
    assert rows.dtype == np.float32
    assert rows.indptr.tolist() == expected.indptr.tolist()
    assert rows.indices.tolist() == expected.indices.tolist()
    np.testing.assert_allclose(rows.data, expected.data, atol=1e-6)


@settings(deadline=None, max_examples=200)
@given(
    texts_of_words,
    st.builds(
        TfidfOptions,
        ngrams=st.integers(1, 2),
        min_df=st.integers(1, 3),
        sublinear=st.booleans(),
    ),
)
def test_rows_are_those_of_scikit_learn(strings: list[str], options: TfidfOptions):
    same_as_theirs(strings, options)


@settings(deadline=None)
@given(st.lists(odd_text, min_size=1, max_size=6), st.integers(1, 2))
def test_rows_are_those_of_scikit_learn_on_any_characters(strings: list[str], ngrams: int):
    same_as_theirs(strings, TfidfOptions(ngrams=ngrams))


def some_texts(n: int, seed: int = 0) -> Texts:
    rng = np.random.default_rng(seed)
    words = np.array([f"Wörd{number}" if number % 5 else f"plain{number}" for number in range(200)])
    return Texts.of(" ".join(words[rng.zipf(1.3, rng.integers(0, 30)) % 200]) for _ in range(n))


@pytest.mark.parametrize("options", [TfidfOptions(), TfidfOptions(ngrams=2, min_df=2, sublinear=True)])
def test_the_number_of_threads_and_of_chunks_changes_nothing(options: TfidfOptions, monkeypatch: pytest.MonkeyPatch):
    texts = some_texts(300)
    expected = Tfidf.fit(texts, options, threads=1)
    rows = expected.transform(texts, threads=1)
    monkeypatch.setattr(tokens_module, "CHUNK", 500)
    for threads in (1, 2, 3, 7):
        tfidf = Tfidf.fit(texts, options, threads=threads)
        assert tfidf.vocabulary == expected.vocabulary
        assert tfidf.idf.tobytes() == expected.idf.tobytes()
        again = tfidf.transform(texts, threads=threads)
        assert [part.tobytes() for part in (again.data, again.indices, again.indptr)] == [
            part.tobytes() for part in (rows.data, rows.indices, rows.indptr)
        ]


def test_one_text_has_the_row_it_has_in_a_batch():
    texts = some_texts(40)
    tfidf = Tfidf.fit(texts, TfidfOptions(ngrams=2))
    batch = tfidf.transform(texts)
    for row in range(len(texts)):
        same(tfidf.transform(texts[row : row + 1]), batch[row : row + 1])


def test_terms_that_were_not_learned_count_for_nothing():
    tfidf = Tfidf.fit(Texts.of(["red fox", "red sea"]), TfidfOptions(ngrams=2))
    assert tfidf.vocabulary == ["fox", "red", "red fox", "red sea", "sea"]
    rows = tfidf.transform(Texts.of(["fox red", "red blue fox", "blue", ""])).toarray() > 0
    assert rows.tolist() == [[True, True, False, False, False]] * 2 + [[False] * 5] * 2


def test_texts_without_words_have_an_empty_vocabulary_and_empty_rows():
    tfidf = Tfidf.fit(Texts.of(["a b", ""]))
    assert tfidf.vocabulary == []
    assert tfidf.transform(Texts.of(["some words", ""])).shape == (2, 0)
    assert tfidf.transform(Texts.of([])).shape == (0, 0)


def test_an_option_that_leaves_no_term_is_named():
    with pytest.raises(ConfigError, match="min_df = 3"):
        Tfidf.fit(Texts.of(["red fox", "red sea"]), TfidfOptions(min_df=3))


@pytest.mark.parametrize("wrong", [{"ngrams": 3}, {"min_df": 0}])
def test_impossible_options_are_refused_by_name(wrong: dict):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        TfidfOptions(**wrong)


@pytest.mark.parametrize("kind", ["words", "wordpiece", "bpe"])
def test_a_stored_vocabulary_gives_the_same_rows(kind: str, tmp_path: Path):
    texts = some_texts(60)
    subwords = None if kind == "words" else Subwords.train(texts, 300, kind)
    tfidf = Tfidf.fit(texts, TfidfOptions(ngrams=2, sublinear=True), subwords)
    before = tfidf.transform(texts)
    with store.whole_directory(tmp_path / "tfidf") as building:
        store.write(building, tfidf)
    assert store.read_json(tmp_path / "tfidf" / "vocabulary.json") == tfidf.vocabulary
    read = store.read(tmp_path / "tfidf", Tfidf)
    same(read.transform(texts), before)


def test_rows_of_subwords_are_those_of_scikit_learn_over_the_same_tokens():
    texts = some_texts(60)
    subwords = Subwords.train(texts, 300)
    tfidf = Tfidf.fit(texts, TfidfOptions(ngrams=2, min_df=2), subwords)
    encoded = subwords.encode(texts)
    split = [[subwords.names[token] for token in encoded[row]] for row in range(len(texts))]
    vectorizer = TfidfVectorizer(analyzer=lambda row: row + [f"{a} {b}" for a, b in pairwise(row)], min_df=2)
    expected = sp.csr_array(vectorizer.fit_transform(split))
    # They sort the spelled pairs, we the tokens of the pairs; "#" sorts before letters but after the space.
    order = [vectorizer.vocabulary_[term] for term in tfidf.vocabulary]
    assert sorted(order) == list(range(expected.shape[1]))
    np.testing.assert_allclose(tfidf.transform(texts).toarray(), expected.toarray()[:, order], atol=1e-6)


def test_special_tokens_are_no_terms():
    texts = Texts.of(["red fox", "red sea"])
    subwords = Subwords.train(texts, 60)
    tfidf = Tfidf.fit(Texts.of(["red fox 中", "[UNK] red"]), subwords=subwords)
    assert "[UNK]" not in tfidf.vocabulary
    assert "red" in tfidf.vocabulary


def test_the_lookup_made_on_the_way_is_no_part_of_the_value():
    texts = some_texts(5)
    tfidf = Tfidf.fit(texts)
    untouched = replace(tfidf)
    tfidf.transform(texts)
    assert repr(tfidf) == repr(untouched)
    assert replace(tfidf, idf=tfidf.idf * 0 + 1).transform(texts).nnz == tfidf.transform(texts).nnz
