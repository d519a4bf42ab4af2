"""Commands about trained models."""

from __future__ import annotations

from pathlib import Path

import pytest

from longtail import fit
from longtail.corpus import Splits
from tests.unit.cli.commands import Command, raising


def test_calibrate_keeps_the_model_unless_told(longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.predict.opening.open_model", raising(AssertionError("opened the model")))
    for words in ((), ("--in-place", "--out", tmp_path / "new")):
        code, _, err = longtail("calibrate", "model", "corpus", *words)
        assert code == 2 and "--out DIR" in err and "--in-place" in err


def test_calibrating_in_place_does_not_lose_what_somebody_put_there(
    longtail: Command, tmp_path: Path, planted: Splits, monkeypatch: pytest.MonkeyPatch
):
    fit("centroid", planted.without_valid).save(tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("do not lose me")
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    code, _, err = longtail("calibrate", tmp_path / "model", "corpus", "--in-place")
    assert code == 2 and "notes.txt is in it" in err and (tmp_path / "model" / "notes.txt").is_file()
    assert not (tmp_path / "model" / "calibration.safetensors").exists()
