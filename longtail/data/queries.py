"""Texts to predict, streamed from a file, a pipe or a terminal."""

from __future__ import annotations

import io
import json
import math
import select
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from longtail.data.formats.lf_json import joined
from longtail.data.formats.tables import TEXT, texts
from longtail.data.lines import BLOCK_BYTES, Block, Pieces, lines_of
from longtail.data.rows import Fields, json_object, require, rows, suffix
from longtail.errors import CorpusError
from longtail.progress import counting

BATCH = 1024  # texts per batch at most
STANDARD_INPUT = "-"
TABLES = (".csv", ".tsv", ".parquet")
JSON_LINES = (".jsonl", ".json")

Id = str | int | float


class Query(NamedTuple):
    """A text, and the optional id its result is returned under."""

    text: str
    id: Id | None = None


def read_queries(source: str) -> Iterator[list[Query]]:
    """Batches of queries from a file, or from standard input ("-"), each as soon as it has arrived.

    The file name extension selects the format: CSV, TSV and Parquet have a column `text`, or `title` and `content`,
    and may have `id`; JSON lines have the same fields.  Anything else is one text per line, or JSON lines if the first
    non-blank line holds an object.  Every line or row is one query, including blank ones.
    """
    if suffix(Path(source)) in TABLES:
        yield from _batches(_table(Path(source)))
    elif source == STANDARD_INPUT:
        yield from _batches(_queries(lines_of(_standard_input(), "standard input"), is_json=None))
    else:
        yield from _of_file(Path(source))


def _batches(blocks: Iterable[Block[Query]]) -> Iterator[list[Query]]:
    for block in blocks:
        for start in range(0, len(block.rows), BATCH):
            yield block.rows[start : start + BATCH]


# -- tables ---------------------------------------------------------------------------------------------------------


def _table(path: Path) -> Iterator[Block[Query]]:
    for block in rows(path):
        require(block, TEXT)
        found = Block(path, block.numbers, list(zip(texts(block), block.rows)))
        yield from found.converted(lambda block, at: Query(block.rows[at][0], _id(block, at, block.rows[at][1])))


# -- lines ----------------------------------------------------------------------------------------------------------


def _of_file(path: Path) -> Iterator[list[Query]]:
    """The queries of a file of lines; progress is counted in bytes."""
    file = Pieces(path)
    blocks = _queries(lines_of(file, path), is_json=True if suffix(path) in JSON_LINES else None)
    with counting(file.size, f"answering {path.name}") as done:
        for block in blocks:
            each = file.just_read() / max(len(block.rows), 1)
            for batch in _batches([block]):
                yield batch
                done(each * len(batch))


def _standard_input() -> Iterator[bytes]:
    """Bytes from standard input, as soon as any arrive.

    Reading the raw descriptor returns what a pipe holds and blocks only while it is empty.  No thread or buffer is
    involved, so that Ctrl-C and errors can end the program while it waits.
    """
    if sys.stdin is None:
        raise CorpusError("standard input is closed; give a file with one text a line")
    with io.FileIO(0, closefd=False) as file:
        try:
            # The parent process may have made the descriptor non-blocking: then wait in `select`.
            while select.select([file], [], []) and (piece := file.read(BLOCK_BYTES)):
                yield piece
        except OSError as error:
            raise CorpusError(f"standard input: cannot be read ({error.strerror or error})") from error


def _queries(blocks: Iterable[Block[str]], is_json: bool | None) -> Iterator[Block[Query]]:
    for block in blocks:
        if is_json is None:
            is_json = next((_is_object(line) for line in block.rows if line.strip()), None)
        yield from block.converted(_from_json if is_json else _from_text)


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


def _from_json(block: Block[str], at: int) -> Query:
    if not block.rows[at].strip():
        return Query("")
    fields = json_object(block, at)
    return Query(_text(block, at, fields), _id(block, at, fields))


# -- fields ---------------------------------------------------------------------------------------------------------


def _text(block: Block[Any], at: int, fields: Fields) -> str:
    given = {name: value for name in TEXT if (value := fields.get(name)) is not None}
    if not given or not all(isinstance(value, str) for value in given.values()):
        raise block.wrong(at, "needs a string `text`, or strings `title` and `content`")
    return given.get("text") or joined(given.get("title", ""), given.get("content", ""))


def _id(block: Block[Any], at: int, fields: Fields) -> Id | None:
    """The id, unconverted, so that it is returned as given."""
    value = fields.get("uid") if fields.get("id") is None else fields["id"]
    if value is None or isinstance(value, str) or type(value) is int:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise block.wrong(at, f"an id is a string or a number, not {value!r:.60}")
