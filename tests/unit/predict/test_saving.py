"""Saving a model: what is replaced, who may read it, what is left when it fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longtail import calibrate, combine, fit
from longtail import open as open_model
from longtail.corpus import Splits
from longtail.errors import ConfigError, ModelError
from longtail.predict.predictor import Predictor
from tests.full_disk import full_disk


def test_saving_replaces_a_model_and_nothing_else(model: Predictor, tmp_path: Path):
    for _ in range(2):
        model.save(tmp_path / "m")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(ModelError, match="thesis: exists already and is not a model"):
        model.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.tex").is_file() and len(list(tmp_path.iterdir())) == 2


def test_every_file_of_a_model_can_be_opened_by_a_server_of_another_user(planted: Splits, tmp_path: Path):
    model = fit("centroid", planted.without_valid)
    mask = os.umask(0o022)
    try:
        combine([model, calibrate(model, planted.valid).model]).save(tmp_path / "m")
    finally:
        os.umask(mask)
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in (tmp_path / "m").rglob("*")}
    assert {"m/members/1/calibration.safetensors", "m/members/0/weights.safetensors"} <= modes.keys()
    assert all(mode == (0o644 if "." in name else 0o755) for name, mode in modes.items()), modes


def test_a_full_disk_is_a_sentence_and_leaves_the_model_as_it_was(model: Predictor, tmp_path: Path):
    model.save(tmp_path / "m")
    with full_disk(2000), pytest.raises(ModelError, match=r"m: cannot be written \(File too large\)"):
        model.save(tmp_path / "m")
    open_model(tmp_path / "m")
    assert len(list(tmp_path.iterdir())) == 1


def test_an_empty_path_is_refused(model: Predictor, planted: Splits):
    with pytest.raises(ConfigError, match="an empty path"):
        model.save("")
    with pytest.raises(ConfigError, match="an empty path"):
        fit("centroid", planted.train, run="")
