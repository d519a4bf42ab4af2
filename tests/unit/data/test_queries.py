"""Texts to predict, from files and pipes."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from longtail.data import lines
from longtail.data.queries import BATCH, Bad, Query, read_queries
from longtail.errors import CorpusError


def queries_in(path: Path, data: bytes) -> list[Query]:
    path.write_bytes(data)
    return [query for batch in read_queries(str(path)) for query in batch]


def texts_in(path: Path, data: bytes) -> list[str]:
    return [query.text for query in queries_in(path, data)]


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
            seen += [query.text for query in batch]
    assert seen == ["x", "y"]


def test_bad_utf8_is_named_and_a_byte_order_mark_is_not_text(tmp_path: Path):
    assert texts_in(tmp_path / "q", b"\xef\xbb\xbfone\n") == ["one"]
    with pytest.raises(CorpusError, match="q:2: byte 0xff is not UTF-8"):
        texts_in(tmp_path / "q", b"one\n\xff\n")


def test_many_lines_come_in_order_and_in_batches(tmp_path: Path):
    wanted = [str(number) for number in range(3 * BATCH + 7)]
    (tmp_path / "q").write_text("\n".join(wanted))
    batches = list(read_queries(str(tmp_path / "q")))
    assert [query.text for batch in batches for query in batch] == wanted and max(map(len, batches)) == BATCH


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"nothing\.txt: no such file; a text itself goes to standard input"):
        list(read_queries(str(tmp_path / "nothing.txt")))


# -- ids ------------------------------------------------------------------------------------------------------------


def test_a_query_keeps_its_id_as_it_was_written(tmp_path: Path):
    data = b"""{"id": "a", "text": "x"}\n{"uid": 7, "text": "x"}\n{"id": 1.5, "uid": "no", "text": "x"}\n{"text": "x"}
        {"id": null, "text": "x"}\n{"id": "", "text": "x"}\n{"id": 0, "text": "x"}"""
    assert [query.id for query in queries_in(tmp_path / "q", data)] == ["a", 7, 1.5, None, None, "", 0]


@pytest.mark.parametrize("id", [b"[1]", b"{}", b"true", b"NaN", b"1e999"])
def test_an_id_that_json_could_not_give_back_is_refused(id: bytes, tmp_path: Path):
    with pytest.raises(CorpusError, match=r"q:2: an id is a string or a number"):
        queries_in(tmp_path / "q", b'{"text": "x"}\n{"text": "x", "id": ' + id + b"}")


# -- what is read how -----------------------------------------------------------------------------------------------

ROWS = [Query("red fox", "a"), Query("", "b"), Query("été, no\nno", "c")]


def parquet(path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"id": [query.id for query in ROWS], "text": ["red fox", None, "été, no\nno"], "more": [1, 2, 3]}
    parquet.write_table(pa.table(columns), path)


def separated(delimiter: str) -> Callable[[Path], None]:
    cells = [("id", "text"), ("a", "red fox"), ("b", ""), ("c", '"été, no\nno"')]
    return lambda path: path.write_bytes("".join(f"{delimiter.join(row)}\n" for row in cells).encode())


FILES: dict[str, Callable[[Path], None]] = {
    "q.csv": separated(","),
    "q.tsv": separated("\t"),
    "q.parquet": parquet,
    "q.jsonl": lambda path: path.write_text("".join(f"{json.dumps(query._asdict())}\n" for query in ROWS)),
}


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
@pytest.mark.parametrize("name", FILES)
def test_tables_are_read_by_the_end_of_their_name(name: str, ending: str, tmp_path: Path):
    FILES[name](tmp_path / name)
    if name.endswith(".parquet") and ending:
        return  # Parquet compresses by itself
    packed = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[ending]((tmp_path / name).read_bytes())
    assert queries_in(tmp_path / f"{name}{ending}", packed) == ROWS


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_texts_are_texts(ending: str, pack: Callable[[bytes], bytes], tmp_path: Path):
    assert texts_in(tmp_path / f"q.txt{ending}", pack(b"one\n\ntwo")) == ["one", "", "two"]


def test_title_and_content_are_joined_as_in_training(tmp_path: Path):
    assert texts_in(tmp_path / "q.csv", b'title,content,uid\n"a\nb",c,1\nd,,2\n') == ["a b\nc", "d"]
    assert texts_in(tmp_path / "q", b'{"title": "a\\nb", "content": "c"}\n{"title": "d", "content": null}') == [
        "a b\nc", "d",
    ]  # fmt: skip


def test_a_table_without_texts_is_told_its_columns(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"q.csv:2: needs a field called content or text or title; .*: name"):
        texts_in(tmp_path / "q.csv", b"name\nx\n")


def test_a_file_called_json_lines_must_be(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"q.jsonl:1: not JSON"):
        texts_in(tmp_path / "q.jsonl", b'{"text": "x"\n')


def test_a_blank_line_is_an_empty_text_among_json_lines_too(tmp_path: Path):
    data = b'\n{"text": "x", "id": 1}\n  \n{"text": "y"}\n\n'
    assert queries_in(tmp_path / "q", data) == [Query(""), Query("x", 1), Query(""), Query("y"), Query("")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("q.jsonl", b'\n{"text": "x", "title": "y"}\n{"text": "z"}\n'),
        ("q", b'{"text": "x", "title": "y"}\n{"text": "z"}'),
        ("q.csv", b"title,text\ny,x\n,z\n"),
    ],
)
def test_a_title_beside_a_text_is_not_read_and_that_is_said(name: str, data: bytes, tmp_path: Path):
    (tmp_path / name).write_bytes(data)
    said: list[str] = []
    batches = list(read_queries(str(tmp_path / name), note=said.append))
    assert [query.text for batch in batches for query in batch if query.text] == ["x", "z"]
    assert said == [f"{name}: the text is text; not read: title (--text title,text would read title too)"]


@pytest.mark.parametrize(("title", "text"), [("title", "abstract"), ("Title", "Description"), ("headline", "body")])
def test_fields_of_json_are_known_by_the_names_that_columns_are_known_by(title: str, text: str, tmp_path: Path):
    path, said = tmp_path / "q.jsonl", []
    path.write_text("\n".join(map(json.dumps, [{title: "one", text: "two"}, {text: "three"}, {"text": "four"}])))
    read = [query.text for batch in read_queries(str(path), note=said.append) for query in batch]
    assert read == ["one\ntwo", "three", "four"] and said == [f"q.jsonl: the text is {title} + {text}"]


def test_an_array_of_json_is_read_as_a_corpus_reads_it(tmp_path: Path):
    data = json.dumps([{"id": 1, "text": "one"}, {"id": "b", "title": "two", "content": "three"}], indent=1)
    assert queries_in(tmp_path / "q.json", data.encode()) == [Query("one", 1), Query("two\nthree", "b")]


def test_a_database_is_a_table(tmp_path: Path):
    with sqlite3.connect(tmp_path / "q.sqlite") as database:
        database.execute("create table articles (id integer, abstract text)")
        database.execute("insert into articles values (7, 'one')")
    database.close()
    assert [batch for batch in read_queries(str(tmp_path / "q.sqlite"))] == [[Query("one", 7)]]


@pytest.mark.parametrize("data", ["one\ntwo\n".encode("utf-16"), b"%PDF-1.4\nstream", b"PK\x03\x04 a b\n"])
def test_a_file_that_holds_no_text_is_refused_and_not_answered(data: bytes, tmp_path: Path):
    (tmp_path / "q").write_bytes(data)
    with pytest.raises(CorpusError, match="q: no text in UTF-8; texts are lines of UTF-8, or rows of"):
        list(read_queries(str(tmp_path / "q"), strict=False))


def test_a_text_alone_is_nothing_to_speak_of(tmp_path: Path):
    (tmp_path / "q.jsonl").write_text('{"text": "x", "year": 3}\n{"title": "a", "content": "b"}\n')
    said: list[str] = []
    list(read_queries(str(tmp_path / "q.jsonl"), note=said.append))
    assert said == []


# -- what is wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 2])
def test_json_that_is_nested_too_deeply_is_named(at: int, tmp_path: Path):
    deep = b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(CorpusError, match=rf"q:{at}: .*nested too deeply"):
        texts_in(tmp_path / "q", b'{"text": "x"}\n' * (at - 1) + deep)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("q.csv", b"text,id\none,1\ntwo,2\nthree\n"),
        ("q.csv", b'text,id\none,1\ntwo,2\n"three\n'),
        ("q.jsonl", b'{"text": "one"}\n{"text": "two"}\nno\n'),
        ("q.txt", b"one\ntwo\n\xff\nfour\n"),
        ("q.csv", b"text\none\ntwo\n\xff\n"),
    ],
)
def test_what_stands_before_a_bad_row_is_not_lost_in_any_format(name: str, data: bytes, tmp_path: Path):
    (tmp_path / name).write_bytes(data)
    seen = []
    with pytest.raises(CorpusError, match=rf"{name}:\d"):
        for batch in read_queries(str(tmp_path / name)):
            seen += [query.text for query in batch]
    assert seen == ["one", "two"]


def test_a_line_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(lines, "LONGEST_LINE", 3 << 20)
    fits = b"x" * (3 << 20)
    assert [len(text) for text in texts_in(tmp_path / "q", b"short\n" + fits + b"\nshort")] == [5, len(fits), 5]
    with pytest.raises(CorpusError, match=r"q.gz:2: this line is longer than 3 MB"):
        texts_in(tmp_path / "q.gz", gzip.compress(b"short\n" + fits + b"x\nshort"))


def test_a_named_pipe_is_answered_line_by_line(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    answered = threading.Event()

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            file.write(b"one\n")
            assert answered.wait(20)
            file.write(b"two\n")

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    for batch in read_queries(str(pipe)):
        seen += batch
        answered.set()
    writer.join()
    assert seen == [Query("one"), Query("two")]


# -- records that cannot be read, where that is no reason to stop ----------------------------------------------------


def leniently(path: Path, data: bytes) -> list[Query | Bad]:
    path.write_bytes(data)
    return [query for batch in read_queries(str(path), strict=False) for query in batch]


def test_a_bad_record_stands_in_its_place_with_its_line_and_id(tmp_path: Path):
    data = b'{"text": "x"}\nbad\n{"id": "a"}\n\xff\n{"id": [1], "text": "y"}\n\n{"text": "z"}'
    found = leniently(tmp_path / "q.jsonl", data)
    assert [query if isinstance(query, Query) else (query.line, query.id) for query in found] == [
        Query("x"), (2, None), (3, "a"), (4, None), (5, None), Query(""), Query("z"),
    ]  # fmt: skip
    assert all(f"q.jsonl:{query.line}: " in query.message for query in found if isinstance(query, Bad))


def test_many_lines_that_are_not_utf8_are_each_bad(tmp_path: Path):
    found = leniently(tmp_path / "q", b"one\r\n" + b"\xff\n" * 5000 + b"two")
    assert found[0] == Query("one") and found[-1] == Query("two") and len(found) == 5002
    assert [query.line for query in found[1:-1]] == list(range(2, 5002))  # type: ignore[union-attr]


@pytest.mark.parametrize("end", [b"\nthree", b""])
def test_an_endless_line_is_bad_and_forgotten(end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 2 << 20)
    found = leniently(tmp_path / "q", b"one\n" + b"x" * (5 << 20) + end)
    assert [type(query) for query in found] == [Query, Bad, Query][: 3 if end else 2]
    assert found[1].line == 2 and "longer than 2 MB" in found[1].message and found[-1] in (Query("three"), found[1])  # type: ignore[union-attr]


def test_rows_of_a_table_with_other_cells_or_quotes_are_bad(tmp_path: Path):
    found = leniently(tmp_path / "q.csv", b'id,text\n1,a\n2,b,c\n3,"d"e\n4,"f\ng"\n5\n')
    assert [query if isinstance(query, Query) else query.line for query in found] == [
        Query("a", "1"), 3, 4, Query("f\ng", "4"), 7,
    ]  # fmt: skip


@pytest.mark.parametrize("data", [b"id,words\n1,x\n", b"id,id\n1,x\n", b"id,text\n1,\xff\n"])
def test_what_is_wrong_with_a_whole_table_is_an_error(data: bytes, tmp_path: Path):
    with pytest.raises(CorpusError, match=r"q\.csv:"):
        leniently(tmp_path / "q.csv", data)
