"""Texts to predict, streamed from a file, a pipe or a terminal."""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from longtail.columns import TEXT, UNTOLD, Columns, Reading, choose, listed, text_by_name
from longtail.data.encoding import Note, unsaid
from longtail.data.formats.lf_json import joined
from longtail.data.formats.tables import texts
from longtail.data.lines import BLOCK_BYTES, Block, Pieces, lines_of
from longtail.data.rows import UNREAD, Access, Fields, json_object, require, rows, suffix
from longtail.errors import CorpusError
from longtail.progress import counting

BATCH = 1024  # texts per batch at most
STANDARD_INPUT = "-"
TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".sqlite", ".sqlite3", ".db")
JSON_LINES = (".jsonl", ".ndjson", ".json")

Id = str | int | float


class Query(NamedTuple):
    """A text, and the optional id its result is returned under."""

    text: str
    id: Id | None = None


class Bad(NamedTuple):
    """A record that cannot be read: the line it begins on (in a Parquet file: its row), what is wrong, and its id."""

    line: int
    message: str
    id: Id | None = None


def read_queries(
    source: str, strict: bool = True, reading: Reading = UNTOLD, note: Note = unsaid
) -> Iterator[list[Query | Bad]]:
    """Batches of queries from a file, or from standard input ("-"), each as soon as it has arrived.

    The end of a file's name says how to read it: tables have a column `text`, or `title` and `content`, and may have
    `id`; JSON lines have the same fields.  `reading` may name other columns for the text, and they are known by other
    names too; `note` hears what was found out.  Anything else is one text a line, or JSON lines if the first line that
    is not blank holds an object.  Every line or row is one query, also a blank one.

    A record that cannot be read raises CorpusError, after the queries before it; unless `strict` it is Bad instead.
    What is wrong with a whole file raises in either case.
    """
    instead = None if strict else _bad
    if suffix(Path(source)) in TABLES or _is_array(Path(source)):
        yield from _batches(_table(Path(source), instead, reading, note))
    elif source == STANDARD_INPUT:
        yield from _of_lines(StandardInput(), "standard input", None, instead, reading.text, note)
    else:
        path, kind = Path(source), True if suffix(Path(source)) in JSON_LINES else None
        yield from _of_lines(_text_of(path), path, kind, instead, reading.text, note)


def _is_array(path: Path) -> bool:
    """Whether a file of JSON holds one array instead of lines."""
    if suffix(path) not in JSON_LINES or not path.is_file():
        return False
    start = next(iter(Pieces(path)), b"").removeprefix(codecs.BOM_UTF8).lstrip()
    return start.startswith(b"[")


def _text_of(path: Path) -> Pieces:
    """The bytes of a file of texts; one that holds something else is refused."""
    if not path.exists():
        raise CorpusError(
            f"{path}: no such file; a text itself goes to standard input: echo TEXT | longtail predict MODEL"
        )
    if suffix(path) in UNREAD:
        raise CorpusError(f"{path}: {suffix(path)} files are not read; {UNREAD[suffix(path)]}")
    start = next(iter(Pieces(path)), b"")[:4096] if path.is_file() else b""
    if start.startswith(_NO_TEXT) or 20 * start.count(0) > len(start):
        raise CorpusError(
            f"{path}: no text in UTF-8; texts are lines of UTF-8, or rows of {', '.join((*JSON_LINES, *TABLES))} files"
        )
    return Pieces(path)


_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# How PDF, Office, SQLite and UTF-16 begin.
_NO_TEXT = (b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"SQLite format 3", *_UTF16)

Instead = Callable[[int, CorpusError], Query | Bad]


def _bad(line: int, error: CorpusError) -> Query | Bad:
    return Bad(line, str(error), getattr(error, "id", None))


def _batches(blocks: Iterable[Block[Query | Bad]]) -> Iterator[list[Query | Bad]]:
    for block in blocks:
        for start in range(0, len(block.rows), BATCH):
            yield block.rows[start : start + BATCH]


# -- tables ---------------------------------------------------------------------------------------------------------


def _table(path: Path, instead: Instead | None, reading: Reading, note: Note) -> Iterator[Block[Query | Bad]]:
    columns = None
    for block in rows(path, Access(reading, note, lenient=instead is not None)):
        if columns is None and block.rows:
            columns = choose(f"{path}:{block.numbers[0]}", block.rows, reading, labelled=False)
            if columns.text and not reading.text:
                note(f"{path.name}: the text is {' + '.join(columns.text)}")
            elif not reading.text:
                _note_unread(path.name, block.rows[0], note)
        columns = columns or Columns()
        require(block, frozenset(columns.text) or TEXT)
        found = Block(path, block.numbers, list(zip(texts(block, columns), block.rows)), block.bad)
        yield from found.converted(
            lambda block, at: Query(block.rows[at][0], _id(block, at, block.rows[at][1])), instead
        )


# -- lines ----------------------------------------------------------------------------------------------------------


def _of_lines(
    source: Pieces | StandardInput,
    path: Path | str,
    is_json: bool | None,
    instead: Instead | None,
    text: tuple[str, ...],
    note: Note,
) -> Iterator[list[Query | Bad]]:
    """The queries of lines; how far they are counts as bytes of their source."""
    name = path.name if isinstance(path, Path) else path
    first = partial(_fields_of, name, note=note)
    blocks = _queries(lines_of(source, path, lenient=instead is not None), is_json, instead, text, first)
    with counting(source.size, f"answering {name}") as done:
        for block in blocks:
            each = source.just_read() / max(len(block.rows), 1)
            for batch in _batches([block]):
                yield batch
                done(each * len(batch), len(batch))


