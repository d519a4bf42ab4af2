"""Labels to add, from files and from Python, and what is wrong with some of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from longtail.data.new_labels import new_labels, read_new_labels
from longtail.errors import CorpusError
from longtail.new_label import NewLabel


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_json_lines_have_lists_of_examples(tmp_path: Path):
    lines = '{"id": "fox", "name": "red fox", "text": "an animal", "examples": ["a | b", "it hunts"]}\n{"id": 7}\n'
    assert read_new_labels(written(tmp_path / "new.jsonl", lines)) == [
        NewLabel("fox", "red fox", "an animal", ("a | b", "it hunts")),
        NewLabel("7", "7"),
    ]


def test_a_cell_of_a_csv_file_holds_examples_with_a_bar_between_them(tmp_path: Path):
    file = written(tmp_path / "new.csv", "id,name,text,examples\nfox,red fox,,it hunts | it runs\nowl,owl,a bird,\n")
    assert [label.examples for label in read_new_labels(file)] == [("it hunts ", " it runs"), ()]


def test_a_label_is_described_by_its_words_and_then_its_examples():
    assert NewLabel("fox", "red fox", "an animal", ("it hunts",)).texts() == ["red fox\nan animal", "it hunts"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "owl", "name": "owl"', "not JSON"),
        ('{"text": "no id"}', "needs a field called id or name"),
        ('{"id": " ", "name": " "}', "it needs an id and a name"),
        ('{"id": "owl", "name": ["owl"]}', "name must be a string"),
        ('{"id": "owl", "name": "owl", "examples": 3}', "has examples 3; write them as a list of texts"),
        ('{"id": "owl", "name": "owl", "examples": ["x", 3]}', "has 3 for an example, which must be a string"),
        ('{"id": "fox", "name": "again"}', "label id 'fox' is already that of a line before"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, told: str):
    file = written(tmp_path / "new.jsonl", f'{{"id": "fox", "name": "red fox"}}\n{line}\n')
    with pytest.raises(CorpusError) as error:
        read_new_labels(file)
    assert f"{file}:2: " in str(error.value) and told in str(error.value)


def test_a_file_of_another_kind_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"labels are read from \.jsonl"):
        read_new_labels(written(tmp_path / "new.txt", "fox"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("fox", "labels to add are a list"),
        ({"id": "fox", "name": "fox"}, "labels to add are a list"),
        (["fox"], "label 0 is 'fox'"),
        ([{"id": "fox"}], "label 0 needs an id and a name"),
        ([{"id": "fox", "name": "fox", "titel": "x"}], "label 0 has a field 'titel'"),
        ([{"id": "fox", "name": "fox", "examples": "one text"}], "write them as a list"),
        ([{"id": "fox", "name": "\ud800"}], "half of a character in name"),
    ],
)
def test_what_python_gives_is_checked_too(given: object, told: str):
    with pytest.raises(CorpusError, match="label") as error:
        new_labels(given)  # type: ignore[arg-type]
    assert told in str(error.value)
