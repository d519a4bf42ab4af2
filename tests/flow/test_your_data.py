"""A spreadsheet export with other names and other separators, to a model that answers: no documentation opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longtail.corpus import Splits
from tests.flow.test_cli import longtail, refused, worked
from tests.planted import word


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
