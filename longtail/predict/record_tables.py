"""Records to predict and their answers as Arrow tables: what travels between the processes of a batch job.

Every record has a key, its file and its place in it, by which a job that was stopped knows what it has answered.
Records are read by the readers of `longtail predict`, so that a text is the same text in either engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from longtail.columns import Reading
from longtail.data.queries import Bad, Query, read_queries
from longtail.predict.answers import Record, answer_of
from longtail.predict.predictor import Predictor, Suggestion

KEY = "key"
PLACES = 40  # bits of a key for the place of a record in its file
RECORDS = pa.schema(
    [
        (KEY, pa.int64()),
        ("file", pa.string()),
        ("record", pa.int64()),  # from 1
        ("id", pa.string()),  # as JSON: ids are strings or numbers
        ("text", pa.large_string()),
        ("line", pa.int64()),  # of a record that cannot be read
        ("error", pa.string()),
    ]
)
LABELS = pa.list_(
    pa.struct([("index", pa.int32()), ("id", pa.string()), ("name", pa.string()), ("score", pa.float64())])
)
ANSWERS = pa.schema(
    [*(RECORDS.field(name) for name in (KEY, "file", "record", "id")), ("labels", LABELS), RECORDS.field("error")]
)
LINES = pa.schema([RECORDS.field(KEY), ("answer", pa.large_string()), RECORDS.field("error")])


def record_tables(source: str, number: int, strict: bool, reading: Reading) -> Iterator[pa.Table]:
    """The records of one of several files, a table for every batch."""
    read = 0
    for batch in read_queries(source, strict, reading):
        first, read = read + 1, read + len(batch)
        rows = [_row(source, number, record, at) for at, record in enumerate(batch, first)]
        yield pa.Table.from_pylist(rows, RECORDS)


def _row(source: str, number: int, record: Record, at: int) -> dict:
    row = {KEY: number << PLACES | at, "file": source, "record": at}
    row |= {} if record.id is None else {"id": json.dumps(record.id, ensure_ascii=False)}
    if isinstance(record, Bad):
        return row | {"line": record.line, "error": record.message}
    return row | {"text": record.text}


@dataclass(frozen=True)
class TableAnswers:
    """What a model answers to a table of records: rows for Parquet, or the lines of `longtail predict`."""

    model: Predictor
    k: int | None
    threshold: float | str
    as_lines: bool

    def __call__(self, table: pa.Table) -> pa.Table:
        """A row for every record."""
        rows = table.to_pylist()
        records = [_record(row) for row in rows]
        texts = [record.text for record in records if isinstance(record, Query)]
        suggested = iter(self.model.predict(texts, self.k, self.threshold))
        labels = [next(suggested) if isinstance(record, Query) else [] for record in records]
        if self.as_lines:
            lines = [_line(row, *pair) for row, pair in zip(rows, zip(records, labels))]
            return pa.Table.from_pylist(lines, LINES)
        found = [row | {"labels": [label._asdict() for label in some]} for row, some in zip(rows, labels)]
        return pa.Table.from_pylist(found, ANSWERS)


def _record(row: dict) -> Record:
    id = None if row["id"] is None else json.loads(row["id"])
    return Query(row["text"], id) if row["error"] is None else Bad(row["line"], row["error"], id)


def _line(row: dict, record: Record, labels: list[Suggestion]) -> dict:
    """The answer as `longtail predict` writes it, behind the file and the number of its record."""
    answer = {"file": row["file"], "record": row["record"]} | answer_of(record, labels)
    return {KEY: row[KEY], "answer": json.dumps(answer, ensure_ascii=False, allow_nan=False), "error": row["error"]}
