"""Texts to predict, from files and pipes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longtail.data.queries import BATCH, read_queries
from longtail.errors import CorpusError


def texts_in(path: Path, data: bytes) -> list[str]:
    path.write_bytes(data)
    return [text for batch in read_queries(str(path)) for text in batch]


def test_every_line_is_a_text_even_an_empty_one(tmp_path: Path):
    assert texts_in(tmp_path / "q", b"one\n\ntwo\r\nthree") == ["one", "", "two", "three"]


def test_a_first_json_object_makes_the_file_json_lines(tmp_path: Path):
    lines = [
        {"text": "one"},
        {"title": "two", "content": "three"},
        {"title": "four", "content": ""},
        {"content": "five"},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    assert texts_in(tmp_path / "q", data) == ["one", "two\nthree", "four", "five"]


def test_text_that_only_looks_like_json_is_text(tmp_path: Path):
    assert texts_in(tmp_path / "q", b'{not json}\n[1]\n"x"\n') == ["{not json}", "[1]", '"x"']


@pytest.mark.parametrize("line", [b"plain", b"[1]", b'{"text": 3}', b'{"other": "x"}', b'{"title": null}'])
def test_a_bad_json_line_is_named(tmp_path: Path, line: bytes):
    with pytest.raises(CorpusError, match=r"q:2: "):
        texts_in(tmp_path / "q", b'{"text": "x"}\n' + line)


def test_what_came_before_a_bad_line_is_not_lost(tmp_path: Path):
    (tmp_path / "q").write_bytes(b'{"text": "x"}\n{"text": "y"}\nbad\n')
    seen = []
    with pytest.raises(CorpusError, match=r"q:3: "):
        for batch in read_queries(str(tmp_path / "q")):
            seen += batch
    assert seen == ["x", "y"]


def test_bad_utf8_is_named_and_a_byte_order_mark_is_not_text(tmp_path: Path):
    assert texts_in(tmp_path / "q", b"\xef\xbb\xbfone\n") == ["one"]
    with pytest.raises(CorpusError, match="q:2: not UTF-8"):
        texts_in(tmp_path / "q", b"one\n\xff\n")


def test_many_lines_come_in_order_and_in_batches(tmp_path: Path):
    wanted = [str(number) for number in range(3 * BATCH + 7)]
    (tmp_path / "q").write_text("\n".join(wanted))
    batches = list(read_queries(str(tmp_path / "q")))
    assert [text for batch in batches for text in batch] == wanted and max(map(len, batches)) <= BATCH


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"nothing\.txt"):
        list(read_queries(str(tmp_path / "nothing.txt")))
