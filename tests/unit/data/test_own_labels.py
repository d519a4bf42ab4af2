"""Items related to items: documents that are labels themselves, whose own label is like no other and never right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import longtail
from longtail.corpus import PAD, Corpus, Label, LabelSet, Splits, Texts
from longtail.data.describe import describe
from longtail.data.own_labels import OwnLabels, related, without_own
from longtail.errors import ModelError
from longtail.predict.opening import open_model
from tests.planted import word

N = 40


def items(carry_own: bool = False) -> Corpus:
    """Item i is called after its word and that of its group of four; it is related to the others of its group."""
    texts = [f"{word(at)} {word(500 + at // 4)}" for at in range(N)]
    groups = [
        [texts[other] for other in range(at // 4 * 4, at // 4 * 4 + 4) if carry_own or other != at] for at in range(N)
    ]
    return Corpus.of(texts, groups, "items")


def test_a_document_that_is_a_label_is_found_by_its_text():
    own = OwnLabels.of(
        [Label("a", "red fox"), Label("b", "sea", "deep and blue"), Label("c", "x", "same"), Label("d", "same")]
    )
    found = own.find(Texts.of(["red fox", "deep and blue", "sea\ndeep and blue", "sea", "same", "", "Red fox"]))
    assert found.tolist() == [0, 1, 1, 1, PAD, PAD, PAD]  # what two labels share is neither's


def test_labels_that_come_later_are_found_too():
    own = OwnLabels.of([Label("a", "red fox"), Label("b", "sea")]).joined(
        OwnLabels.of([Label("c", "sky"), Label("d", "sea")], 2)
    )
    assert own.find(Texts.of(["red fox", "sky", "sea"])).tolist() == [0, 2, PAD]


def test_a_corpus_is_of_this_kind_if_its_documents_are_labels_and_never_their_own():
    assert related(items()) is not None and related(items(carry_own=True)) is None
    assert related(Corpus.of(["red fox", "blue sea"], [["fox"], ["sea"]])) is None
    assert describe(Splits(items())).items and not describe(Splits(items(carry_own=True))).items


def test_own_pairs_are_filtered_by_text_or_by_id():
    by_text = without_own(items())
    assert np.array_equal(
        by_text.filtered.toarray(),
        np.array([[label.name == text for label in by_text.label_set] for text in by_text.texts]),
    )
    labels = LabelSet.of([Label("fox", "a fox"), Label("sea", "the sea")])
    corpus = replace(Corpus.of(["other text", "x"], [["a"], ["b"]]), label_set=labels, ids=Texts.of(["sea", ""]))
    assert without_own(corpus).filtered.toarray().tolist() == [[0, 1], [0, 0]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("items")
    longtail.fit("centroid", items()).save(place / "model")
    return place / "model"


def test_a_model_does_not_suggest_a_text_for_itself(model: Path):
    corpus, opened = items(), longtail.open(model)
    plain = replace(opened, own=None)
    for text in corpus.texts:
        ours, theirs = ([label.name for label in each.predict([text], k=4)[0]] for each in (opened, plain))
        assert text in theirs and ours == [name for name in theirs if name != text]
    assert longtail.evaluate(opened, corpus).metrics["P@3"] == pytest.approx(100)
    assert len(opened.predict([corpus.texts[0]], k=2)[0]) == 2  # one more is ranked than asked for
    other = "a text that is no label " + word(500)
    assert opened.predict([other], k=2) == plain.predict([other], k=2)


def test_a_label_that_is_added_is_not_suggested_for_its_own_text(model: Path):
    grown = longtail.open(model).add_labels([{"id": "new", "name": f"{word(41)} {word(500)}"}])
    assert "new" in [label.id for label in grown.predict([f"{word(41)} {word(500)} more"], k=5)[0]]
    assert "new" not in [label.id for label in grown.predict([f"{word(41)} {word(500)}"], k=N)[0]]


@pytest.mark.parametrize("wrong", [N, -1])
def test_texts_of_labels_that_are_not_there_are_refused(model: Path, tmp_path: Path, wrong: int):
    longtail.open(model).save(tmp_path / "model")
    file = tmp_path / "model" / "own_labels.safetensors"
    arrays = load_file(file)
    arrays["labels"] = np.full_like(arrays["labels"], wrong)
    save_file(arrays, file)
    with pytest.raises(ModelError, match="labels that the model does not have"):
        open_model(tmp_path / "model", verify=False)
