"""Whose directory it is: one run, one process, and nothing of somebody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from longtail import store
from longtail.corpus import Corpus, Splits
from longtail.errors import RunError
from longtail.train.run import open_run
from tests.unit.train.runs import CONFIG, corpus, opened

ROOT = Path(__file__).parents[3]


def test_sweeping_touches_nothing_that_a_run_did_not_write(tmp_path):
    kept = [tmp_path / ".git", tmp_path / "notes" / ".draft.12345678", tmp_path / ".model"]
    kept += [tmp_path / ".model.settings" / "mine", tmp_path / "work" / "stages" / ".idea.settings"]
    swept = [
        tmp_path / ".model.a1b2c3d4",
        tmp_path / "stages" / ".tfidf.a1b2c3d4",
        tmp_path / "training" / "x" / ".last.12345678",
    ]
    for directory in (*kept, *swept):
        directory.mkdir(parents=True)
    with opened(tmp_path):
        assert all(directory.is_dir() for directory in (*kept, *swept)), "a first run has nothing to sweep"
    with opened(tmp_path):
        assert all(directory.is_dir() for directory in kept)
        assert not any(directory.exists() for directory in swept)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"config": CONFIG | {"beam": 20}}, "beam was 10, now 20"),
        ({"config": CONFIG | {"optim": {"lr": 0.2, "row_lr": (0.5, 0.75)}}}, "config.optim.lr was 0.1, now 0.2"),
        ({"config": CONFIG | {"optim": {"lr": 0.1, "row_lr": (0.5,)}}}, "row_lr was [0.5, 0.75], now [0.5]"),
        ({"config": {"beam": 10, "seed": 0}}, "config.optim was {"),
        ({"method": "centroid"}, 'method was "linear", now "centroid"'),
        ({"fingerprint": "xyz"}, "of corpus with 2 documents and 2 labels changed since the run was started"),
    ],
)
def test_a_directory_of_another_run_is_refused_naming_what_changed(tmp_path, other, named):
    with opened(tmp_path):
        pass
    before = (tmp_path / "run.json").read_text()
    with pytest.raises(RunError) as refused, opened(tmp_path, **other):
        pass
    assert named in str(refused.value)
    assert "delete this one to start anew" in str(refused.value)
    assert (tmp_path / "run.json").read_text() == before


def claimed(directory: Path, held: Corpus) -> str:
    """What is said to a training on this corpus in the directory of another."""
    with pytest.raises(RunError) as refused, open_run(directory, "linear", CONFIG, held):
        pass
    return str(refused.value)


def grown(documents: int) -> Corpus:
    return Corpus.of(
        [f"text {at}" for at in range(documents)], [[f"label {at % 3}"] for at in range(documents)], "mine"
    )


def test_a_corpus_that_grew_is_told_in_words(tmp_path):
    with open_run(tmp_path, "linear", CONFIG, grown(90)):
        pass
    said = claimed(tmp_path, grown(1095))
    assert "started on mine with 90 documents and 3 labels, and now it is mine with 1,095 documents" in said
    assert grown(90).fingerprint not in said


def test_a_hold_out_that_came_or_went_is_told_in_words(tmp_path):
    everything, held = grown(200), Splits(grown(200)).without_valid
    with open_run(tmp_path / "all", "linear", CONFIG, everything), open_run(tmp_path / "held", "linear", CONFIG, held):
        pass
    assert "started on all of mine, and now --hold-out leaves some" in claimed(tmp_path / "all", held)
    assert "started with --hold-out, on 180 of the 200 documents" in claimed(tmp_path / "held", everything)
    assert "mine with 180 documents and 3 labels, without those of --hold-out, and now" in claimed(
        tmp_path / "held", grown(300)
    )


def test_a_run_of_before_that_kept_the_fingerprint_alone_goes_on(tmp_path):
    with opened(tmp_path):
        pass
    about = json.loads((tmp_path / "run.json").read_text())
    del about["trained_on"]
    (tmp_path / "run.json").write_text(json.dumps(about))
    with opened(tmp_path):
        pass
    assert "another corpus than corpus with 2 documents and 2 labels" in claimed(tmp_path, corpus("xyz"))


def test_every_change_is_named(tmp_path):
    with opened(tmp_path):
        pass
    changed = r"beam was 10, now 11; config\.seed was 0, now 1"
    with pytest.raises(RunError, match=changed), opened(tmp_path, CONFIG | {"beam": 11, "seed": 1}):
        pass


def test_the_same_settings_are_welcome_again(tmp_path):
    for _ in range(2):
        with opened(tmp_path):
            pass
    about = json.loads((tmp_path / "run.json").read_text())
    assert about["config"]["beam"] == 10
    assert about["versions"]["numpy"] == np.__version__


def test_two_processes_cannot_train_in_one_directory(tmp_path):
    code = (
        "import sys; from pathlib import Path; from tests.unit.train.runs import opened\n"
        "with opened(Path(sys.argv[1])): print('in')"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with opened(tmp_path):
        refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert f"RunError: {tmp_path}: another process ({os.getpid()}) is training here" in refused.stderr
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "in\n"


FOREIGN = {
    "lock": "poetry lock",
    "log.jsonl": '{"mine": 1}',
    "model": "a file",
    "model/weights.bin": "mine",
    "stages": "a file",
    "stages/one/rocket.txt": "mine",
    "training/plan.txt": "mine",
    "parts/list.txt": "mine",
    "run.json": '{"speed": 10}',
    "manifest.json": "{}",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_names_of_a_run_that_somebody_else_used_are_refused_and_left_as_they_are(name, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FOREIGN[name])
    with pytest.raises(RunError, match="choose another directory"), opened(tmp_path):
        pass
    assert path.read_text() == FOREIGN[name]
    assert [found for found in tmp_path.rglob("*") if found.is_file()] == [path], "something was left there"


def test_a_finished_model_that_no_run_made_is_not_taken_for_its_own(tmp_path):
    with store.whole_directory(tmp_path / "model", store.MODEL) as building:
        (building / "model.json").write_text("{}")
    with pytest.raises(RunError, match="model is there already, and not from a run"), opened(tmp_path):
        pass


def test_other_files_are_in_nobodys_way(tmp_path):
    def squares(count: int) -> np.ndarray:
        return np.arange(count) ** 2

    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("mine")
    (tmp_path / "model").mkdir()
    for _ in range(2):
        with opened(tmp_path) as run:
            run.stage("squares", squares, 5)
    assert (tmp_path / "notes" / "todo.txt").read_text() == "mine"
