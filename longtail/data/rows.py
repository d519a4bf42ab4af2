"""Rows with named fields: JSON, CSV, TSV, Parquet, Arrow, spreadsheets and databases, all as blocks of dictionaries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from longtail.columns import UNTOLD, Reading, listed
from longtail.data.encoding import Note, encoding_of, unsaid
from longtail.data.lines import Block, compression, lines
from longtail.data.separated import DELIMITERS, separated_rows
from longtail.data.stored import arrow_rows, sqlite_rows, xlsx_rows
from longtail.errors import CorpusError, MissingExtraError
from longtail.progress import counting

Fields = dict[str, Any]

ROWS_A_BLOCK = 1024  # of Parquet; small, because a row may be a whole book
LABEL_SEPARATOR = "|"  # between the labels in one cell of a CSV or TSV file


@dataclass(frozen=True)
class Access:
    """Options for readers of tables."""

    reading: Reading = UNTOLD
    note: Note = unsaid  # hears how a file is written, where that had to be found out
    columns: frozenset[str] | None = None  # those that are needed; None: all
    lenient: bool = False  # records of CSV and TSV files that cannot be read are `bad` rows instead of errors


def rows(path: Path, access: Access = Access()) -> Iterator[Block[Fields]]:  # noqa: B008 - frozen
    """The rows of a file, read as the end of its name says."""
    return arrow_rows(path, access.columns) if path.is_dir() else ROWS[suffix(path)](path, access)


def suffix(path: Path) -> str:
    """`.csv` for `train.CSV.xz`."""
    return (path.with_suffix("").suffix if compression(path) else path.suffix).lower()


def holds_cells(path: Path) -> bool:
    """Whether a list of labels must be written into one cell of the file."""
    return suffix(path) in (*DELIMITERS, ".xlsx", ".sqlite", ".sqlite3", ".db")


def strings(block: Block[Fields], name: str) -> list[str]:
    """One field of every row; whole numbers become strings, missing fields empty strings."""
    values = [row.get(name, "") for row in block.rows]
    if set(map(type, values)) <= {str}:
        return values
    return [_string(block, at, name, value) for at, value in enumerate(values)]


def _string(block: Block[Fields], at: int, name: str, value: object) -> str:
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, str) or type(value) is int:
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    raise block.wrong(at, f"{name} must be a string, not {value!r:.60}")


def require(block: Block[Fields], names: frozenset[str]) -> None:
    """Every row must have at least one of these fields."""
    for at, row in enumerate(block.rows):
        if names.isdisjoint(row):
            there = listed(sorted(row))
            raise block.wrong(at, f"needs a field called {' or '.join(sorted(names))}; its fields are: {there}")


# -- JSON -----------------------------------------------------------------------------------------------------------


def any_json_rows(path: Path, access: Access) -> Iterator[Block[Fields]]:
    """JSON rows of a file in any encoding."""
    return json_rows(path, encoding_of(path, access.note))


def json_rows(path: Path, encoding: str = "utf-8") -> Iterator[Block[Fields]]:
    """One JSON object per line, blank lines are skipped; or one array of objects, on any number of lines."""
    blocks = lines(path, encoding)
    before: list[Block[str]] = []
    for block in blocks:
        before.append(block)
        start = next((line.lstrip()[0] for line in block.rows if line and not line.isspace()), None)
        if start is not None:
            of_array = start == "["
            yield from (_array_rows if of_array else _line_rows)(path, chain(before, blocks))
            return


def _line_rows(path: Path, blocks: Iterator[Block[str]]) -> Iterator[Block[Fields]]:
    for block in blocks:
        filled = [at for at, line in enumerate(block.rows) if line and not line.isspace()]
        said = Block(path, [block.numbers[at] for at in filled], [block.rows[at] for at in filled])
        yield from said.converted(json_object)


def json_object(block: Block[str], at: int) -> Fields:
    """The JSON object on a line."""
    line = block.rows[at]
    try:
        value = json.loads(line)
        if "\\ud" in line or "\\uD" in line:
            value = json.loads(_HALF_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", json.dumps(value, ensure_ascii=False)))
    except json.JSONDecodeError as error:
        raise block.wrong(at, f"not JSON ({error.msg}, column {error.colno}); write one object a line") from None
    except RecursionError:
        raise block.wrong(at, "not JSON that can be read (nested too deeply); write one flat object a line") from None
    except ValueError as error:  # a number with thousands of digits
        raise block.wrong(at, f"not JSON that can be read ({error})") from None
    if not isinstance(value, dict):
        raise block.wrong(at, f"expected a JSON object in braces, not {line:.40}")
    return value


# JSON can escape a lone surrogate (a truncated emoji), which UTF-8 cannot encode.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def _array_rows(path: Path, blocks: Iterator[Block[str]]) -> Iterator[Block[Fields]]:
    """The objects of an array: they may span lines, so each is cut out by its braces and read as if on a line."""
    found = _elements(path, blocks)
    while part := list(islice(found, ROWS_A_BLOCK)):
        yield from Block(path, [number for number, _ in part], [text for _, text in part]).converted(json_object)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},]|[^\s\[\]{},"]+|"')


def _elements(path: Path, blocks: Iterator[Block[str]]) -> Iterator[tuple[int, str]]:
    """The elements of an array as strings, each with its first line."""
    begun: list[str] = []
    depth, number = 0, 1
    for block in blocks:
        for at, line in enumerate(block.rows):
            for token in _TOKEN.findall(line):
                closing = token in "]}"
                depth -= closing
                if depth < 1 if closing else (depth == 1 and token == ","):
                    if begun:
                        yield number, " ".join(begun)
                    begun = []
                elif depth > 0:
                    number = number if begun else block.numbers[at]
                    begun.append(token)
                depth += token in "[{"
    if depth > 0 or begun:
        raise CorpusError(f"{path}: the JSON array has no end; is the file cut short?")


# -- CSV and TSV ----------------------------------------------------------------------------------------------------


def csv_rows(path: Path, access: Access) -> Iterator[Block[Fields]]:
    """Cells under a header; what separates them is found out if it is not what the name of the file says."""
    wanted = (*access.reading.text, *access.reading.labels, *(access.columns or ()))
    return separated_rows(path, DELIMITERS[suffix(path)], access.lenient, access.note, wanted)


# -- Parquet --------------------------------------------------------------------------------------------------------


def parquet_rows(path: Path, access: Access) -> Iterator[Block[Fields]]:
    """Rows in batches; columns that are not needed are not read."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError("Parquet files", "parquet") from None
    read = 0
    try:
        with parquet.ParquetFile(path) as file:
            known = [name for name in file.schema_arrow.names if access.columns is None or name in access.columns]
            with counting(file.metadata.num_rows, f"reading {path.name}") as done:
                for batch in file.iter_batches(ROWS_A_BLOCK, columns=known):
                    yield Block(path, range(read + 1, read + 1 + batch.num_rows), batch.to_pylist())
                    read += batch.num_rows
                    done(batch.num_rows)
    except (ArrowException, OSError, ValueError) as error:
        raise CorpusError(f"{path}: cannot be read as Parquet after row {read} ({error}); write it anew") from error


ROWS: dict[str, Callable[[Path, Access], Iterator[Block[Fields]]]] = {
    ".jsonl": any_json_rows,
    ".ndjson": any_json_rows,
    ".json": any_json_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".parquet": parquet_rows,
    ".xlsx": lambda path, access: xlsx_rows(path, access.reading.table, access.note),
    ".sqlite": lambda path, access: sqlite_rows(path, access.reading.table),
    ".sqlite3": lambda path, access: sqlite_rows(path, access.reading.table),
    ".db": lambda path, access: sqlite_rows(path, access.reading.table),
}

_SAVE, _UNPACK = "open it in its program and save it as .xlsx or .csv", "unpack it and name the file or directory"
UNREAD = {  # files that people have, and what to do with them
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), _SAVE),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar", ".bz2", ".zst"), _UNPACK),
}
