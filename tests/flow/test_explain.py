"""`longtail explain` in real processes, and a training that keeps documents for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from longtail.corpus import Splits
from longtail.data.write import write
from tests.planted import word


def run(*words: object, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "longtail", *map(str, words)], input=text, capture_output=True)


@pytest.fixture(scope="module")
def place(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("explain")
    write(planted, place / "corpus")
    done = run("train", "linear", place / "corpus", "--run", place / "run", "--keep-documents")
    assert done.returncode == 0 and b"keeping documents for explanations" in done.stderr, done.stderr
    return place


def test_a_text_on_the_command_line_is_explained_for_people(place: Path):
    done = run("explain", place / "run" / "model", f"{word(4)} and {word(9)}", "--k", 2)
    shown = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b"" and "\x1b" not in shown
    assert f"{word(4)} (L4)  score" in shown and f"{word(9)} (L9)  score" in shown
    assert "logit" in shown and shown.count("like 0.") == 6


def test_standard_input_is_one_text_and_json_is_for_programs(place: Path):
    text = f"{word(4).upper()}\nétude 🦊 {word(9)}\n"
    done = run("explain", place / "run" / "model", "--k", 1, "--format", "json", "--label", "L9", text=text.encode())
    told = json.loads(done.stdout)
    assert told["text"] == text.removesuffix("\n")
    [label] = told["labels"]
    top = max(label["words"], key=lambda each: each["contribution"])
    assert label["id"] == "L9" and told["text"][top["start"] : top["stop"]] == top["text"] == word(9)
    total = sum(each["contribution"] for each in label["words"]) + label["bias"]
    assert total == pytest.approx(label["logit"], abs=1e-4)


def test_html_is_a_whole_page(place: Path):
    done = run("explain", place / "run" / "model", f"<{word(4)}>", "--format", "html")
    page = done.stdout.decode()
    assert page.startswith("<!doctype html>") and "&lt;<span" in page and f"<{word(4)}>" not in page


def test_a_model_that_kept_no_documents_says_how_to_keep_them(place: Path, planted: Splits):
    done = run("train", "centroid", place / "corpus", "--run", place / "plain")
    assert done.returncode == 0
    done = run("explain", place / "plain" / "model", word(4), "--k", 1)
    assert done.returncode == 0 and b"train with --keep-documents" in done.stderr and b"like" not in done.stdout


def test_what_is_wrong_is_a_sentence(place: Path):
    model = place / "run" / "model"
    assert run("explain", model, "x", "--label", "nobody").returncode == 2
    assert b"no label of this model has the id 'nobody'" in run("explain", model, "x", "--label", "nobody").stderr
    assert run("explain", model, "x", "--format", "pdf").returncode == 2
    bad = run("explain", model, text=b"\xff\xfe")
    assert bad.returncode == 2 and b"byte 0 is not UTF-8" in bad.stderr
    # Bytes of the command line that are no UTF-8 are read as question marks.
    assert run("explain", model, f"{word(4)} \udcff", "--format", "json").returncode == 0
