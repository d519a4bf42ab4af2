"""Saved models are opened, or refused with a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longtail import fit
from longtail import open as open_model
from longtail.corpus import Corpus
from longtail.errors import ModelError
from longtail.predict.info import model_info
from longtail.predict.predictor import Predictor


def test_a_model_of_another_format_is_refused(model: Predictor, tmp_path: Path):
    model.save(tmp_path / "m")
    about = json.loads((tmp_path / "m/model.json").read_text())
    (tmp_path / "m/model.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(ModelError, match="format 99"):
        open_model(tmp_path / "m", verify=False)
    for name in ("gone", "centroid/gone", "decaf/gone", "/", ""):
        (tmp_path / "m/model.json").write_text(json.dumps(about | {"method": name}))
        with pytest.raises(ModelError, match=f"made by method '{name}', which this version does not have"):
            open_model(tmp_path / "m", verify=False)


def test_a_variant_is_trained_saved_opened_and_described(tmp_path: Path):
    corpus = Corpus.of(["red fox", "blue whale"] * 20, [["land"], ["sea"]] * 20)
    tiny = {"bag.dim": 8, "bag.subwords": 0, "optim.epochs": [1, 1, 4]}
    trained = fit("decaf/lite", corpus, run=tmp_path / "run", **tiny)
    trained.save(tmp_path / "m")
    opened = open_model(tmp_path / "m")
    assert opened.about.method == "decaf/lite" and opened.predict(["a fox"], k=2) == trained.predict(["a fox"], k=2)
    changed = {setting.name: setting.value for setting in model_info(tmp_path / "m").settings}
    assert changed == tiny


def test_a_model_from_before_anything_was_chosen_after_training_opens(model: Predictor, tmp_path: Path):
    model.save(tmp_path / "m")
    about = json.loads((tmp_path / "m/model.json").read_text())
    assert about.pop("chosen") == {} and "calibration" not in about
    (tmp_path / "m/model.json").write_text(json.dumps(about))
    opened = open_model(tmp_path / "m", verify=False)
    assert opened.about.chosen == {} and opened.calibration is None
