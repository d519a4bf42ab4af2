"""What a model directory says about itself, without its weights."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from longtail import combine, fit
from longtail.corpus import Splits
from longtail.errors import ModelError
from longtail.methods.linear import Config
from longtail.predict.info import SOUND, Changed, model_info
from longtail.predict.predictor import Predictor
from longtail.predict.saving import FORMAT
from longtail.report.info import info_table


@pytest.fixture(scope="module")
def model(planted: Splits) -> Predictor:
    return fit("linear", planted.train, beam=7, seed=3)


@pytest.fixture
def saved(model: Predictor, tmp_path: Path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


def printed(directory: Path) -> str:
    screen = Console(file=io.StringIO(), width=200)
    screen.print(info_table(model_info(directory)))
    return screen.file.getvalue()


def test_settings_that_differ_from_the_defaults_are_named_with_both(saved: Path):
    assert model_info(saved).settings == [Changed("beam", 7, Config().beam), Changed("seed", 3, 0)]
    assert f"beam = 7 (default {Config().beam})" in printed(saved)


def test_where_it_comes_from_and_what_it_weighs(saved: Path, planted: Splits):
    found = model_info(saved)
    assert (found.method, found.corpus, found.documents, found.labels) == ("linear", "planted", 600, 60)
    assert found.fingerprint == planted.train.fingerprint and found.format == FORMAT and "numpy" in found.versions
    assert found.bytes == sum(path.stat().st_size for path in saved.rglob("*") if path.is_file())
    assert found.state == SOUND and json.dumps(found.to_json())


def test_a_damaged_model_still_says_what_it_was(saved: Path):
    (saved / "labels.jsonl").write_text("")
    found = model_info(saved)
    assert found.method == "linear" and "labels.jsonl" in found.state
    assert "its bytes changed" in printed(saved)


def test_an_ensemble_names_its_members(model: Predictor, planted: Splits, tmp_path: Path):
    combine([model, fit("centroid", planted.train)], [3, 1]).save(tmp_path / "both")
    found = model_info(tmp_path / "both")
    assert [(member.weight, member.method) for member in found.members] == [(0.75, "linear"), (0.25, "centroid")]
    shown = printed(tmp_path / "both")
    assert "0.75 x linear on planted, 600 documents; beam = 7 (default" in shown and "members/1/model.json" in shown


def test_a_model_older_than_a_setting_has_its_default_and_one_of_an_unknown_method_none(saved: Path):
    about = json.loads((saved / "model.json").read_text())
    del about["config"]["beam"], about["chosen"], about["validation"]
    (saved / "model.json").write_text(json.dumps(about))
    assert model_info(saved).settings == [Changed("seed", 3, 0)]
    (saved / "model.json").write_text(json.dumps(about | {"method": "of tomorrow"}))
    assert model_info(saved).settings == [] and "of tomorrow" in printed(saved)


@pytest.mark.parametrize(
    "lie", [{"method": 3}, {"corpus": []}, {"config": None}, {"validation": "good"}, {"calibration": {"threshold": 1}}]
)
def test_a_model_json_that_makes_no_sense_is_refused_with_a_sentence(lie: dict, saved: Path):
    about = json.loads((saved / "model.json").read_text())
    (saved / "model.json").write_text(json.dumps(about | lie))
    with pytest.raises(ModelError, match=str(saved)):
        model_info(saved)


def test_what_is_no_model_is_refused(tmp_path: Path):
    with pytest.raises(ModelError, match="no such directory"):
        model_info(tmp_path / "none")
    with pytest.raises(ModelError, match="not a finished model"):
        model_info(tmp_path)
