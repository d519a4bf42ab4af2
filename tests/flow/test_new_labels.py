"""Labels added and removed by commands, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import longtail
from longtail.corpus import Splits
from tests.planted import word

FOX = {"id": "fox", "name": "red fox", "examples": [f"{word(510)} {word(511)}", word(510)]}


@pytest.fixture(scope="module")
def place(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("labels")
    longtail.fit("linear", planted.train).save(place / "model")
    (place / "new.jsonl").write_text(json.dumps(FOX) + "\n", "utf-8")
    (place / "bad.jsonl").write_text(json.dumps(FOX) + '\n{"id": "owl", "name": "owl", "examples": [7]}\n', "utf-8")
    return place


def run(place: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "longtail", *words]
    return subprocess.run(command, cwd=place, input=given, capture_output=True, text=True)


def first(place: Path, model: str, text: str) -> str:
    return json.loads(run(place, "predict", model, "--k", "1", given=text + "\n").stdout)["labels"][0]["id"]


def test_a_label_is_added_suggested_and_removed(place: Path):
    added = run(place, "add-labels", "model", "new.jsonl", "--out", "more")
    assert added.returncode == 0 and "added 1 label, described by 2 examples; the model has 61" in added.stderr
    assert first(place, "more", word(510)) == "fox" != first(place, "model", word(510))
    assert "61; 1 added after training" in run(place, "info", "more").stdout
    removed = run(place, "remove-labels", "more", "fox", "L3", "--out", "fewer")
    assert removed.returncode == 0 and "removed 2 labels" in removed.stderr
    assert first(place, "fewer", word(510)) != "fox" and first(place, "fewer", word(3)) != "L3"
    assert "61; 1 added after training; 2 removed" in run(place, "info", "fewer").stdout


def test_ids_to_remove_may_stand_in_a_file(place: Path):
    (place / "ids.txt").write_text("L3\nL4\n", "utf-8")
    assert run(place, "remove-labels", "model", "@ids.txt", "--out", "without").returncode == 0
    assert longtail.open(place / "without").about.removed == (3, 4)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add-labels", "model", "bad.jsonl"], "bad.jsonl:2: it has 7 for an example"),
        (["add-labels", "model", "absent.jsonl"], "absent.jsonl"),
        (["add-labels", "model", "again.jsonl"], "label id 'L3' is already that of a label"),
        (["remove-labels", "model", "nobody"], "no label of the model has the id 'nobody'"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(place: Path, words: list[str], told: str):
    (place / "again.jsonl").write_text('{"id": "L3", "name": "again"}\n', "utf-8")
    ended = run(place, *words, "--out", "nothing")
    assert ended.returncode == 2 and told in ended.stderr and "Traceback" not in ended.stderr
    assert not (place / "nothing").exists()


def test_a_model_replaces_no_directory_of_somebody_else(place: Path):
    (place / "mine").mkdir(exist_ok=True)
    (place / "mine" / "notes.txt").write_text("keep", "utf-8")
    assert run(place, "add-labels", "model", "new.jsonl", "--out", "mine").returncode == 2
    assert (place / "mine" / "notes.txt").read_text("utf-8") == "keep"
