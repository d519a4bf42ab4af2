"""Records and answers as Arrow tables: the answers of `longtail predict`, and keys that are no one else's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longtail import fit
from longtail.columns import UNTOLD
from longtail.corpus import Splits
from longtail.data.queries import read_queries
from longtail.predict.answers import FORMATS, Answers
from longtail.predict.predictor import Predictor
from tests.planted import word

pa = pytest.importorskip("pyarrow")
from longtail.predict.record_tables import KEY, TableAnswers, record_tables  # noqa: E402 - needs pyarrow


@pytest.fixture(scope="module")
def model(planted: Splits) -> Predictor:
    return fit("linear", planted.train)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Ids of every kind, none, a record that is not JSON, one without a text, and a blank line."""
    lines = [json.dumps({"id": id, "text": word(at)}) for at, id in enumerate(("a", 7, 1.5, "1", "ü\n"))]
    lines += [json.dumps({"text": word(9)}), "{bad", json.dumps({"id": "no text"}), ""]
    place = tmp_path / "some.jsonl"
    place.write_text("\n".join(lines * 200) + "\n", "utf-8")  # more than a batch
    return str(place)


def plain(model: Predictor, file: str) -> list[str]:
    """What `longtail predict` writes, line by line."""
    answers = Answers(model, 3, 0.0, FORMATS["jsonl"], lambda line: None)
    return [
        line for batch in answers.numbered(read_queries(file, False)) for line in answers(batch).decode().splitlines()
    ]


def tables(file: str, number: int = 0) -> list:
    return list(record_tables(file, number, False, UNTOLD))


def test_lines_are_those_of_the_plain_engine_behind_file_and_record(model: Predictor, file: str):
    answers = TableAnswers(model, 3, 0.0, as_lines=True)
    found = [json.loads(line) for table in tables(file) for line in answers(table)["answer"].to_pylist()]
    assert [fields.pop("record") for fields in found] == list(range(1, 1801))
    assert {fields.pop("file") for fields in found} == {file}
    assert [json.dumps(fields, ensure_ascii=False) for fields in found] == plain(model, file)


def test_rows_hold_what_the_lines_say(model: Predictor, file: str):
    rows = [row for table in tables(file) for row in TableAnswers(model, 3, 0.0, as_lines=False)(table).to_pylist()]
    for row, line in zip(rows, map(json.loads, plain(model, file)), strict=True):
        assert (None if row["id"] is None else json.loads(row["id"])) == line.get("id")
        assert row["labels"] == line.get("labels", [])
        assert row["error"] == line.get("error", {}).get("message")


def test_no_two_records_of_several_files_have_one_key(file: str):
    keys = [key for number in (0, 1, 4_000_000) for table in tables(file, number) for key in table[KEY].to_pylist()]
    assert len(set(keys)) == len(keys) == 3 * 1800


def test_keys_are_the_same_when_a_file_is_read_again(file: str):
    assert [table[KEY] for table in tables(file, 3)] == [table[KEY] for table in tables(file, 3)]


def test_answers_do_not_depend_on_how_records_are_cut_into_blocks(model: Predictor, file: str):
    answers = TableAnswers(model, 3, 0.0, as_lines=True)
    whole = pa.concat_tables(tables(file))
    apart = pa.concat_tables([answers(whole.slice(at, 7)) for at in range(0, len(whole), 7)])
    assert apart["answer"].to_pylist() == answers(whole)["answer"].to_pylist()
