"""A spreadsheet export with other names and other separators, to a model that answers: no documentation opened."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from longtail.corpus import Splits
from tests.flow.test_cli import longtail, refused, worked
from tests.planted import word
from tests.serving import running


@pytest.fixture(scope="module")
def export(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A German Excel's CSV: semicolons, cp1252, Windows' ends of lines, and a list of keywords in a cell."""
    place = tmp_path_factory.mktemp("export") / "Katalog.CSV"
    corpus = planted.train
    lines = ["Nr;Zusammenfassung;Schlagwörter"]
    for at, text in enumerate(corpus.texts):
        start, stop = corpus.labels.indptr[at : at + 2]
        names = ", ".join(word(int(label)) for label in corpus.labels.indices[start:stop])
        lines.append(f'{at};"Über {text}";{names}')
    place.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    return place


def test_describe_says_what_it_guessed(export: Path, tmp_path: Path):
    answer = longtail("describe", export, "--json", tmp_path / "d.json")
    worked(answer)
    for words in (
        "Katalog.CSV is not UTF-8; it was read as cp1252",
        "Katalog.CSV has ';' between its columns",
        "the text is Zusammenfassung; the labels are Schlagwörter; not read: Nr",
        "labels have ',' between them",
    ):
        assert words in answer.stderr, answer.stderr
    notes = json.loads((tmp_path / "d.json").read_text())["notes"]
    assert len(notes) == 4 and all(note in answer.stderr for note in notes)


@pytest.fixture(scope="module")
def model(export: Path) -> Path:
    place = export.parent
    worked(longtail("split", export, "--test", 0.2, "--out", place / "corpus", "--to", "csv"))
    worked(longtail("train", "linear", place / "corpus", "--run", place / "run"))
    return place / "run" / "model"


def test_from_an_export_to_answers(export: Path, model: Path):
    assert "P@1" in worked(longtail("evaluate", model, export.parent / "corpus"))
    answer = longtail("predict", model, export, "--k", 1)
    assert len(worked(answer).splitlines()) == len(export.read_bytes().splitlines()) - 1
    assert "the text is Zusammenfassung" in answer.stderr


def test_columns_that_cannot_be_known_are_suggested(tmp_path: Path):
    (tmp_path / "a.csv").write_text("blurb,kinds\n" + "some words about it,x\nmore words about it,y\n" * 3)
    told = refused(longtail("describe", tmp_path / "a.csv"))
    assert "did you mean --text blurb --labels kinds?" in told
    worked(longtail("describe", tmp_path / "a.csv", "--text", "blurb", "--labels", "kinds"))
    told = refused(longtail("convert", tmp_path / "a.csv", tmp_path / "out", "--text", "blurbs"))
    assert "did you mean --text blurb?" in told


def test_a_silent_mistake_is_a_warning(tmp_path: Path):
    rows = [f"text number {at},part{at}/other{at}" for at in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(["text,labels", *rows, ""]))
    answer = longtail("convert", tmp_path / "a.csv", tmp_path / "out", "--to", "jsonl")
    assert "careful: 12 of 12 documents have exactly one label" in answer.stderr
    assert "pass --label-separator '/'" in answer.stderr


def test_predict_reads_the_columns_it_is_told(model: Path, tmp_path: Path):
    (tmp_path / "q.jsonl").write_text('{"head": "a", "blurb": "b"}\n')
    assert worked(longtail("predict", model, tmp_path / "q.jsonl", "--text", "head,blurb"))
    told = longtail("predict", model, tmp_path / "q.jsonl", "--text", "other", "--strict")
    assert "needs a string other, as --text says; its fields are: blurb, head" in refused(told)


def test_four_commands_to_a_served_model_and_each_says_the_next(planted: Splits, tmp_path: Path):
    """A spreadsheet's CSV with columns of other names and ; between labels: every command but the first is printed."""
    corpus = planted.train
    rows = np.split(corpus.labels.indices, corpus.labels.indptr[1:-1])
    cells = [";".join(word(int(label)) for label in row) for row in rows]
    lines = [f"{at},{text},{cell}" for at, (text, cell) in enumerate(zip(corpus.texts, cells))]
    (tmp_path / "articles.csv").write_text("\n".join(["Nr,Abstract,Keywords", *lines, ""]))
    said = told(tmp_path, "longtail describe articles.csv")
    assert "labels have ';' between them" in said
    said = told(tmp_path, following("next: ", said))
    said = told(tmp_path, following("next: ", said))
    serve = following("use it: ", said)
    assert serve.split()[:2] == ["longtail", "serve"]
    with running(tmp_path / serve.split()[2]) as server:
        best = server.predict(texts=[corpus.texts[0]], k=1).json["results"][0]["labels"][0]
    assert best["name"] in cells[0].split(";")
    judge = following("judge it: ", said)
    assert "P@1" in subprocess.run(python(judge), cwd=tmp_path, capture_output=True, text=True, check=True).stdout


def following(words: str, said: str) -> str:
    """The command that is printed behind these words."""
    (line,) = (line for line in said.splitlines() if line.startswith(words))
    return line.removeprefix(words).partition("   ")[0]


def python(command: str) -> list[str]:
    name, *words = shlex.split(command)
    assert name == "longtail"
    return [sys.executable, "-m", "longtail", *words]


def told(place: Path, command: str) -> str:
    return subprocess.run(python(command), cwd=place, capture_output=True, text=True, check=True).stderr
