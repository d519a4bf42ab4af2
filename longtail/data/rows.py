"""Rows with named fields: JSON lines, CSV, TSV and Parquet, all as blocks of dictionaries."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from longtail.data.lines import LONGEST_LINE, Block, compression, lines
from longtail.errors import CorpusError, MissingExtraError
from longtail.progress import counting

Fields = dict[str, Any]
Record = tuple[int, list[str] | CorpusError]  # the cells of a CSV record, or why there are none; its first line

FIELDS = ("id", "uid", "text", "title", "content", "labels", "label", "name", "examples")  # the only fields read
LABEL_SEPARATOR = "|"  # between the labels in one cell of a CSV or TSV file
ROWS_A_BLOCK = 1024  # of CSV and Parquet; small, because a row may be a whole book


def rows(path: Path, lenient: bool = False) -> Iterator[Block[Fields]]:
    """The rows of a file, read as the end of its name says.

    With `lenient`, records of CSV and TSV files that cannot be read are `bad` rows of their block instead of errors.
    """
    if lenient and suffix(path) in DELIMITERS:
        return _separated_rows(path, DELIMITERS[suffix(path)], lenient)
    return ROWS[suffix(path)](path)


def suffix(path: Path) -> str:
    """`.csv` for `train.csv.xz`."""
    return path.with_suffix("").suffix if compression(path) else path.suffix


def strings(block: Block[Fields], name: str) -> list[str]:
    """One field of every row; whole numbers become strings, missing fields empty strings."""
    values = [row.get(name, "") for row in block.rows]
    if set(map(type, values)) <= {str}:
        return values
    return [_string(block, at, name, value) for at, value in enumerate(values)]


def _string(block: Block[Fields], at: int, name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str) or type(value) is int:
        return str(value)
    raise block.wrong(at, f"{name} must be a string, not {value!r:.60}")


def require(block: Block[Fields], names: frozenset[str]) -> None:
    """Every row must have at least one of these fields."""
    for at, row in enumerate(block.rows):
        if names.isdisjoint(row):
            there = ", ".join(sorted(row)) or "none"
            raise block.wrong(at, f"needs a field called {' or '.join(sorted(names))}; its fields are: {there}")


# -- JSON lines -----------------------------------------------------------------------------------------------------


def json_rows(path: Path) -> Iterator[Block[Fields]]:
    """One JSON object per line; blank lines are skipped."""
    for block in lines(path):
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


# -- CSV and TSV ----------------------------------------------------------------------------------------------------


def csv_rows(path: Path) -> Iterator[Block[Fields]]:
    """Comma-separated cells under a header; `labels` holds names with `|` between them."""
    return _separated_rows(path, DELIMITERS[".csv"])


def tsv_rows(path: Path) -> Iterator[Block[Fields]]:
    """The same with tabs."""
    return _separated_rows(path, DELIMITERS[".tsv"])


DELIMITERS = {".csv": ",", ".tsv": "\t"}


def _separated_rows(path: Path, delimiter: str, lenient: bool = False) -> Iterator[Block[Fields]]:
    records = _records(path, delimiter)
    header = _header(path, *next(records, (1, [])))
    for batch in _batched(records):
        block = Block(path, [number for number, _ in batch], [cells for _, cells in batch])
        if lenient:
            yield _named_or_bad(block, header)
        else:
            yield from block.converted(lambda block, at: _named(block, at, header))


def _batched(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Records, a few at a time; where the file cannot be read further, first those before."""
    batch: list[Record] = []
    try:
        for record in records:
            batch.append(record)
            if len(batch) == ROWS_A_BLOCK:
                yield batch
                batch = []
    except CorpusError:
        yield batch
        raise
    yield batch


def _header(path: Path, number: int, cells: list[str] | CorpusError) -> list[str]:
    if isinstance(cells, CorpusError):
        raise cells
    header = [name.strip() for name in cells]
    if len(set(header)) < len(header):
        raise CorpusError(f"{path}:{number}: two columns have the same name: {', '.join(header)}")
    return header


def _named_or_bad(block: Block[list[str] | CorpusError], header: list[str]) -> Block[Fields]:
    bad: dict[int, CorpusError] = {}

    def instead(number: int, error: CorpusError) -> Fields:
        bad[block.numbers.index(number)] = error
        return dict.fromkeys(header, "")

    [named] = block.converted(lambda block, at: _named(block, at, header), instead)
    return Block(named.path, named.numbers, named.rows, bad)


def _named(block: Block[list[str] | CorpusError], at: int, header: list[str]) -> Fields:
    cells = block.rows[at]
    if isinstance(cells, CorpusError):
        raise cells
    if len(cells) != len(header):
        raise block.wrong(at, f"{len(cells)} cells under a header of {len(header)}; put quotes around the delimiter")
    row: Fields = dict(zip(header, cells))
    if "labels" in row:
        row["labels"] = [name.strip() for name in row["labels"].split(LABEL_SEPARATOR) if name.strip()]
    return row


def _records(path: Path, delimiter: str) -> Iterator[Record]:
    # Documents may exceed the csv module's default field limit, but an unclosed quote would swallow the whole file, so
    # there is still a limit.  The module has one for the whole process.
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader((f"{line}\n" for block in lines(path) for line in block.rows), delimiter=delimiter, strict=True)
    number, cells = 1, None
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:  # the reader goes on with the next line
            yield number, CorpusError(f'{path}:{number}: {error}; a quote inside a quoted cell is written ""')
            cells = []
        if cells is None:
            return
        if cells:
            yield number, cells
        number = reader.line_num + 1


# -- Parquet --------------------------------------------------------------------------------------------------------


def parquet_rows(path: Path) -> Iterator[Block[Fields]]:
    """Rows in batches; unknown columns are not read."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError("Parquet files", "parquet") from None
    read = 0
    try:
        with parquet.ParquetFile(path) as file:
            known = [name for name in file.schema_arrow.names if name in FIELDS]
            with counting(file.metadata.num_rows, f"reading {path.name}") as done:
                for batch in file.iter_batches(ROWS_A_BLOCK, columns=known):
                    yield Block(path, range(read + 1, read + 1 + batch.num_rows), batch.to_pylist())
                    read += batch.num_rows
                    done(batch.num_rows)
    except (ArrowException, OSError, ValueError) as error:
        raise CorpusError(f"{path}: cannot be read as Parquet after row {read} ({error}); write it anew") from error


ROWS: dict[str, Callable[[Path], Iterator[Block[Fields]]]] = {
    ".jsonl": json_rows,
    ".json": json_rows,
    ".csv": csv_rows,
    ".tsv": tsv_rows,
    ".parquet": parquet_rows,
}
