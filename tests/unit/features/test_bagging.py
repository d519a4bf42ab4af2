"""Bags from compiled code against plain Python: Python's words, Hugging Face's pieces, and the formula of TF-IDF."""

from __future__ import annotations

import copy
import os
import pickle
import re
import sys
from collections import Counter
from itertools import pairwise
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from longtail.corpus import Documents, Texts
from longtail.errors import ModelError
from longtail.features import bagging as module
from longtail.features.bagging import Bagging
from longtail.features.bags import Reader
from longtail.features.characters import _tokenizers, normal_form
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.features.tokens import Subwords
from longtail.sparse import Rows

SCRIPTS = [
    "The RED fox runs, runs and RUNS over 12 hills; été Été ETE naïve Straße STRASSE",
    "東京 特許 許可局 中文字符 ひらがな カタカナ 한국어 위키백과",
    "Ελληνικά ΟΔΟΣ οδός İstanbul ısı", "русский язык Ёлка", "العربية كتاب مكتبة", "हिन्दी क्षेत्र", "ไทย ภาษา",
    "low lower lowest slow [UNK] [CLS] a-b_c d.e.f", "ﬁne ①②③ ½ x² 🙂🙃 𝒜𝓑",
]  # fmt: skip
ODD = (
    "İıΣσςßẞKÅǅȺⱥÉé\u0301\u0302\u0345\u302eªⒶ²①٣中文ひ한각🙂\u200d\u200b\u00ad\ufeff\ufffd"
    "_aZ0 \n\t\x0b\x7f\x85\u2028\u3000"
    "\ud800\udfff\U0001e900\U00010400\U0001d165\0[]#¡。،"
)
odd_text = st.text(st.one_of(st.sampled_from(ODD), st.characters(categories=None)), max_size=30)
MORE = ["[CLS]", "x[UNK]y", "[MASK", "##ing", "a" * 101, "é" * 100, "é" * 101, "中" * 300, "a\u0301" * 101, "low " * 50]


def reader(ngrams: int) -> Reader:
    texts = Texts.of(SCRIPTS * 2)
    options = TfidfOptions(ngrams=ngrams, sublinear=True)
    return Reader(Reader.fit(Documents(texts), options, 0).words, Tfidf.fit(texts, options, Subwords.train(texts, 700)))


READERS = {ngrams: reader(ngrams) for ngrams in (1, 2)}


def plain_row(tfidf: Tfidf, text: str) -> tuple[list[int], list[float]]:
    """The formula, with each number rounded where compiled code rounds it."""
    if tfidf.subwords is None:
        tokens = re.findall(r"(?u)\b\w\w+\b", text.lower())
    else:
        tokens = [tfidf.subwords.names[token] for token in tfidf.subwords.encode(Texts.of([text]))[0]]
    terms = Counter([*tokens, *map(" ".join, pairwise(tokens))])
    found = [(column, terms[term]) for column, term in enumerate(tfidf.vocabulary) if terms[term]]
    raw = [(1 + log(times) if tfidf.sublinear else times) * float(tfidf.idf[column]) for column, times in found]
    length = sqrt(sum(weight * weight for weight in raw)) or 1
    return [column for column, _ in found], [np.float32(np.float32(weight) / np.float64(length)) for weight in raw]


def plain_bag(reader: Reader, text: str) -> tuple[list[int], list[float]]:
    (words, weights), (pieces, more) = plain_row(reader.words.tfidf, text), plain_row(reader.pieces, text)
    scale = np.float32(1) / np.sqrt(np.float32(2)) if words and pieces else np.float32(1)
    return words + [reader.words.n_features + piece for piece in pieces], [w * scale for w in weights + more]


def rows_alike(one: Rows, other: Rows) -> bool:
    return all(np.array_equal(left, right) and left.dtype == right.dtype for left, right in zip(one, other))


@settings(deadline=None, max_examples=200)
@given(st.lists(odd_text, max_size=4), st.sampled_from([1, 2]))
@example(SCRIPTS, 1)
@example(SCRIPTS, 2)
@example(MORE, 1)
@example(MORE, 2)
@example(["\u302e\u0345a", "a\u0345\u302e", "\U0001d165\u0301x", "ΣΑΣ ΟΔΟΣ [UNK]"], 1)
def test_bags_are_to_the_bit_what_the_formula_gives(strings: list[str], ngrams: int):
    starts, columns, values = READERS[ngrams].rows(Documents.of(strings))
    for row, text in enumerate(strings):
        part = slice(starts[row], starts[row + 1])
        assert (columns[part].tolist(), values[part].tolist()) == plain_bag(READERS[ngrams], text), text
        alone = READERS[ngrams].rows(Documents.of([text]))
        assert rows_alike(alone, (np.array([0, part.stop - part.start]), columns[part], values[part]))


