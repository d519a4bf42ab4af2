"""Judging and tuning through the real command line, on corpus files as they come: split, evaluate, calibrate, weigh."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from longtail import open as open_model
from longtail.corpus import Corpus, Splits
from tests.flow.test_cli import longtail, refused, worked
from tests.planted import word


def write_lines(path: Path, corpus: Corpus, *more: str) -> Path:
    """A corpus as JSON lines with label names; every document also gets the labels in `more`."""
    rows = np.split(corpus.labels.indices, corpus.labels.indptr[1:-1])
    lines = [
        json.dumps({"text": text, "labels": [*more, *(word(at) for at in row)]})
        for text, row in zip(corpus.texts, rows)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("judging")


@pytest.fixture(scope="module")
def train_file(planted: Splits, place: Path) -> Path:
    return write_lines(place / "mine.jsonl", planted.train)


@pytest.fixture(scope="module")
def model(train_file: Path, place: Path) -> Path:
    """Trained on all of one file, which has no other split."""
    worked(longtail("train", "linear", train_file, "--run", place / "run"))
    return place / "run/model"


# -- documents in a file of their own, whose labels are numbered as they come ----------------------------------------


@pytest.fixture(scope="module", params=["other order", "unknown labels", "fewer labels"])
def held(request: pytest.FixtureRequest, planted: Splits, place: Path) -> Path:
    test, path = planted.test, place / f"{request.param.replace(' ', '-')}.jsonl"
    if request.param == "unknown labels":
        return write_lines(path, test, "never heard of", "nor of this")
    return write_lines(path, test if request.param == "other order" else test.subset(np.arange(90, 30, -2), "test"))


def test_a_file_with_its_own_label_numbers_is_judged_as_the_model_numbers_them(model: Path, held: Path, tmp_path: Path):
    worked(longtail("evaluate", model, held, "--split", "trn", "--json", tmp_path / "m.json"))
    found = json.loads((tmp_path / "m.json").read_text())["metrics"]
    assert found["P@1"] > 90
    assert (found["R@100"] < 90) == ("unknown" in held.name)  # labels that the model does not know are missed


def test_a_file_with_its_own_label_numbers_calibrates(model: Path, held: Path, tmp_path: Path):
    answer = longtail("calibrate", model, held, "--split", "trn", "--threshold", "f1", "--out", tmp_path / "sure")
    assert "for f1: precision" in worked(answer)
    assert ("careful: 30 documents are few" in answer.stderr) == ("fewer" in held.name)
    assert word(5) in worked(longtail("predict", tmp_path / "sure", "--threshold", "auto", text=word(5) + "\n"))


def test_a_file_with_its_own_label_numbers_weighs_an_ensemble(model: Path, held: Path, tmp_path: Path):
    learned = ("--weights", "learned", "--corpus", held, "--split", "trn", "--out", tmp_path / "both")
    assert "nDCG@5" in worked(longtail("ensemble", model, model, *learned))
    assert sum(open_model(tmp_path / "both").model.weights) == pytest.approx(1)


def test_features_in_a_file_of_their_own_are_judged_and_calibrated(planted: Splits, tmp_path: Path):
    """The XMC repository's sparse files: a feature for every label, and a second file that knows fewer labels."""
    for name, corpus, n_labels in (
        ("train", planted.train, 60),
        ("held", planted.test.subset(np.arange(50), "test"), 55),
    ):
        rows = [row[row < n_labels] for row in np.split(corpus.labels.indices, corpus.labels.indptr[1:-1])]
        lines = [f"{','.join(map(str, row))} {' '.join(f'{at}:1' for at in row[::-1])}" for row in rows]
        (tmp_path / f"{name}.txt").write_text("\n".join([f"{len(rows)} 60 {n_labels}", *lines]) + "\n")
    worked(longtail("train", "linear", tmp_path / "train.txt", "--run", tmp_path / "run"))
    held = (tmp_path / "run/model", tmp_path / "held.txt", "--split", "trn")
    worked(longtail("evaluate", *held, "--json", tmp_path / "m.json"))
    assert json.loads((tmp_path / "m.json").read_text())["metrics"]["P@1"] > 90
    assert "ECE@5" in worked(longtail("calibrate", *held, "--in-place"))


def test_filtered_pairs_on_disk_are_those_of_the_models_labels(model: Path, planted: Splits, tmp_path: Path):
    """Every true pair is filtered, so nothing is left to be found."""
    write_lines(tmp_path / "train.jsonl", planted.test, "a label that comes first")
    lists = [json.loads(line)["labels"] for line in write_lines(tmp_path / "test.jsonl", planted.test).open()]
    numbers = {name: at for at, name in enumerate(dict.fromkeys(name for names in lists for name in names), 1)}
    pairs = [f"{row} {numbers[name]}" for row, names in enumerate(lists) for name in names]
    assert "P@1" in worked(longtail("evaluate", model, tmp_path, "--json", tmp_path / "before.json"))
    (tmp_path / "filter_labels_test.txt").write_text("\n".join(pairs) + "\n")
    worked(longtail("evaluate", model, tmp_path, "--json", tmp_path / "after.json"))
    before, after = (json.loads((tmp_path / f"{name}.json").read_text())["metrics"] for name in ("before", "after"))
    assert before["R@100"] > 90 and after["R@100"] == 0


