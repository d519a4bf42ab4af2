"""Saved models are opened, or refused with a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longtail import open as open_model
from longtail.errors import ModelError
from longtail.predict.predictor import Predictor


def test_a_model_of_another_format_is_refused(model: Predictor, tmp_path: Path):
    model.save(tmp_path / "m")
    about = json.loads((tmp_path / "m/model.json").read_text())
    (tmp_path / "m/model.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(ModelError, match="format 99"):
        open_model(tmp_path / "m", verify=False)
    (tmp_path / "m/model.json").write_text(json.dumps(about | {"method": "gone"}))
    with pytest.raises(ModelError, match="'gone'"):
        open_model(tmp_path / "m", verify=False)


def test_a_model_from_before_anything_was_chosen_after_training_opens(model: Predictor, tmp_path: Path):
    model.save(tmp_path / "m")
    about = json.loads((tmp_path / "m/model.json").read_text())
    assert about.pop("chosen") == {} and "calibration" not in about
    (tmp_path / "m/model.json").write_text(json.dumps(about))
    opened = open_model(tmp_path / "m", verify=False)
    assert opened.about.chosen == {} and opened.calibration is None