def agree_on(points: range) -> None:
    """What is entered for single characters is what the normaliser makes of them among others."""
    normalize, _, pre_tokenize = _tokenizers()
    forms = {char: normal_form(char) for char in map(chr, points) if not "\ud800" <= char <= "\udfff"}
    assert sum(form is None for form in forms.values()) < 200  # marks that are no accents
    plain = [char for char, form in forms.items() if form is not None]
    for at in range(0, len(plain), 64):
        text = "".join(f"{char}x{char}" if at % 128 else char for char in plain[at : at + 64])
        made = "".join(normal_form(char) if ord(char) > 127 else normalize(char) for char in text)
        assert [word for word, _ in pre_tokenize(normalize(text))] == [word for word, _ in pre_tokenize(made)]


def test_characters_are_normalised_as_hugging_face_does():
    agree_on(range(0x80, 0x3400))
    agree_on(range(0x3400, sys.maxunicode + 1, 211))


@pytest.mark.slow
def test_every_character_is_normalised_as_hugging_face_does():
    agree_on(range(0x80, sys.maxunicode + 1))


def test_ascii_is_normalised_as_hugging_face_does():
    chars = list(map(chr, range(128)))
    texts = [*(f"{one}lo{other}w" for one in chars for other in "aA .\x01[" + one), "".join(chars)]
    subwords = READERS[1].pieces.subwords
    bagging = Bagging(None, Tfidf(subwords.names, np.ones(len(subwords.names), np.float32), False, subwords))
    starts, columns, _ = bagging.rows(Texts.of(texts))
    expected = subwords.encode(Texts.of(texts))
    for row, text in enumerate(texts):
        known = {int(token) for token in expected[row] if subwords.names[token] != "[UNK]"}
        assert columns[starts[row] : starts[row + 1]].tolist() == sorted(known), text


def test_threads_chunks_and_room_that_grows_change_nothing(monkeypatch: pytest.MonkeyPatch):
    texts = Texts.of((SCRIPTS + MORE) * 20)
    whole = READERS[2].rows(Documents(texts))
    for threads in (1, 2, 3):
        assert rows_alike(Bagging(READERS[2].words.tfidf, READERS[2].pieces).rows(texts, threads), whole)
    monkeypatch.setattr("longtail.features.tokens.CHUNK", 100)
    monkeypatch.setattr(module, "NUMBERS_A_BYTE", 10_000)
    assert rows_alike(READERS[2].rows(Documents(texts)), whole)


def test_scattered_texts_read_as_those_in_one_run():
    texts = Texts.of(SCRIPTS * 3)[::-2]
    assert rows_alike(READERS[1].rows(Documents(texts)), READERS[1].rows(Documents.of(texts)))


def test_a_tokenizer_of_another_kind_is_left_to_hugging_face():
    texts = Texts.of(SCRIPTS)
    tfidf = Tfidf.fit(texts, subwords=Subwords.train(texts, 300, "bpe"))
    assert not tfidf.subwords.is_plain and READERS[1].pieces.subwords.is_plain
    starts, columns, _ = tfidf.rows(texts)
    assert len(columns) > 50 and [*np.diff(starts)] == [len(plain_row(tfidf, text)[0]) for text in texts]
    assert rows_alike(tfidf.rows(texts[:1]), (starts[:2], columns[: starts[1]], tfidf.rows(texts)[2][: starts[1]]))


def test_copies_and_pickles_read_alike_and_hold_no_tables():
    one = READERS[1]
    whole = one.rows(Documents.of(SCRIPTS))
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert rows_alike(other.rows(Documents.of(SCRIPTS)), whole)
    assert len(pickle.dumps(one)) < 200_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_reads_the_same():
    texts = Texts.of(SCRIPTS * 5)
    whole = READERS[1].rows(Documents(texts))
    child = os.fork()
    if child == 0:
        os._exit(0 if rows_alike(READERS[1].rows(Documents(texts)), whole) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("term", ["", "a b c", " ab", "ab "])
def test_a_vocabulary_whose_terms_are_no_terms_is_refused(term: str):
    with pytest.raises(ModelError):
        Tfidf(["red", term], np.ones(2, np.float32), False).rows(Texts.of(["red"]))


def test_texts_that_lie_outside_their_bytes_are_refused():
    outside = Texts(np.zeros(2, np.uint8), np.array([0, 1]), np.array([1, 5]))
    with pytest.raises(ValueError, match="outside"):
        READERS[1].rows(Documents(outside))
