"""The page's batch tab in a real browser: every kind of file, busy servers, cancelling, what is downloaded."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longtail.data.queries import Query, read_queries
from tests.browser import Visit, chromium, visiting
from tests.page_server import Fake, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def visit(browser: Any, fake: Fake) -> Iterator[Visit]:
    with serving(fake) as address, visiting(browser, address) as opened:
        opened.page.click("#tab-batch")
        yield opened


def choose(visit: Visit, name: str, content: bytes) -> None:
    visit.page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content})


def labelled(visit: Visit, to: Path) -> list[dict[str, Any]]:
    """The answers, as JSON lines."""
    visit.page.click("#batch-start")
    visit.page.wait_for_selector("#batch-done")
    return [json.loads(line) for line in visit.downloaded("#download-jsonl", to).read_text("utf-8").splitlines()]


FILES = {
    "commas.csv": '\ufeffid,text,note\r\n7,"a ""striped"" tiger,\r\nat night",x\r\n\r\n8,http proxy,"y,z"\r\n',
    "tabs.tsv": "text\tid\ntiger\ta\n\tb\n",
    "titles.csv": "title,content,text\nTigers,in Asia,\nOnly a title,,\n,,a recipe\n",
    "objects.jsonl": '{"id": 12345678901234567890, "text": "tiger"}\n\n'
    '{"title": "wild", "content": "cat", "uid": "u"}\n'
    '{"text": "fire \\ud83d\\udd25", "id": 1.0}\r\n',
    "lines.txt": "a striped tiger\n\ntomatoes\u2028and more\r\nlast",
    "objects.txt": '\n{"text": "tiger"}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_every_row_gets_the_answer_that_longtail_predict_would_give(
    visit: Visit, fake: Fake, name: str, tmp_path: Path
):
    content = FILES[name].encode()
    (tmp_path / name).write_bytes(content)
    queries = [query for batch in read_queries(str(tmp_path / name)) for query in batch]
    choose(visit, name, content)
    assert labelled(visit, tmp_path / "answers.jsonl") == [answer(fake, query) for query in queries]


def answer(fake: Fake, query: Query) -> dict[str, Any]:
    labels = [{name: label[name] for name in ("index", "id", "name", "score")} for label in fake.suggest(query.text)]
    return ({} if query.id is None else {"id": query.id}) | {"labels": labels}


def test_an_id_of_twenty_digits_comes_back_as_it_was(visit: Visit, tmp_path: Path):
    choose(visit, "texts.jsonl", FILES["objects.jsonl"].encode())
    labelled(visit, tmp_path / "answers.jsonl")
    lines = (tmp_path / "answers.jsonl").read_text("utf-8").splitlines()
    assert lines[0].startswith('{"id": 12345678901234567890,') and lines[3].startswith('{"id": 1.0,')


def test_a_gzipped_file_is_unpacked(visit: Visit, tmp_path: Path):
    choose(visit, "texts.csv.gz", gzip.compress(b"text\ntiger\n"))
    assert labelled(visit, tmp_path / "answers.jsonl")[0]["labels"][0]["id"] == "tigers"


def test_the_csv_has_the_columns_that_were_there_and_the_labels(visit: Visit, fake: Fake, tmp_path: Path):
    choose(visit, "commas.csv", FILES["commas.csv"].encode())
    visit.page.fill("#batch-k", "2")
    labelled(visit, tmp_path / "answers.jsonl")
    file = visit.downloaded("#download-csv", tmp_path / "answers.csv")
    first, second = csv.DictReader(io.StringIO(_text(file), newline=""))
    assert first["text"] == 'a "striped" tiger,\nat night' and second["note"] == "y,z"
    best = fake.suggest('a "striped" tiger,\nat night', k=2)
    assert first["labels"] == "|".join(label["id"] for label in best)
    assert [float(score) for score in first["scores"].split("|")] == [label["score"] for label in best]


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8-sig")


def test_the_text_column_is_guessed_and_can_be_changed(visit: Visit, fake: Fake, tmp_path: Path):
    choose(
        visit, "sheet.csv", b"no;summary;keyword\n1;a recipe of many words;tiger\n"
    )  # semicolons, as Excel may write
    assert visit.page.input_value("#batch-text") == "summary"
    visit.page.select_option("#batch-text", "keyword")
    assert labelled(visit, tmp_path / "a.jsonl") == [answer(fake, Query("tiger"))]


def test_requests_hold_as_many_texts_as_the_server_takes_and_wait_while_it_is_busy(
    visit: Visit, fake: Fake, tmp_path: Path
):
    visit.expected, fake.busy = "429", 2
    texts = [f"tiger number {number}" for number in range(70)]
    choose(visit, "texts.txt", "\n".join(texts).encode())
    answers = labelled(visit, tmp_path / "answers.jsonl")
    assert answers == [answer(fake, Query(text)) for text in texts]
    assert sorted({len(body["texts"]) for body in fake.asked}) == [6, 32]
    assert len(fake.asked) == 3 + 2


def test_large_texts_go_in_smaller_requests(visit: Visit, fake: Fake, tmp_path: Path):
    texts = ["tiger " * 16_000] * 25  # 2.4 MB, and a request may hold 1 MB
    choose(visit, "texts.txt", "\n".join(texts).encode())
    assert len(labelled(visit, tmp_path / "answers.jsonl")) == 25
    assert max(len(json.dumps(body)) for body in fake.asked) <= 1_000_000


def test_a_text_that_the_server_would_refuse_is_named_before_anything_is_sent(visit: Visit, fake: Fake):
    choose(visit, "texts.txt", b"short\n" + b"x" * 100_001)
    visit.page.click("#batch-start")
    visit.page.get_by_text("The text of row 2 is longer than the server takes.").wait_for()
    assert fake.asked == []


def test_cancelling_keeps_what_was_answered(visit: Visit, fake: Fake, tmp_path: Path):
    fake.delay = 0.3
    choose(visit, "texts.txt", b"tiger\n" * 500)
    visit.page.click("#batch-start")
    visit.page.get_by_text("texts a second").wait_for()
    visit.page.click("#batch-cancel")
    visit.page.wait_for_selector("#batch-done")
    said = visit.page.locator("#batch-done").inner_text()
    lines = visit.downloaded("#download-jsonl", tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    assert said == f"Cancelled. {len(lines)} of 500 rows have labels." and 0 < len(lines) < 500


def test_a_file_can_be_dropped(visit: Visit, fake: Fake, tmp_path: Path):
    visit.page.locator(".drop").evaluate(
        """(place) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["text\\na striped tiger\\n"], "dropped.csv"));
          place.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }"""
    )
    assert labelled(visit, tmp_path / "a.jsonl") == [answer(fake, Query("a striped tiger"))]


BAD = {
    "not UTF-8": ("a.csv", "text\nmünchen".encode("latin-1"), "The file is not UTF-8 text."),
    "a spreadsheet": ("a.xlsx", b"PK\x03\x04", "Save it as CSV (UTF-8), and choose that."),
    "an open quote": ("a.csv", b'text\nfine\n"never ends\n', "The quote that starts in line 3 never ends."),
    "too few cells": ("a.csv", b'id,text\n1,"two\nlines"\n3\n', "Line 4 has 1 cells, and the header 2."),
    "no JSON": ("a.jsonl", b'{"text": "a"}\n{"text": ', "Line 2 is not JSON."),
    "no rows": ("a.csv", b"text\n", "The file has no rows."),
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_cannot_be_read_says_what_is_wrong(visit: Visit, what: str):
    name, content, sentence = BAD[what]
    choose(visit, name, content)
    visit.page.locator("#batch [role=alert]", has_text=sentence).wait_for()


def test_cells_are_parsed_as_python_parses_them(browser: Any):
    cells = st.text(st.sampled_from('ab ,;"\n\té🐅'), max_size=6)
    tables = st.lists(st.lists(cells, min_size=1, max_size=3), min_size=1, max_size=4)

    with serving(Fake()) as address, visiting(browser, address) as visit:

        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(tables, st.sampled_from(",;\t"))
        def same(table: list[list[str]], delimiter: str) -> None:
            written = io.StringIO(newline="")
            csv.writer(written, delimiter=delimiter, lineterminator="\n").writerows(table)
            parse = "([text, delimiter]) => import('/page/tables.js').then(m => m.parseRecords(text, delimiter))"
            found = visit.page.evaluate(parse, [written.getvalue(), delimiter])
            expected = [
                row for row in csv.reader(io.StringIO(written.getvalue(), newline=""), delimiter=delimiter) if row
            ]
            assert [record["cells"] for record in found] == expected

        same()
