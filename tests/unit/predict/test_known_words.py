"""A model that is asked in another language than it learned says so."""

from __future__ import annotations

import numpy as np
import pytest

import longtail
from longtail.corpus import Corpus, Splits, Texts
from longtail.new_label import NewLabel
from longtail.predict.ensemble import combine
from longtail.predict.known_words import foreign, known_shares, undescribed
from longtail.predict.predictor import Predictor

GERMAN = ["ein kleines Instrument mit Saiten", "die Lehre von Krankheiten des Herzens", "jemand schreibt Programme"]


@pytest.fixture(scope="module")
def model(planted: Splits) -> Predictor:
    return longtail.fit("centroid", planted.train)


def test_texts_of_the_training_are_known(model: Predictor, planted: Splits):
    assert foreign(model, planted.test.texts) == []


def test_another_language_is_told(model: Predictor):
    (told,) = foreign(model, Texts.of(GERMAN))
    assert "less than half of the words in 3 of 3 texts (on average 0%)" in told and "language" in told


def test_a_few_strange_texts_among_many_are_no_reason(model: Predictor, planted: Splits):
    assert foreign(model, Texts.of([*planted.test.texts[:4], *GERMAN])) == []


def test_texts_without_words_are_not_counted(model: Predictor):
    assert foreign(model, Texts.of(["", "…"])) == []
    assert foreign(model, Texts.of([])) == [] and foreign(model, None) == []


def test_shares_are_those_of_plain_python(planted: Splits):
    texts = Texts.of(["red fox", "red green", "blue whale"])
    model = longtail.fit("linear", Corpus.of(["red fox", "blue fox"] * 15, [["a"], ["b"]] * 15))
    assert np.array_equal(known_shares(model, texts), [1, 0.5, 0.5])


def test_new_labels_without_a_known_word_are_told(model: Predictor, planted: Splits):
    strange, known = (
        NewLabel("x", "Saiten", examples=("ein kleines Instrument",)),
        NewLabel("y", planted.train.texts[0]),
    )
    assert undescribed(model, [known]) == [] and undescribed(model, []) == []
    (told,) = undescribed(model, [known, strange])
    assert "no word of what describes 1 of 2 labels, as 'x'" in told


def test_an_ensemble_knows_what_its_first_member_knows(model: Predictor):
    assert foreign(combine([model, model]), Texts.of(GERMAN))


def test_characters_count_where_words_have_no_spaces():
    corpus = Corpus.of(["红色狐狸", "蓝色鲸鱼"] * 15, [["a"], ["b"]] * 15)
    model = longtail.fit("linear", corpus)
    assert foreign(model, Texts.of(["狐狸蓝鱼"])) == []
    assert foreign(model, Texts.of(["a red fox"])) and foreign(model, Texts.of(["สุนัขจิ้งจอก"]))
