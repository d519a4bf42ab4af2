"""`longtail train auto` as people use it: from a file of texts to a model that answers, without naming a method."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from longtail import open as open_model
from longtail.corpus import Splits
from tests.flow.test_cli import longtail, refused, worked
from tests.planted import word


def written(planted: Splits, place: Path) -> Path:
    rows = np.split(planted.train.labels.indices, planted.train.labels.indptr[1:-1])
    texts = zip(planted.train.texts, rows)
    place.write_text("".join(json.dumps({"text": t, "labels": [word(at) for at in row]}) + "\n" for t, row in texts))
    return place


def test_a_second_is_enough_for_a_model_and_what_is_left_out_is_said(planted: Splits, tmp_path: Path):
    corpus = written(planted, tmp_path / "mine.jsonl")
    told = longtail("train", "auto", corpus, "--run", tmp_path / "run", "--time-limit", "1s")
    worked(told)
    assert "the plan, about" in told.stderr and "linear: about" in told.stderr
    assert "decaf is left out: it would take about" in told.stderr
    model = open_model(tmp_path / "run" / "model")
    assert model.predict([f"{word(4)} {word(501)}"], 1)[0][0].name == word(4)
    assert model.threshold("auto").f1 > 90  # calibrated on documents held out


def test_limits_are_for_auto_alone(planted: Splits, tmp_path: Path):
    corpus = written(planted, tmp_path / "mine.jsonl")
    told = refused(longtail("train", "linear", corpus, "--run", tmp_path / "run", "--time-limit", "5m"))
    assert "--time-limit: only `train auto` has it" in told
    assert "1h30m" in refused(longtail("train", "auto", corpus, "--run", tmp_path / "run", "--time-limit", "soon"))
