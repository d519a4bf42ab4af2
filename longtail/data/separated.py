"""CSV and TSV as programs export them: any of four delimiters, with or without a header, in several encodings."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from longtail.columns import KNOWN_NAMES, normal
from longtail.data.encoding import Note, encoding_of, unsaid
from longtail.data.lines import LONGEST_LINE, Block, Pieces, lines, transcoded
from longtail.errors import CorpusError

Fields = dict[str, Any]
Record = tuple[int, list[str] | CorpusError]  # the cells of a CSV record, or why there are none; its first line

ROWS_A_BLOCK = 1024  # small, because a row may be a whole book
DELIMITERS = {".csv": ",", ".tsv": "\t"}
OTHERS = (",", ";", "\t", "|")
SAMPLE_LINES = 200
_EXCEL = re.compile(r'"?sep=(.)"?')  # a first line by which Excel is told the delimiter
_DATA = re.compile(r"<?(https?://|urn:)\S.*|[-+]?\d+([.,]\d+)?|.*[|;].*|\[.*\]|\{.*\}")  # what is no name of a column


@dataclass(frozen=True)
class Dialect:
    """Delimiter, quoting and header of a file."""

    encoding: str
    delimiter: str
    header: list[str] | None  # names of the columns where the file has none
    first: int = 1  # the line of the header, or of the first record
    returns: bool = False  # carriage returns alone end lines


def separated_rows(
    path: Path, usual: str, lenient: bool = False, note: Note = unsaid, wanted: Sequence[str] = ()
) -> Iterator[Block[Fields]]:
    """The records under a header; with `lenient`, those that cannot be read are `bad` rows instead of errors.

    `wanted` are names that the user gave: a first line with one of them is a header.
    """
    form = dialect(path, usual, note, wanted)
    records = _records(path, form)
    header = form.header or _header(path, *next(records, (1, [])))
    for batch in _batched(records):
        block = Block(path, [number for number, _ in batch], [cells for _, cells in batch])
        if lenient:
            yield _named_or_bad(block, header)
        else:
            yield from block.converted(lambda block, at: _named(block, at, header))


# -- how the file is written ----------------------------------------------------------------------------------------


def dialect(path: Path, usual: str, note: Note = unsaid, wanted: Sequence[str] = ()) -> Dialect:
    """Encoding, delimiter and header of a file, from its beginning."""
    encoding = encoding_of(path, note)
    if returns := _ends_in_returns(path, encoding):
        note(f"{path.name} has carriage returns alone at the ends of its lines, as programs for old Macs write")
    sample = _first_lines(path, encoding, returns)
    told = _EXCEL.fullmatch(sample[0].strip()) if sample else None
    sample = sample[1:] if told else sample
    delimiter = told[1] if told else _delimiter(sample, usual)
    if delimiter != usual:
        note(f"{path.name} has {delimiter!r} between its columns")
    records = [record for record in _parsed(sample, delimiter) if record]
    header = None if not records or _has_header(records, wanted) else [str(at + 1) for at in range(len(records[0]))]
    if header:
        note(f"{path.name} has no header: its first line looks like a document; the columns are called 1, 2, …")
    return Dialect(encoding, delimiter, header, 2 if told else 1, returns)


def _ends_in_returns(path: Path, encoding: str) -> bool:
    """Whether there are carriage returns and no line feeds at the beginning of a file."""
    first = next(transcoded(iter(Pieces(path)), path, encoding), b"") if path.is_file() else b""
    return b"\r" in first and b"\n" not in first


def _first_lines(path: Path, encoding: str, returns: bool) -> list[str]:
    """The lines to judge by; what cannot be read is told when its turn comes."""
    found: list[str] = []
    try:
        for block in lines(path, encoding, returns):
            found += block.rows[: SAMPLE_LINES - len(found)]
            if len(found) == SAMPLE_LINES:
                break
    except CorpusError:
        pass
    return found


def _delimiter(sample: list[str], usual: str) -> str:
    """The usual one unless another one fits better: the same number of cells, two or more, on every line."""
    if _fit(sample, usual) >= 0.9:
        return usual
    return next((other for other in OTHERS if other != usual and _fit(sample, other) >= 0.95), usual)


def _fit(sample: list[str], delimiter: str) -> float:
    """The share of records with as many cells as the first; 0 if that is one cell."""
    records = [record for record in _parsed(sample, delimiter) if record]
    if len(sample) == SAMPLE_LINES and len(records) > 1:
        records.pop()  # may go on beyond the sample
    if not records or len(records[0]) < 2:
        return 0.0
    return sum(len(record) == len(records[0]) for record in records) / len(records)


def _parsed(sample: list[str], delimiter: str) -> list[list[str]]:
    found = []
    csv.field_size_limit(LONGEST_LINE)
    try:
        for record in csv.reader((f"{line}\n" for line in sample), delimiter=delimiter):
            found.append(record)
    except csv.Error:  # told when the file is read
        pass
    return found


def _has_header(records: list[list[str]], wanted: Sequence[str]) -> bool:
    """Whether the first record names columns; one with long texts, URIs or values that come again does not."""
    first = records[0] if records else []
    if any(name.isdigit() for name in wanted):  # columns called by their numbers
        return bool(set(wanted) & set(first))
    if len(first) < 2:
        return True
    if any(normal(cell) in KNOWN_NAMES or re.fullmatch("label_[a-z]+", normal(cell)) for cell in first):
        return True
    if {normal(name) for name in wanted} & set(map(normal, first)):
        return True
    if any(map(_is_sentence, first)) or any(map(_DATA.fullmatch, first)):
        return False
    return not any(_comes_again(records, at) for at in range(len(first)))


def _is_sentence(cell: str) -> bool:
    """Whether a cell is too long for the name of a column; those of surveys are questions."""
    return len(cell) >= 30 and len(cell.split()) >= 5 and not cell.rstrip().endswith("?")


def _comes_again(records: list[list[str]], at: int) -> bool:
    first = records[0][at].strip()
    return bool(first) and any(len(record) > at and record[at].strip() == first for record in records[1:])


# -- its records ----------------------------------------------------------------------------------------------------


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
    return unique_names(f"{path}:{number}", [name.strip() for name in cells])


def unique_names(place: str, names: list[str]) -> list[str]:
    """Names of columns; blank ones are numbered, and the same name twice is an error."""
    filled = [name for name in names if name]
    if len(set(filled)) < len(filled):
        raise CorpusError(f"{place}: two columns have the same name: {', '.join(names)}")
    return [name or f"column {at}" for at, name in enumerate(names, 1)]


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
    return dict(zip(header, cells))


def _records(path: Path, form: Dialect) -> Iterator[Record]:
    # Documents may exceed the csv module's default field limit, but an unclosed quote would swallow the whole file, so
    # there is still a limit.  The module has one for the whole process.
    csv.field_size_limit(LONGEST_LINE)
    every = (f"{line}\n" for block in lines(path, form.encoding, form.returns) for line in block.rows)
    reader = csv.reader(islice(every, form.first - 1, None), delimiter=form.delimiter, strict=True)
    number, cells = form.first, None
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
        number = reader.line_num + form.first
