"""Languages without spaces: character n-grams by themselves, in every method that reads words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail.corpus import Corpus, Documents, Texts
from longtail.features.bags import Bags
from longtail.features.grams import Grams, is_unspaced, located
from longtail.features.tfidf import Tfidf
from longtail.features.tokens import Subwords

LETTERS = {
    "Chinese": [chr(0x4E00 + 7 * at) for at in range(400)],
    "Japanese": [*map(chr, range(0x3042, 0x3090)), *(chr(0x4E00 + 11 * at) for at in range(120))],
    "Thai": [*map(chr, range(0x0E01, 0x0E2F)), *"ะาเแัิีืุู่้์"],
}


def without_spaces(language: str, documents: int, seed: int) -> tuple[list[str], list[list[str]]]:
    """Label i is right where word i stands, somewhere in a text without spaces."""
    words_of, rng = np.random.default_rng(0), np.random.default_rng(seed)
    size = 2 if language == "Chinese" else 4
    words = ["".join(words_of.choice(LETTERS[language], size)) for _ in range(220)]
    texts, labels = [], []
    for _ in range(documents):
        mine = rng.choice(20, rng.integers(1, 4), replace=False)
        texts.append("".join(rng.permutation([words[at] for at in mine] + list(rng.choice(words[20:], 8)))))
        labels.append([str(at) for at in mine])
    return texts, labels


@pytest.mark.parametrize("language", LETTERS)
@pytest.mark.parametrize("method", ["linear", "centroid"])
def test_a_language_without_spaces_is_learned(method: str, language: str, tmp_path: Path):
    texts, labels = without_spaces(language, 400, 1)
    asked, right = without_spaces(language, 100, 2)
    said: list[str] = []
    model = longtail.fit(method, Corpus.of(texts, labels), say=said.append)
    hits = [answer[0].name in true for answer, true in zip(model.predict(asked, k=1), right)]
    assert np.mean(hits) > (0.9 if method == "linear" else 0.6)
    assert any("no spaces between words" in line for line in said)
    model.save(tmp_path / "model")
    assert longtail.open(tmp_path / "model").predict(asked[:5]) == model.predict(asked[:5])
    assert [answer[0] for answer in model.predict(asked[:5])] == [model.predict([text])[0][0] for text in asked[:5]]
    if method == "linear":
        assert model.explain(asked[0], k=1).labels


def test_words_of_other_scripts_stay_words():
    assert [name for name, _, _ in located("iPhone手机a")] == ["iphone", "手", "手机", "机"]
    assert [name for name, _, _ in located("漢かな")] == ["漢", "漢か", "漢かな", "か", "かな", "な"]
    for name, start, stop in located("Über 红狐狸, fox"):
        assert "Über 红狐狸, fox"[start:stop].lower() == name


def test_three_chinese_characters_are_no_token():
    assert [name for name, _, _ in located("红狐狸")] == ["红", "红狐", "狐", "狐狸", "狸"]


@pytest.mark.parametrize(
    "texts", [["a red fox", "ein Fuchs"], ["빨간 여우가 있다"], [""], [], ["a long sentence about 狐狸"]]
)
def test_other_languages_are_read_by_words(texts: list[str]):
    assert not is_unspaced(Texts.of(texts))
    assert Tfidf.suited(Texts.of(texts)).subwords is None


def test_where_pieces_are_learned_beside_words_nothing_changes():
    """Methods that learn pieces of words read such languages by them."""
    from longtail.features.bags import Reader
    from longtail.features.tfidf import TfidfOptions

    documents = Documents.of(without_spaces("Chinese", 30, 1)[0])
    reader = Reader.fit(documents, TfidfOptions(), 300)
    assert reader.words.tfidf.subwords is None and isinstance(reader.pieces.subwords, Subwords)
    assert isinstance(Bags.fit(documents).tfidf.subwords, Grams)


def test_most_frequent_grams_are_kept_whatever_the_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.features.grams.MOST", 3)
    assert Grams.of(Texts.of(["狐狸", "狐", "狸"])).names == ["", "狐", "狐狸", "狸"]
    assert Grams.of(Texts.of(["狸乙", "狐狸", "狐", "狐乙甲"])).names == ["", "乙", "狐", "狸"]


def test_what_was_not_met_before_counts_for_nothing():
    tfidf = Tfidf.suited(Texts.of(["狐狸", "狐"]))
    assert tfidf.vocabulary == ["狐", "狐狸", "狸"]
    assert np.array_equal(tfidf.transform(Texts.of(["狐乙甲"])).toarray(), [[1, 0, 0]])
    assert tfidf.transform(Texts.of(["乙甲丙"])).nnz == 0


@pytest.mark.parametrize("language", LETTERS)
def test_terms_are_those_of_scikit_learn(language: str):
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, _ = without_spaces(language, 60, 1)
    asked, _ = without_spaces(language, 20, 2)
    theirs = TfidfVectorizer(analyzer=lambda text: [name for name, _, _ in located(text)]).fit(texts)
    ours = Tfidf.suited(Texts.of(texts))
    assert ours.vocabulary == sorted(theirs.vocabulary_)
    np.testing.assert_allclose(ours.transform(Texts.of(asked)).toarray(), theirs.transform(asked).toarray(), atol=1e-6)


@pytest.mark.parametrize("language", LETTERS)
def test_what_is_expected_is_of_the_size_of_what_comes(language: str):
    from longtail.features.bags import features_expected, words_expected
    from longtail.features.tfidf import TfidfOptions

    documents = Documents.of(without_spaces(language, 400, 1)[0])
    rows = Bags.fit(documents).rows(documents)
    assert rows.nnz / 2 < features_expected(documents, TfidfOptions()) < 3 * rows.nnz
    assert rows.shape[1] / 3 < words_expected(documents, TfidfOptions()) < 10 * rows.shape[1]