# -- one file, and how to judge a model of it ------------------------------------------------------------------------


def test_judging_by_documents_that_were_learned_from_is_said_aloud(model: Path, train_file: Path, tmp_path: Path):
    for split in ("val", "trn"):
        answer = longtail("evaluate", model, train_file, "--split", split, "--json", tmp_path / "m.json")
        assert worked(answer) and "careful: the model learned from these very documents" in answer.stderr
        assert "learned from" in json.loads((tmp_path / "m.json").read_text())["careful"][0]


def test_one_file_has_two_ways_to_an_honest_number(model: Path, train_file: Path, tmp_path: Path):
    told = refused(longtail("evaluate", model, train_file))
    assert "no test split" in told and "longtail split" in told and "--hold-out" in told

    answer = longtail("train", "centroid", train_file, "--run", tmp_path / "held", "--hold-out")
    assert (
        worked(answer) == ""
        and f"longtail evaluate {tmp_path / 'held/model'} {train_file} --split val" in answer.stderr
    )
    answer = longtail("evaluate", tmp_path / "held/model", train_file, "--split", "val")
    assert worked(answer) and "careful" not in answer.stderr

    answer = longtail("split", train_file, "--test", 0.2, "--valid", 0.1, "--seed", 4, "--out", tmp_path / "parts")
    assert worked(answer) == "" and "420 train, 60 valid, 120 test documents" in answer.stderr
    answer = longtail("train", "centroid", tmp_path / "parts", "--run", tmp_path / "run")
    assert worked(answer) == "" and "test split" not in answer.stderr
    answer = longtail("evaluate", tmp_path / "run/model", tmp_path / "parts", "--json", tmp_path / "m.json")
    assert worked(answer) and "careful" not in answer.stderr
    found = json.loads((tmp_path / "m.json").read_text())
    assert found["corpus"]["documents"] == 120 and found["careful"] == []


def test_training_on_all_of_one_file_ends_with_how_to_judge(train_file: Path, tmp_path: Path):
    answer = longtail("train", "centroid", train_file, "--run", tmp_path / "run")
    assert worked(answer) == "" and "to judge one, make a test split with `longtail split" in answer.stderr


def test_a_corpus_that_cannot_be_divided_is_refused_with_a_sentence(train_file: Path, place: Path, tmp_path: Path):
    features = tmp_path / "sparse.txt"
    features.write_text("20 2 2\n" + "\n".join(f"{at % 2} 0:{at + 1} 1:1" for at in range(20)) + "\n")
    assert "only texts can be written" in refused(longtail("split", features, "--out", tmp_path / "a"))
    assert "write shares" in refused(longtail("split", train_file, "--test", 2, "--out", tmp_path / "a"))
    worked(longtail("split", train_file, "--out", tmp_path / "a", "--to", "parquet"))
    assert "has a test split already" in refused(longtail("split", tmp_path / "a", "--out", tmp_path / "b"))
    assert "exists already" in refused(longtail("split", tmp_path / "a", "--anew", "--out", tmp_path / "a"))
    assert worked(longtail("split", tmp_path / "a", "--anew", "--out", tmp_path / "b")) == ""


# -- what a model is --------------------------------------------------------------------------------------------------


def test_info_says_what_a_model_is_and_what_was_chosen_for_it(model: Path, planted: Splits, tmp_path: Path):
    held = write_lines(tmp_path / "held.jsonl", planted.test)
    calibrated = ("calibrate", model, held, "--split", "trn", "--threshold", "f1", "--out", tmp_path / "sure")
    worked(longtail(*calibrated))
    shown = worked(longtail("info", tmp_path / "sure", "--json", tmp_path / "i.json"))
    for said in ("linear", "mine, 600 documents", "calibration by 120 documents of held", "for f1: precision", "sound"):
        assert said in " ".join(shown.split())
    found = json.loads((tmp_path / "i.json").read_text())
    assert found["labels"] == 60 and found["threshold"]["target"] == "f1" and found["settings"] == []
    assert found["files"]["weights.safetensors"] > 1000 and found["bytes"] == sum(found["files"].values())
    assert "is a run" in refused(longtail("info", model.parent)) and "no such" in refused(longtail("info", "/no/such"))


def test_describe_says_that_there_is_nothing_to_judge_by(train_file: Path):
    assert "mine has no test split; make a test split with" in longtail("describe", train_file).stderr
