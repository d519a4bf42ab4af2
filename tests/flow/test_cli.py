"""The command line as people script against it: real processes, real files."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from longtail import open as open_model
from longtail.corpus import Splits
from tests.planted import word


def longtail(*words: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "longtail", *map(str, words)]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)


def worked(answer: subprocess.CompletedProcess[str]) -> str:
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def refused(answer: subprocess.CompletedProcess[str]) -> str:
    assert answer.returncode == 2, f"exit {answer.returncode}\n{answer.stderr}"
    assert "Traceback" not in answer.stderr
    return answer.stderr


@pytest.fixture(scope="module")
def corpus(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted corpus as a newcomer would have it: JSON lines with label names."""
    place = tmp_path_factory.mktemp("corpus")
    for split, name in ((planted.train, "train"), (planted.test, "test")):
        rows = np.split(split.labels.indices, split.labels.indptr[1:-1])
        lines = (json.dumps({"text": t, "labels": [word(at) for at in row]}) for t, row in zip(split.texts, rows))
        (place / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return place


@pytest.fixture(scope="module")
def model(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "linear"
    worked(longtail("train", "linear", corpus, "--run", run, "--seed", 3))
    return run / "model"


def test_help_names_every_command():
    shown = worked(longtail("--help"))
    commands = (
        "demo",
        "describe",
        "convert",
        "train",
        "evaluate",
        "predict",
        "ensemble",
        "export",
        "calibrate",
        "methods",
        "split",
        "info",
        "join",
        "cross-validate",
        "tune",
        "push",
        "pull",
    )
    for command in commands:
        assert command in shown


def test_the_version_is_that_of_the_package():
    import longtail as package

    assert worked(longtail("--version")) == f"longtail {package.__version__}\n"
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+\S*", package.__version__)


def test_predict_answers_one_json_line_per_text_in_order(model: Path):
    texts = [f"{word(4)} {word(501)}", "", word(9)]
    answers = [
        json.loads(line) for line in worked(longtail("predict", model, "-", text="\n".join(texts) + "\n")).splitlines()
    ]
    assert len(answers) == 3
    assert [answers[row]["labels"][0]["name"] for row in (0, 2)] == [word(4), word(9)]
    assert set(answers[0]["labels"][0]) == {"index", "id", "name", "score"}


def test_predict_reads_json_lines_with_title_and_content(model: Path, tmp_path: Path):
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"title": word(4), "content": "x"}) + "\n" + json.dumps({"text": word(9)}) + "\n"
    )
    answers = [
        json.loads(line) for line in worked(longtail("predict", model, tmp_path / "q.jsonl", "--k", 1)).splitlines()
    ]
    assert [answer["labels"][0]["name"] for answer in answers] == [word(4), word(9)]
    assert all(len(answer["labels"]) == 1 for answer in answers)


