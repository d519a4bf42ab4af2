"""`longtail export` as people use it: a smaller model, measured before it is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from longtail import fit
from longtail import open as open_model
from longtail.corpus import Splits
from tests.flow.test_cli import longtail, refused, worked
from tests.planted import word


@pytest.fixture(scope="module")
def corpus(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("corpus")
    for split, name in ((planted.train, "train"), (planted.test, "test")):
        rows = np.split(split.labels.indices, split.labels.indptr[1:-1])
        lines = (json.dumps({"text": t, "labels": [word(at) for at in row]}) for t, row in zip(split.texts, rows))
        (place / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return place


@pytest.fixture(scope="module")
def model(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from longtail import load

    place = tmp_path_factory.mktemp("models") / "decaf"
    fit("decaf", load(corpus).without_valid).save(place)
    return place


def test_a_model_is_made_smaller_and_the_change_is_printed(model: Path, corpus: Path, tmp_path: Path):
    told = longtail("export", model, "--out", tmp_path / "small", "--corpus", corpus)
    shown = worked(told)
    assert "int8: " in shown and "before" in shown and "held out" in shown and "PSP@5" in shown
    assert "careful" not in told.stderr
    before, after = (sum(path.stat().st_size for path in place.iterdir()) for place in (model, tmp_path / "small"))
    assert after < before
    text = [f"{word(4)} {word(501)}"]
    assert open_model(tmp_path / "small").predict(text, 1)[0][0].name == word(4)


def test_without_a_corpus_nothing_is_measured_and_that_is_said(model: Path, tmp_path: Path):
    told = longtail("export", model, "--out", tmp_path / "small", "--precision", "fp16")
    assert worked(told).startswith("fp16: ") and "not measured" in told.stderr


def test_the_model_is_refused_where_it_does_not_fit(model: Path, tmp_path: Path):
    said = refused(longtail("export", model, "--out", tmp_path / "small", "--max-size", "1KB"))
    assert "the smallest it can be is" in said and not (tmp_path / "small").exists()
    assert "write a size as in" in refused(longtail("export", model, "--out", tmp_path / "s", "--max-size", "a lot"))
    assert "one of fp32, fp16, int8" in refused(longtail("export", model, "--out", tmp_path / "s", "--precision", "x"))


def test_what_is_no_model_is_not_replaced(model: Path, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not a model" in refused(longtail("export", model, "--out", tmp_path))
