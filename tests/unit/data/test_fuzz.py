"""Arbitrary bytes in any file of any layout: a corpus or a sentence, never a traceback."""

from __future__ import annotations

import io
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longtail.corpus import Splits
from longtail.data.load import load
from longtail.errors import LongtailError
from tests.unit.data.layouts import COMPRESS, EVERY, LF_JSON, put

FILES = [(layout, name) for layout, files in EVERY.items() for name in files]
# What the formats are made of, so that chance gets past the first check.
WORDS = st.sampled_from(
    [b"0", b"1", b"2", b"3", b"-1", b"99999999999999999999", b"1.5", b"nan", b"1e400", b":", b",", b" ", b"\n", b"\r\n",
     b"\t", b'"', b"|", b"{", b"}", b"[", b"]", b"null", b"true", b'"labels"', b'"text"', b'"target_ind"', b'"uid"',
     b'"title"', b"__label__", b"id", b"name", b"\xff", b"\xef\xbb\xbf", b"\\ud800", b"\0", "é\u2028".encode()]
)  # fmt: skip
NOISE = st.one_of(st.lists(WORDS, max_size=12).map(b"".join), st.binary(max_size=20))
QUICK = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def mutilated(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with a piece replaced by noise, or noise and what comes after or before."""
    start = draw(st.integers(0, len(content)))
    stop = draw(st.integers(start, min(len(content), start + 40)))
    before, after = draw(st.sampled_from([content[:start], b""])), draw(st.sampled_from([content[stop:], b""]))
    return before + draw(NOISE) + after


def read(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        try:
            splits = load(put(Path(place) / "corpus", files), cache=Path(place) / "cache")
        except LongtailError as error:
            assert str(error)
        else:
            check(splits)


def check(splits: Splits) -> None:
    """Whatever was accepted must be a corpus one can use."""
    for corpus in (splits.train, splits.train.official_valid, splits.test):
        if corpus is not None:
            corpus.labels.check_format(full_check=True)
            assert len(corpus) and corpus.n_labels and set(corpus.labels.data.tolist()) <= {1.0}
            assert len(set(corpus.label_set.ids)) == corpus.n_labels and len(list(corpus.label_set)) == corpus.n_labels
            if corpus.documents.texts is not None:
                "".join(corpus.documents.texts).encode()


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.mark.parametrize(("layout", "name"), FILES)
def test_any_bytes_give_a_corpus_or_a_sentence(layout: str, name: str):
    @QUICK
    @given(mutilated(EVERY[layout][name]))
    def try_one(content: bytes) -> None:
        read(EVERY[layout] | {name: content})

    try_one()


def _spreadsheet() -> bytes:
    book, data = openpyxl.Workbook(), io.BytesIO()
    for row in (["abstract", "tags"], ["red fox", "a;b"], ["blue whale", "b"]):
        book.active.append(row)
    book.save(data)
    return data.getvalue()


def _database() -> bytes:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (body, tags)")
        database.execute("INSERT INTO t VALUES ('red fox', 'a|b')")
        return database.serialize()


EXPORTS: dict[str, dict[str, bytes]] = {  # the first file is the one that is mutilated
    "semicolons": {"train.csv": "Text;Schlagwörter\r\nröter Fuchs;a, b\r\nblauer Wal;b, a\r\n".encode("cp1252")},
    "UTF-16": {"train.csv": "body\ttags\nred fox\ta\nblue whale\tb\n".encode("utf-16")},
    "array": {"train.json": b'[{"text": "x", "labels": "a"},\n {"text": "y", "labels": [{"id": 1, "name": "b"}]}]'},
    "flags": {"train.csv": b"comment_text,a,b\nx,1,0\ny,0,1\n"},
    "no header": {"train.tsv": b"a text of many words\t<http://a> <http://b>\nanother text\t<http://b>\n"},
    "subjects": {"a.tsv": b"<http://a>\tname\nb\n", "a.txt": b"red fox", "b.txt": b"x", "b.key": b"b"},
    "vocabulary": {"vocab.csv": b"uri,notation,label_en\nhttp://a,1,ay\n", "train.csv": b"text,labels\nx,http://a\n"},
    "spreadsheet": {"train.xlsx": _spreadsheet()},
    "database": {"train.sqlite": _database()},
}


@pytest.mark.parametrize("kind", EXPORTS)
@pytest.mark.filterwarnings("ignore")
def test_any_bytes_in_files_that_people_have_give_a_corpus_or_a_sentence(kind: str):
    first = next(iter(EXPORTS[kind]))

    @QUICK
    @given(mutilated(EXPORTS[kind][first]))
    def try_one(content: bytes) -> None:
        read(EXPORTS[kind] | {first: content})

    try_one()


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_any_bytes_in_a_compressed_file_give_a_corpus_or_a_sentence(ending: str):
    @QUICK
    @given(mutilated(COMPRESS[ending](LF_JSON["trn.json"])))
    def try_one(content: bytes) -> None:
        read({name: old for name, old in LF_JSON.items() if name != "trn.json"} | {f"trn.json{ending}": content})

    try_one()