def test_predict_answers_a_pipe_that_waits(model: Path):
    command = [sys.executable, "-m", "longtail", "predict", str(model)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout
    for label in (3, 8):
        process.stdin.write(word(label) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["labels"][0]["name"] == word(label)
    process.stdin.close()
    assert process.wait(20) == 0


def test_a_bad_query_line_is_named_and_earlier_answers_are_kept(model: Path, tmp_path: Path):
    (tmp_path / "q.jsonl").write_text(json.dumps({"text": word(4)}) + "\nnot json\n")
    answer = longtail("predict", model, tmp_path / "q.jsonl", "--strict")
    assert "q.jsonl:2" in refused(answer) and word(4) in answer.stdout


def test_evaluate_prints_a_table_and_writes_json_and_plots(model: Path, corpus: Path, tmp_path: Path):
    shown = worked(longtail("evaluate", model, corpus, "--json", tmp_path / "m.json", "--plots", tmp_path / "plots"))
    written = json.loads((tmp_path / "m.json").read_text())
    assert "P@1" in shown and {"metrics", "by_decile", "corpus", "model"} <= set(written)
    assert {"P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "R@100"} <= set(written["metrics"])
    assert written["metrics"]["P@1"] > 90
    assert list((tmp_path / "plots").glob("*.png"))


def test_an_ensemble_predicts_and_evaluates_like_any_model(model: Path, corpus: Path, tmp_path: Path):
    worked(longtail("train", "centroid", corpus, "--run", tmp_path / "centroid"))
    worked(longtail("ensemble", model, tmp_path / "centroid/model", "--out", tmp_path / "both"))
    worked(longtail("evaluate", tmp_path / "both", corpus, "--json", tmp_path / "m.json"))
    assert json.loads((tmp_path / "m.json").read_text())["metrics"]["P@1"] > 90
    assert word(5) in worked(longtail("predict", tmp_path / "both", text=word(5) + "\n"))


@pytest.fixture(scope="module")
def held(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models that left the val split out of their training."""
    place = tmp_path_factory.mktemp("held")
    for method in ("linear", "centroid"):
        worked(longtail("train", method, corpus, "--run", place / method, "--hold-out"))
    return {method: place / method / "model" for method in ("linear", "centroid")}


def test_calibrated_scores_are_probabilities_and_a_threshold_is_kept(held: dict, corpus: Path, tmp_path: Path):
    raw, model = held["centroid"], tmp_path / "model"
    answer = longtail("calibrate", raw, corpus, "--threshold", "f1", "--out", model)
    assert "ECE@5" in worked(answer) and "for f1: precision" in answer.stdout and "labels a document" in answer.stdout
    for directory in (raw, model):
        worked(longtail("evaluate", directory, corpus, "--json", tmp_path / f"{directory.parent.name}.json"))
    before, after = (json.loads((tmp_path / f"{d.parent.name}.json").read_text()) for d in (raw, model))
    assert after["metrics"] == before["metrics"]  # probabilities leave the order as it is
    assert after["reliability"]["ece"] < before["reliability"]["ece"] / 2
    assert after["threshold"]["f1"] > 80 and "threshold" not in before
    answer = longtail("predict", model, "--threshold", "auto", text=f"{word(4)} {word(9)}\n")
    names = [label["name"] for label in json.loads(worked(answer))["labels"]]
    assert sorted(names) == sorted([word(4), word(9)]) and "for f1: precision" in answer.stderr


def test_calibrating_in_place_changes_the_model_and_nothing_else(held: dict, corpus: Path, tmp_path: Path):
    import shutil

    model = tmp_path / "model"
    shutil.copytree(held["linear"], model)
    worked(longtail("calibrate", model, corpus, "--in-place"))
    assert (model / "calibration.safetensors").is_file()
    assert (model / "weights.safetensors").read_bytes() == (held["linear"] / "weights.safetensors").read_bytes()
    assert "careful" not in longtail("evaluate", model, corpus).stderr
    assert "these very documents chose the model's calibration" in longtail(
        "evaluate", model, corpus, "--split", "val"
    ).stderr  # fmt: skip
    assert "no threshold of its own" in refused(longtail("predict", model, "--threshold", "auto", text="x\n"))


def test_an_ensemble_learns_its_weights_by_documents_nobody_saw(held: dict, corpus: Path, tmp_path: Path):
    learned = ("ensemble", *held.values(), "--out", tmp_path / "both", "--weights", "learned")
    shown = worked(longtail(*learned, "--corpus", corpus, "--metric", "nDCG@3"))
    assert "nDCG@3" in shown and "60 documents" in shown
    together = open_model(tmp_path / "both")
    assert sum(together.model.weights) == pytest.approx(1) and together.about.chosen["weights"]["split"] == "valid"
    assert word(5) in worked(longtail("predict", tmp_path / "both", text=word(5) + "\n"))
    assert "test split" in refused(longtail(*learned, "--corpus", corpus, "--split", "tst"))
    assert "--corpus" in refused(longtail(*learned))
    assert "metric = 'good'" in refused(longtail(*learned, "--corpus", corpus, "--metric", "good"))


def test_methods_lists_every_setting_with_its_meaning():
    assert "linear" in worked(longtail("methods"))
    shown = worked(longtail("methods", "linear"))
    assert "seed" in shown and "beam" in shown


def test_describe_counts_what_is_there(corpus: Path, tmp_path: Path):
    assert "600" in worked(longtail("describe", corpus, "--json", tmp_path / "d.json", "--plot", tmp_path / "d.png"))
    assert (tmp_path / "d.png").stat().st_size > 1000 and json.loads((tmp_path / "d.json").read_text())


@pytest.mark.parametrize("kind", ["lf", "parquet"])
def test_a_converted_corpus_trains_to_the_same_model(kind: str, corpus: Path, model: Path, tmp_path: Path):
    worked(longtail("convert", corpus, tmp_path / "other", "--to", kind))
    worked(longtail("train", "linear", tmp_path / "other", "--run", tmp_path / "run", "--seed", 3))
    query = word(11) + "\n"
    assert worked(longtail("predict", tmp_path / "run/model", text=query)) == worked(
        longtail("predict", model, text=query)
    )


def test_settings_come_from_a_file_and_from_set_and_are_kept(corpus: Path, tmp_path: Path):
    (tmp_path / "c.toml").write_text("beam = 7\n")
    worked(
        longtail("train", "linear", corpus, "--run", tmp_path / "r", "--config", tmp_path / "c.toml", "--set", "seed=5")
    )
    about = open_model(tmp_path / "r/model").about
    assert about.config["beam"] == 7 and about.config["seed"] == 5


def test_a_preset_is_the_lowest_layer_of_settings(corpus: Path, tmp_path: Path):
    (tmp_path / "c.toml").write_text("beam = 7\n")
    words = ("train", "linear", corpus, "--run", tmp_path / "r", "--preset", "debian-related")
    worked(longtail(*words, "--config", tmp_path / "c.toml", "--set", "seed=5"))
    about = open_model(tmp_path / "r/model").about
    assert (about.config["belief_weight"], about.config["beam"], about.config["seed"]) == (1.0, 7, 5)


def test_the_propensity_constants_of_a_dataset(model: Path, corpus: Path, tmp_path: Path):
    words = ("evaluate", model, corpus, "--json", tmp_path / "m.json", "--preset", "amazon-670k")
    worked(longtail(*words))
    assert json.loads((tmp_path / "m.json").read_text())["corpus"]["propensity"] == {"a": 0.6, "b": 2.6}
    worked(longtail(*words, "--propensity-a", 0.5))
    assert json.loads((tmp_path / "m.json").read_text())["corpus"]["propensity"] == {"a": 0.5, "b": 2.6}


def test_the_same_command_again_is_done_at_once(model: Path, corpus: Path):
    stamp = (model / "manifest.json").stat().st_mtime_ns
    worked(longtail("train", "linear", corpus, "--run", model.parent, "--seed", 3))
    assert (model / "manifest.json").stat().st_mtime_ns == stamp


def test_another_config_in_the_same_directory_is_refused_by_name(model: Path, corpus: Path):
    assert "seed" in refused(longtail("train", "linear", corpus, "--run", model.parent, "--seed", 4))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "linaer", "CORPUS", "--run", "RUN"), "did you mean linear"),
        (("train", "linear", "/no/such/corpus", "--run", "RUN"), "/no/such/corpus"),
        (("train", "linear", "CORPUS", "--run", "RUN", "--set", "baem=3"), "baem"),
        (("train", "linear", "CORPUS", "--run", "RUN", "--set", "beam=x"), "beam"),
        (("train", "linear", "CORPUS", "--run", "RUN", "--set", "beam"), "field=value"),
        (("train", "linear", "CORPUS", "--run", "RUN", "--config", "/no/such.toml"), "/no/such.toml"),
        (
            ("train", "linear", "/no/such/corpus", "--run", "RUN", "--device", "nonsense"),
            "device 'nonsense'",
        ),
        (("train", "linear", "/no/such/corpus", "--run", "RUN", "--device", "cuda"), "linear trains on the CPU alone"),
        (("train", "decaf", "/no/such/corpus", "--run", "RUN", "--device", "cuda:99"), "device 'cuda:99': "),
        (("train", "linear", "CORPUS", "--run", "RUN", "--preset", "debian"), "did you mean debian-related?"),
        (("evaluate", "MODEL", "CORPUS", "--preset", "wiki-50k"), "did you mean wiki-500k?"),
        (("evaluate", "/no/such/model", "CORPUS"), "/no/such/model"),
        (("evaluate", "MODEL", "CORPUS", "--k", "0"), "--k"),
        (("evaluate", "MODEL", "CORPUS", "--split", "dev"), "dev"),
        (("predict", "MODEL", "/no/such/file"), "/no/such/file"),
        (("predict", "MODEL", "/no/such/file", "--k", "0"), "--k"),
        (("methods", "nothing"), "nothing"),
        (("ensemble", "MODEL", "--out", "RUN", "--weights", "1,2"), "weights"),
        (("ensemble", "MODEL", "--out", "RUN", "--weights", "learned", "--corpus", "CORPUS"), "--hold-out"),
        (("calibrate", "MODEL", "CORPUS"), "--out DIR for a new one, or --in-place"),
        (("calibrate", "MODEL", "CORPUS", "--in-place"), "--hold-out"),
        (("calibrate", "MODEL", "CORPUS", "--in-place", "--split", "tst"), "test split"),
        (("calibrate", "MODEL", "CORPUS", "--in-place", "--split", "trn"), "learned from these documents"),
        (("calibrate", "MODEL", "CORPUS", "--in-place", "--threshold", "f2"), "write f1, precision=0.9 or recall=0.8"),
        (("predict", "MODEL", "/no/such/file", "--threshold", "high"), "write a number, or auto"),
    ],
)
def test_bad_input_is_told_to_the_person_and_exits_with_2(words, said: str, model: Path, corpus: Path, tmp_path: Path):
    known = {"CORPUS": corpus, "MODEL": model, "RUN": tmp_path / "run"}
    assert said in refused(longtail(*(known.get(one, one) for one in words)))


def test_a_damaged_model_is_refused_with_the_file_that_changed(model: Path, tmp_path: Path):
    shutil.copytree(model, tmp_path / "model")
    weights = tmp_path / "model/weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert "weights.safetensors" in refused(longtail("predict", tmp_path / "model", text="x\n"))


QUICK = ["--set", "bag.dim=32", "--set", "bag.subwords=0"]
RUNS = ("whole", "parts")
KILLED = {"linear": [], "decaf": QUICK, "lightdxml": [*QUICK, "--set", "valid_documents=50"]}


@pytest.mark.parametrize("method", ["linear", "decaf", pytest.param("lightdxml", marks=pytest.mark.slow)])
def test_killed_at_random_points_and_rerun_the_answer_is_the_same(method: str, corpus: Path, tmp_path: Path):
    """SIGKILL after a random part of the time a whole run takes, again and again."""
    whole, parts = ((method, corpus, "--run", tmp_path / name, "--seed", 3, *KILLED[method]) for name in RUNS)
    started = time.monotonic()
    worked(longtail("train", *whole))
    seconds, rng, killed = time.monotonic() - started, np.random.default_rng(0), 0
    for _ in range(4):
        command = [sys.executable, "-m", "longtail", "train", *map(str, parts)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 0.8) * seconds)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        elif not killed:  # other work slowed the run that was timed: begin anew, and do not wait as long
            shutil.rmtree(tmp_path / "parts")
            seconds /= 2
        process.wait()
    worked(longtail("train", *parts))
    query = "\n".join(word(at) for at in range(30)) + "\n"
    answers = [worked(longtail("predict", tmp_path / name / "model", text=query)) for name in RUNS]
    assert killed > 0 and answers[0] == answers[1]
