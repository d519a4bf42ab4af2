"""Where commands write: told before the work where they cannot, and nothing lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longtail import fit
from longtail.corpus import Splits
from tests.unit.cli.commands import Command, raising

WRITING = {
    "demo": ("demo", "--run", "PLACE"),
    "describe": ("describe", "corpus", "--json", "PLACE"),
    "describe --plot": ("describe", "corpus", "--plot", "PLACE"),
    "convert": ("convert", "corpus", "PLACE"),
    "train": ("train", "centroid", "corpus", "--run", "PLACE"),
    "evaluate": ("evaluate", "model", "corpus", "--json", "PLACE"),
    "evaluate --plots": ("evaluate", "model", "corpus", "--plots", "PLACE"),
    "ensemble": ("ensemble", "model", "model", "--out", "PLACE"),
    "calibrate": ("calibrate", "model", "corpus", "--out", "PLACE"),
}


def at(place: object, command: str) -> list[object]:
    return [place if word == "PLACE" else word for word in WRITING[command]]


@pytest.mark.parametrize("command", WRITING)
def test_an_empty_path_is_not_the_current_directory(command: str, longtail: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    monkeypatch.setattr("longtail.load", raising(AssertionError("read the corpus")), raising=False)
    code, _, err = longtail(*at("", command))
    assert code == 2 and "an empty path was given to write to" in err


@pytest.mark.parametrize("command", ["train", "ensemble", "calibrate", "convert"])
@pytest.mark.parametrize("inside", ["", "/sub"])
def test_a_file_in_the_way_is_told_before_the_work(
    command: str, inside: str, longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "thesis").write_text("years of work")
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    code, _, err = longtail(*at(f"{tmp_path}/thesis{inside}", command))
    assert code == 2 and f"thesis{inside}: " in err and "Traceback" not in err
    assert (tmp_path / "thesis").read_text() == "years of work" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("command", ["ensemble", "calibrate", "convert"])
def test_a_directory_of_somebody_else_is_told_before_the_work(
    command: str, longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "victim" / "thesis").mkdir(parents=True)
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    code, _, err = longtail(*at(tmp_path / "victim", command))
    assert code == 2 and "victim: exists already" in err
    assert (tmp_path / "victim" / "thesis").is_dir() and len(list(tmp_path.iterdir())) == 1


def test_a_whole_run_is_not_replaced_by_a_model(longtail: Command, tmp_path: Path, planted: Splits):
    fit("centroid", planted.train, run=tmp_path / "run")
    code, _, err = longtail("ensemble", "model", "model", "--out", tmp_path / "run")
    assert code == 2 and f"the model of a run is {tmp_path}/run/model" in err
    assert (tmp_path / "run" / "run.json").is_file()


def test_training_in_a_project_with_a_model_of_its_own_is_told_before_the_work(
    longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "user.py").write_text("class User: ...")
    monkeypatch.setattr("longtail.data.load.load", raising(AssertionError("read the corpus")))
    code, _, err = longtail("train", "centroid", "corpus", "--run", tmp_path)
    assert code == 2 and "model is there already, and not from a run" in err
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "user.py"]


def test_settings_that_cannot_be_read_are_told(longtail: Command, tmp_path: Path):
    code, _, err = longtail("train", "centroid", "corpus", "--run", tmp_path / "run", "--config", tmp_path)
    assert code == 2 and f"{tmp_path}: cannot be read (Is a directory); give a TOML file" in err


@pytest.mark.parametrize("command", ["describe", "evaluate"])
def test_numbers_are_written_before_they_are_printed(
    command: str, longtail: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rich.console.Console.print", raising(KeyboardInterrupt()))
    assert longtail(*at(tmp_path / "numbers.json", command))[0] == 130
    assert json.loads((tmp_path / "numbers.json").read_text())
