"""Rows of spreadsheets, databases and Hugging Face datasets."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from longtail.columns import listed
from longtail.data.encoding import Note
from longtail.data.lines import Block
from longtail.data.separated import unique_names
from longtail.errors import CorpusError, MissingExtraError

Fields = dict[str, Any]

ROWS_A_BLOCK = 1024


def _blocks(path: Path, numbered: Iterable[tuple[int, Fields]]) -> Iterator[Block[Fields]]:
    remaining = iter(numbered)
    while part := list(islice(remaining, ROWS_A_BLOCK)):
        yield Block(path, [number for number, _ in part], [row for _, row in part])


# -- spreadsheets ---------------------------------------------------------------------------------------------------


def xlsx_rows(path: Path, sheet: str | None, note: Note) -> Iterator[Block[Fields]]:
    """The rows of a sheet under the first row that is not blank; the first sheet unless one is named."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("Excel files", "excel") from None
    try:
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            name = _sheet(path, book.sheetnames, sheet, note)
            yield from _blocks(path, _under_header(path, name, book[name].iter_rows(values_only=True)))
    except CorpusError:
        raise
    except Exception as error:
        raise CorpusError(f"{path}: cannot be read as a spreadsheet ({error}); save it as .xlsx or .csv") from error


def _sheet(path: Path, names: list[str], wanted: str | None, note: Note) -> str:
    if wanted is not None and wanted not in names:
        raise CorpusError(f"{path}: --table {wanted}: its sheets are {listed(names)}")
    if wanted is None and len(names) > 1:
        note(f"{path.name}: the sheet {names[0]} is read; --table chooses from {listed(names)}")
    return wanted or names[0]


def _under_header(path: Path, sheet: str, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[int, Fields]]:
    filled = ((number, row) for number, row in enumerate(rows, 1) if any(cell not in (None, "") for cell in row))
    number, first = next(filled, (1, ()))
    while first and first[-1] in (None, ""):
        first = first[:-1]
    place = f"{path} ({sheet}):{number}"
    header = unique_names(place, ["" if name is None else str(name).strip() for name in first])
    for number, row in filled:
        if any(cell not in (None, "") for cell in row[len(header) :]):
            raise CorpusError(f"{path} ({sheet}):{number}: a cell beyond the {len(header)} columns of the header")
        yield number, {name: _plain(cell) for name, cell in zip(header, row)}


def _plain(cell: Any) -> Any:  # noqa: ANN401 - whatever a spreadsheet holds
    """Dates and times as strings; text, numbers and blanks as they are."""
    return cell if cell is None or isinstance(cell, (str, int, float)) else str(cell)


# -- databases ------------------------------------------------------------------------------------------------------


def sqlite_rows(path: Path, table: str | None) -> Iterator[Block[Fields]]:
    """The rows of a table or view of an SQLite database; its name is needed where there are several."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            quoted = _table(path, database, table).replace('"', '""')
            found = database.execute(f'SELECT * FROM "{quoted}"')
            names = unique_names(str(path), [column[0] for column in found.description])
            yield from _blocks(path, enumerate((dict(zip(names, row)) for row in found), 1))
    except sqlite3.Error as error:
        raise CorpusError(f"{path}: cannot be read as an SQLite database ({error})") from error


def _table(path: Path, database: sqlite3.Connection, wanted: str | None) -> str:
    kinds = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
    names = [name for (name,) in database.execute(kinds)]
    if wanted is not None and wanted not in names:
        raise CorpusError(f"{path}: --table {wanted}: its tables are {listed(names)}")
    if wanted is None and len(names) != 1:
        hint = f"; choose one, as in --table {names[0]}" if names else ""
        raise CorpusError(f"{path}: its tables are {listed(names)}{hint}")
    return wanted or names[0]


# -- Hugging Face datasets ------------------------------------------------------------------------------------------


def arrow_files(directory: Path) -> list[Path]:
    """The files of one split, in order."""
    return sorted(directory.glob("*.arrow"))


def arrow_rows(directory: Path, columns: frozenset[str] | None) -> Iterator[Block[Fields]]:
    """The rows of a split as `save_to_disk` writes it; numbers of classes become their names."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("Hugging Face datasets", "parquet") from None
    classes, read = _classes(directory), 0
    for path in arrow_files(directory):
        try:
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
                wanted = [name for name in stream.schema.names if columns is None or name in columns]
                for batch in stream:
                    for start in range(0, batch.num_rows, ROWS_A_BLOCK):
                        part = batch.select(wanted).slice(start, ROWS_A_BLOCK).to_pylist()
                        yield Block(directory, range(read + 1, read + 1 + len(part)), _with_classes(part, classes))
                        read += len(part)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise CorpusError(f"{path}: cannot be read as Arrow after row {read} ({error}); save it anew") from error


def _classes(directory: Path) -> dict[str, list[str]]:
    """Names of classes by column, from dataset_info.json."""
    try:
        features = json.loads((directory / "dataset_info.json").read_text("utf-8"))["features"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    inner = {name: kind.get("feature", kind) for name, kind in features.items() if isinstance(kind, dict)}
    return {name: kind["names"] for name, kind in inner.items() if isinstance(kind, dict) and kind.get("names")}


def _with_classes(rows: list[Fields], classes: dict[str, list[str]]) -> list[Fields]:
    for name, names in classes.items():
        for row in rows:
            if row.get(name) is not None:
                row[name] = _class_names(row[name], names)
    return rows


def _class_names(value: Any, names: list[str]) -> Any:  # noqa: ANN401 - a number or a list of them
    if isinstance(value, list):
        return [_class_names(one, names) for one in value]
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else None  # -1: none
