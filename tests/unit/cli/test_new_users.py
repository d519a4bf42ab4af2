"""Commands that a new user needs: reports, cross-validation, tuning, sharing, joining, and warnings in time."""

from __future__ import annotations

import csv
import json
import shutil
import tomllib
from pathlib import Path

from tests.unit.cli.commands import Command


def test_evaluate_writes_labels_and_mistakes(longtail: Command, tmp_path: Path):
    labels, mistakes = tmp_path / "labels.csv", tmp_path / "mistakes.jsonl"
    code, out, told = longtail(
        "evaluate", "model", "corpus", "--per-label", labels, "--mistakes", mistakes, "--worst", 3
    )
    assert code == 0 and "F1" in out and "macroF1" in out, told
    assert {"id", "precision", "recall", "f1"} <= set(next(csv.DictReader(labels.open())))
    assert len(mistakes.read_text().splitlines()) <= 3 and f"wrote {mistakes}" in told


def test_a_report_of_an_unknown_kind_is_refused_before_the_work(longtail: Command):
    code, _, told = longtail("evaluate", "model", "nowhere", "--per-label", "labels.xlsx")
    assert code == 2 and "must end in one of" in told


def test_an_evaluation_is_kept_in_the_card(longtail: Command, place: Path, tmp_path: Path):
    shutil.copytree(place / "model", tmp_path / "model")
    code, _, told = longtail("evaluate", tmp_path / "model", "corpus", "--keep")
    assert code == 0 and "the numbers are in" in told
    assert "By label frequency" in (tmp_path / "model" / "README.md").read_text()
    assert longtail("info", tmp_path / "model")[0] == 0


def test_another_language_is_told_by_evaluate(longtail: Command, tmp_path: Path):
    (tmp_path / "test.jsonl").write_text('{"text": "ein kleines Instrument mit Saiten", "labels": ["ba"]}\n')
    code, _, told = longtail("evaluate", "model", tmp_path / "test.jsonl", "--split", "trn")
    assert code == 0 and "is this the language that it was trained in?" in told, told


def test_cross_validation_shows_means_and_folds(longtail: Command, tmp_path: Path):
    words = (
        "cross-validate",
        "centroid",
        "corpus",
        "--run",
        tmp_path / "cv",
        "--folds",
        2,
        "--json",
        tmp_path / "cv.json",
    )
    code, out, told = longtail(*words)
    assert code == 0 and "mean" in out and "macroF1@5" in out, told
    assert len(json.loads((tmp_path / "cv.json").read_text())["folds"]) == 2


def test_tuning_names_the_best_and_writes_its_settings(longtail: Command, tmp_path: Path):
    words = (
        "tune",
        "centroid",
        "corpus",
        "--run",
        tmp_path / "t",
        "--set",
        "words.min_df=1,2",
        "--metric",
        "P@1",
    )
    code, out, told = longtail(*words)
    assert code == 0 and "P@1" in out and "best: longtail train centroid corpus" in told, told
    assert tomllib.loads((tmp_path / "t" / "best.toml").read_text())["words"]["min_df"] in (1, 2)
    assert "trial 2 of 2: words.min_df=2" in told and "default" not in told + out, "the default is among the values"


def test_tuning_trains_the_defaults_too_where_they_are_not_among_the_values(longtail: Command, tmp_path: Path):
    code, out, told = longtail("tune", "centroid", "corpus", "--run", tmp_path / "t", "--set", "words.min_df=2,3")
    assert code == 0 and "trial 1 of 3: defaults" in told and "default" in out, told


def test_misspelt_settings_and_methods_do_not_wait_for_the_corpus(longtail: Command, tmp_path: Path):
    for words in (
        ("tune", "centroid", "nowhere", "--set", "wrods.ngrams=1,2"),
        ("tune", "auto", "nowhere", "--set", "a=1"),
    ):
        code, _, told = longtail(*words, "--run", tmp_path / "t")
        assert code == 2 and "nowhere" not in told, told


def test_push_and_pull_by_directories(longtail: Command, tmp_path: Path):
    assert longtail("push", "model", tmp_path / "there")[0] == 0
    assert longtail("pull", tmp_path / "there", tmp_path / "here")[0] == 0
    assert longtail("info", tmp_path / "here")[0] == 0
    (tmp_path / "there" / "evil.pkl").write_bytes(b"x")
    code, _, told = longtail("pull", tmp_path / "there", tmp_path / "again")
    assert code == 2 and "evil.pkl is not named in manifest.json" in told


def test_join_puts_new_documents_behind_old_ones(longtail: Command, tmp_path: Path):
    (tmp_path / "new.jsonl").write_text('{"text": "something new", "labels": ["novelty"]}\n')
    code, _, told = longtail("join", "corpus", tmp_path / "new.jsonl", "--out", tmp_path / "both")
    assert code == 0 and "601 train, 120 test documents, 61 labels" in told, told
    assert longtail("join", "corpus", "--out", tmp_path / "one")[0] == 2


def test_join_names_the_command_that_takes_columns(longtail: Command, tmp_path: Path):
    (tmp_path / "new.csv").write_text("blurb,kinds\nsome words about it,x\nmore words about it,y\n")
    code, _, told = longtail("join", "corpus", tmp_path / "new.csv", "--out", tmp_path / "both")
    assert code == 2 and f"--text blurb --labels kinds? (options of `longtail convert {tmp_path}" in told, told


def test_a_corpus_is_no_model(longtail: Command):
    for command in (("predict", "corpus"), ("info", "corpus")):
        code, _, told = longtail(*command)
        assert code == 2 and "model.json in it, so this is not a model" in told, told


def test_a_file_without_splits_is_judged_by_its_documents_on_request(longtail: Command, tmp_path: Path):
    (tmp_path / "held.jsonl").write_text('{"text": "something new", "labels": ["ba"]}\n')
    code, _, told = longtail("evaluate", "model", tmp_path / "held.jsonl")
    assert code == 2 and "to take all of its documents: --split trn" in told, told


def test_describe_tells_of_texts_without_spaces(longtail: Command, tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"text": "红色的狐狸", "labels": ["x"]}\n' * 3)
    assert "no spaces between words" in longtail("describe", tmp_path / "a.jsonl")[2]
    assert "no spaces between words" not in longtail("describe", "corpus")[2]
