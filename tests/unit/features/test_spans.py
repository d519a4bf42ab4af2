"""Where tokens stand in a text: the same tokens that are counted, at the characters they come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import Documents, Texts
from longtail.errors import CorpusError
from longtail.features.bags import Bags, Reader
from longtail.features.spans import Places, ReadText, pieces_of, plain_places, spread_over_words, words_of
from longtail.features.tfidf import TfidfOptions
from longtail.features.tokens import Subwords, Words

# What breaks offsets: İ grows when lowered, Σ depends on its neighbours, accents are stripped, surrogates are halves.
ODD = "aB é É e\u0301 ß İ ı Σ ς ǅ ﬁ K 中文字 ١٢ _x _ 🦊 👩‍💻 \ud83d \x00 \t\n \u00a0 ，.!- ''"
texts = st.text(st.sampled_from(ODD) | st.characters(), max_size=40)
SUBWORDS = Subwords.train(Texts.of(["the red foxes run", "éte istanbul σας 中文 fi"] * 3), 200)


def test_words_are_found_where_they_stand_whatever_their_case():
    text = "Red ÉTÉ, a RED été"
    found = words_of(text)
    assert [(word.name, text[word.start : word.stop]) for word in found] == [
        ("red", "Red"), ("été", "ÉTÉ"), ("red", "RED"), ("été", "été"),
    ]  # fmt: skip


def test_a_character_that_grows_when_lowered_moves_nothing_behind_it():
    text = "İİ İstanbul fox"  # i̇ is i and a dot above, which is no word character
    assert [(word.name, text[word.start : word.stop]) for word in words_of(text)] == [
        ("stanbul", "stanbul"),
        ("fox", "fox"),
    ]


@settings(deadline=None, max_examples=300)
@given(texts)
def test_the_words_are_those_that_are_counted(text: str):
    found = words_of(text)
    learned = Words()
    numbers = learned.learn(Texts.of([text])).ids.tolist()
    names = list(learned)
    assert [word.name for word in found] == [names[number] for number in numbers]
    for word in found:
        assert 0 <= word.start < word.stop <= len(text)
        assert word.name in text[word.start : word.stop].lower() or "İ" in text or "Σ" in text


@settings(deadline=None, max_examples=300)
@given(texts)
def test_the_pieces_are_those_that_are_counted(text: str):
    found = pieces_of(text, SUBWORDS)
    counted = SUBWORDS.encode(Texts.of([text]))[0]
    assert [piece.name for piece in found] == [SUBWORDS.names[number] for number in counted]
    assert all(0 <= piece.start <= piece.stop <= len(text) for piece in found)


@settings(deadline=None, max_examples=200)
@given(texts, st.sampled_from([1, 2]))
def test_every_token_of_a_bag_is_shared_out_whole(text: str, ngrams: int):
    """Whatever the text: nothing that a token adds is lost or counted twice, and words stand in order."""
    documents = Documents.of([text, "the red foxes run"])
    reader = Reader.fit(documents, TfidfOptions(ngrams=ngrams), subwords=100)
    _, columns, _ = reader.rows(documents[:1])
    starts, stops, spread = spread_over_words(reader.bagging, text, columns, np.eye(len(columns)))
    np.testing.assert_allclose(spread.sum(axis=1), 1)
    assert (np.diff(starts) >= 0).all() and (starts <= stops).all() and (stops <= len(text)).all()


def spread(text: str, ngrams: int, subwords: int = 0) -> dict[tuple[int, int], float]:
    """What each word gets where every token has 1 to give."""
    documents = Documents.of([text])
    reader = Reader.fit(documents, TfidfOptions(ngrams=ngrams), subwords)
    _, columns, _ = reader.rows(documents)
    starts, stops, [got] = spread_over_words(reader.bagging, text, columns, np.ones((1, len(columns))))
    return dict(zip(zip(starts.tolist(), stops.tolist()), got.tolist()))


def test_a_repeated_word_shares_its_weight_among_its_places():
    assert spread("fox den Fox", 1) == {(0, 3): 0.5, (4, 7): 1.0, (8, 11): 0.5}


def test_a_pair_gives_half_to_each_of_its_words():
    # Words fox, den; pairs "fox den" and "den fox": fox is 1/2 at each place, each pair 1/2 to each of its words.
    assert spread("fox den fox", 2) == pytest.approx({(0, 3): 1.0, (4, 7): 2.0, (8, 11): 1.0})


def test_pieces_of_a_word_add_to_the_word_and_a_comma_is_its_own():
    text = "lowest, slow"
    got = spread(text, 1, subwords=40)
    assert set(got) == {(0, 6), (6, 7), (8, 12)}
    pieces = pieces_of(text, Reader.fit(Documents.of([text]), TfidfOptions(), 40).pieces.subwords)  # type: ignore[union-attr, arg-type]
    assert sum(got.values()) == pytest.approx(2 + len({piece.name for piece in pieces}))  # two words, and their pieces


def test_an_empty_text_has_no_words():
    places = Places.of("", [])
    assert places.spread(np.ones((2, 0))).shape == (2, 0)


def test_margins_are_the_sum_of_what_words_add():
    documents = Documents.of(["red fox", "red sea"])
    bags = Bags.fit(documents)
    read = ReadText.of(bags, Documents.of(["a fox, a RED fox"]))
    weights, biases = np.array([[2.0, 1.0], [0.0, -1.0]]), np.array([0.5, 0.25])  # of fox and red
    found = read.explained(weights, biases)
    fox, red = read.values
    np.testing.assert_allclose(found.values, [[fox, red, fox], [0, -red, 0]])
    np.testing.assert_allclose(found.logits, [2 * fox + red + 0.5, -red + 0.25])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.bias, found.logits)


def test_a_model_of_features_cannot_show_words():
    with pytest.raises(CorpusError, match="ready-made features"):
        ReadText.of(Bags(3, None), Documents.of(["red fox"]))


# -- compiled code -----------------------------------------------------------------------------------------------------

PLAIN_TEXTS = [
    "the red foxes run, the Red fox_es",
    "lower lowest slow; red+fox [UNK] x",
    "a\x00b the\x01red ''fox''",
] * 3
READERS = [
    Reader.fit(Documents.of(PLAIN_TEXTS * 3), TfidfOptions(ngrams=ngrams), subwords)
    for ngrams in (1, 2)
    for subwords in (0, 60)
]
letters = st.sampled_from("the red foxes Red FOX_es lower, lowest ;[UNK] \x00\x01\t'")
ascii_texts = st.text(letters | st.characters(max_codepoint=127), max_size=60)


def given_to_words(places: Places) -> dict[tuple[int, int, int], float]:
    """(token, begin, end) and its share."""
    shares: dict[tuple[int, int, int], float] = {}
    for token, word, share in zip(places.tokens.tolist(), places.words.tolist(), places.shares.tolist()):
        key = token, int(places.starts[word]), int(places.stops[word])
        shares[key] = shares.get(key, 0.0) + share
    return shares


@settings(deadline=None, max_examples=300)
@given(ascii_texts | st.sampled_from(PLAIN_TEXTS), st.sampled_from(READERS))
def test_compiled_code_finds_words_where_python_finds_them(text: str, reader: Reader):
    _, columns, _ = reader.rows(Documents.of([text]))
    locator = reader.bagging.locator
    assert locator is not None
    found = locator.places(text, columns)
    plain = plain_places([reader.words.tfidf, reader.pieces], text, columns)
    if found is None:  # a token that tokenizers find before all others
        assert reader.pieces is not None and "[" in text
        return
    compiled = Places(*found)
    assert given_to_words(compiled) == pytest.approx(given_to_words(plain))
    assert compiled.starts.tolist() == plain.starts.tolist() and compiled.stops.tolist() == plain.stops.tolist()
    for labels in (2, 1000):  # in one call, and in two where there are too many numbers for that
        values = np.random.default_rng(labels).normal(size=(labels, len(columns)))
        *places, spread = locator.spread(text, columns, values)  # type: ignore[misc]
        assert [each.tolist() for each in places] == [plain.starts.tolist(), plain.stops.tolist()]
        np.testing.assert_allclose(spread, plain.spread(values), atol=1e-12)


def test_texts_that_compiled_code_leaves_to_python():
    reader = READERS[1]
    for text in ("été red", "red [UNK] fox", "red " * 2000):
        columns = reader.rows(Documents.of([text]))[1]
        assert reader.bagging.locator.places(text, columns) is None  # type: ignore[union-attr]
        assert reader.bagging.locator.spread(text, columns, np.ones((1, len(columns)))) is None  # type: ignore[union-attr]
    columns = reader.rows(Documents.of(["red fox"]))[1]
    assert reader.bagging.locator.places("red fox", columns) is not None  # type: ignore[union-attr]
