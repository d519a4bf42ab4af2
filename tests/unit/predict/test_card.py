"""The model card: README.md in every saved model, harmless whatever names are in it."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

import pytest

import longtail
from longtail import store
from longtail.corpus import Corpus, Splits
from longtail.errors import ModelError
from longtail.judge.evaluation import evaluate
from longtail.predict.card import code, kept_numbers, plain
from longtail.predict.predictor import Predictor

EVIL = "<script>alert(1)</script> [x](javascript:1) `rm` | # *b* \n\n# Heading\n---"


@pytest.fixture(scope="module")
def saved(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("card") / "model"
    longtail.fit("linear", planted.train).save(place)
    return place


def card(place: Path) -> str:
    return (place / store.CARD).read_text("utf-8")


def kept(place: Path, planted: Splits) -> Predictor:
    model = longtail.open(place)
    numbers = kept_numbers(evaluate(model, planted.test).to_json(), place)
    return dataclasses.replace(model, about=dataclasses.replace(model.about, evaluation=numbers))


def test_the_card_says_what_the_model_is(saved: Path):
    text = card(saved)
    for words in ("# linear model of planted", "out of 60", "600 documents", "not calibrated", "## Limits",
                  "longtail predict MODEL", "No evaluation is kept", "library_name: longtail"):  # fmt: skip
        assert words in text, text
    assert store.CARD in store.read_manifest(saved)


def test_the_same_model_has_the_same_card_and_the_same_bytes(saved: Path, tmp_path: Path):
    longtail.open(saved).save(tmp_path / "again")
    assert store.read_manifest(tmp_path / "again") == store.read_manifest(saved)


def test_an_evaluation_is_shown_by_decile_for_as_long_as_it_is_true(saved: Path, planted: Splits, tmp_path: Path):
    model = kept(saved, planted)
    model.save(tmp_path / "kept")
    text = card(tmp_path / "kept")
    assert "By label frequency" in text and "| P | " in text and "120 documents of planted (test split" in text
    assert text.count("\n| 10 |") == 1 and "Expected calibration error of the first 5 scores" in text
    opened = longtail.open(tmp_path / "kept")
    opened.save(tmp_path / "copy")
    assert card(tmp_path / "copy") == text
    opened.add_labels([{"id": "new", "name": "new"}]).save(tmp_path / "grown")
    assert "No evaluation is kept" in card(tmp_path / "grown")
    assert "1 were added without training" in card(tmp_path / "grown")


def test_names_cannot_write_markdown_or_html(tmp_path: Path):
    corpus = dataclasses.replace(Corpus.of(["red fox", "blue sea"] * 20, [[EVIL], ["b|c"]] * 20), name=EVIL)
    longtail.fit("centroid", corpus).save(tmp_path / "model")
    text = card(tmp_path / "model")
    assert "<script" not in text and "\n# Heading" not in text and text.count("\n---") == 1
    assert not re.search(r"(?<!\\)\[x(?<!\\)\]", text)
    assert longtail.open(tmp_path / "model").predict(["red fox"], k=1)


@pytest.mark.parametrize("text", ["", "\ud800", "\x00\x1b[31m", "a" * 5000, "`" * 9, "\u202e"])
def test_any_text_can_be_written(text: str):
    for made in (plain(text), code(text)):
        made.encode("utf-8")
        assert "\n" not in made and "\x1b" not in plain(text) and len(made) < 1000


def test_a_model_without_a_card_opens(saved: Path, tmp_path: Path):
    shutil.copytree(saved, tmp_path / "old")
    (tmp_path / "old" / store.CARD).unlink()
    assert longtail.open(tmp_path / "old").predict(["ba"])
    longtail.open(tmp_path / "old").save(tmp_path / "old")
    assert card(tmp_path / "old") == card(saved)


def test_a_card_may_be_edited_and_is_not_overwritten(saved: Path, tmp_path: Path):
    shutil.copytree(saved, tmp_path / "mine")
    (tmp_path / "mine" / store.CARD).write_text("My own words.")
    model = longtail.open(tmp_path / "mine")
    with pytest.raises(ModelError, match=r"README\.md in it was edited, and would be lost"):
        model.save(tmp_path / "mine")
    assert card(tmp_path / "mine") == "My own words."


def test_an_ensemble_has_one_card(saved: Path, tmp_path: Path):
    from longtail.predict.ensemble import combine

    combine([longtail.open(saved)] * 2).save(tmp_path / "both")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob(store.CARD)] == ["both/README.md"]