class StandardInput:
    """What has arrived on standard input, as soon as anything has.

    Reading the raw descriptor returns what a pipe holds and blocks only while it is empty.  No thread or buffer is
    involved, so that Ctrl-C and errors can end the program while it waits.
    """

    def __init__(self) -> None:
        if sys.stdin is None:
            raise CorpusError("standard input is closed; give a file with one text a line")
        status = os.fstat(0)
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else 0  # a file may be read through it
        self._read = 0

    def __iter__(self) -> Iterator[bytes]:
        with io.FileIO(0, closefd=False) as file:
            try:
                # Whoever started us may have made the descriptor non-blocking: then only `select` waits.
                while select.select([file], [], []) and (piece := file.read(BLOCK_BYTES)):
                    self._read += len(piece)
                    yield piece
            except OSError as error:
                raise CorpusError(f"standard input: cannot be read ({error.strerror or error})") from error

    def just_read(self) -> int:
        """How many bytes were read since the last time that somebody asked."""
        read, self._read = self._read, 0
        return read


def _queries(
    blocks: Iterable[Block[str]],
    is_json: bool | None,
    instead: Instead | None,
    text: tuple[str, ...],
    fields_of: Callable[[Any], tuple[str, ...]],
) -> Iterator[Block[Query | Bad]]:
    """Texts or JSON objects, one a line; unless fields of the text were told, the first object decides."""
    seen = told = bool(text)
    for block in blocks:
        if is_json is None:
            is_json = next((_is_object(line) for line in block.rows if line.strip()), None)
        if is_json and not seen and (line := next(filter(str.strip, block.rows), "")):
            seen = True
            with suppress(ValueError, RecursionError):  # it is refused where it is converted
                text = fields_of(json.loads(line))
        yield from block.converted(partial(_from_json, text=text, told=told) if is_json else _from_text, instead)


def _fields_of(name: str, fields: Any, note: Note) -> tuple[str, ...]:  # noqa: ANN401 - whatever JSON can hold
    """The fields of the text that are known by other names than the documented ones, which is said."""
    found = text_by_name(list(fields), [fields]) if isinstance(fields, dict) else ()
    if found:
        note(f"{name}: the text is {' + '.join(found)}")
    else:
        _note_unread(name, fields, note)
    return found or ()


def _note_unread(name: str, fields: Any, note: Note) -> None:  # noqa: ANN401 - whatever JSON can hold
    """`text` is read alone, as in a corpus; who has more beside it should know."""
    beside = [other for other in ("title", "content") if isinstance(fields, dict) and fields.get(other)]
    if beside and fields.get("text"):
        both = "title,text" if "title" in beside else "text,content"
        note(f"{name}: the text is text; not read: {', '.join(beside)} (--text {both} would read {beside[0]} too)")


def _is_object(line: str) -> bool:
    """Whether a line is a JSON object; one nested too deeply to parse counts too and is refused later."""
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except RecursionError:
        return True
    except ValueError:
        return False


def _from_text(block: Block[str], at: int) -> Query:
    return Query(block.rows[at])


def _from_json(block: Block[str], at: int, text: tuple[str, ...], told: bool) -> Query:
    if not block.rows[at].strip():
        return Query("")
    fields = json_object(block, at)
    id = _id(block, at, fields)
    try:
        return Query(_text(block, at, fields, text if told or not fields.keys().isdisjoint(text) else ()), id)
    except CorpusError as error:
        raise _WithId(str(error), id) from None


class _WithId(CorpusError):
    """A record that cannot be read, but whose id is known."""

    def __init__(self, message: str, id: Id | None):
        super().__init__(message)
        self.id = id


# -- fields ---------------------------------------------------------------------------------------------------------


def _text(block: Block[Any], at: int, fields: Fields, named: tuple[str, ...] = ()) -> str:
    if named:
        return _named_text(block, at, fields, named)
    given = {name: value for name in TEXT if (value := fields.get(name)) is not None}
    if not given or not all(isinstance(value, str) for value in given.values()):
        raise block.wrong(at, "needs a string `text`, or strings `title` and `content`; --text names others")
    return given.get("text") or joined(given.get("title", ""), given.get("content", ""))


def _named_text(block: Block[Any], at: int, fields: Fields, named: tuple[str, ...]) -> str:
    parts = [fields.get(name) for name in named]
    if all(part is None for part in parts) or not all(part is None or isinstance(part, str) for part in parts):
        there = listed(sorted(fields))
        raise block.wrong(at, f"needs a string {' or '.join(named)}, as --text says; its fields are: {there}")
    return joined(parts[0] or "", "\n".join(part for part in parts[1:] if part))


def _id(block: Block[Any], at: int, fields: Fields) -> Id | None:
    """The id, unconverted, so that it is returned as given."""
    value = fields.get("uid") if fields.get("id") is None else fields["id"]
    if value is None or isinstance(value, str) or type(value) is int:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise block.wrong(at, f"an id is a string or a number, not {value!r:.60}")
