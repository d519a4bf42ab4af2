"""Batches of queries to written answers: JSON lines, CSV, or the TSV that Annif reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from longtail.corpus import Texts
from longtail.data.queries import Bad, Query
from longtail.errors import ConfigError
from longtail.predict.known_words import foreign
from longtail.predict.predictor import Predictor, Suggestion

Record = Query | Bad
Format = Callable[[int, Record, list[Suggestion]], str]  # the number of a record from 1, the record, its labels


@dataclass
class Answers:
    """What a model answers to batches of records, as bytes; may be asked from several threads."""

    model: Predictor
    k: int | None
    threshold: float | str
    written: Format
    say: Callable[[str], None]
    read: int = 0
    bad: int = 0

    def numbered(self, batches: Iterable[list[Record]]) -> Iterator[tuple[int, list[Record]]]:
        """The batches, each with the number of records before it.

        Bad ones are told as they come, the first of them; so is a first batch in another language than the model's.
        """
        for batch in batches:
            if self.read == 0:
                texts = Texts.of(record.text for record in batch if isinstance(record, Query))
                for line in foreign(self.model, texts):
                    self.say(f"careful: {line}")
            for record in batch:
                if isinstance(record, Bad):
                    self.bad += 1
                    if self.bad <= TOLD:
                        self.say(f"longtail: {record.message}{'; more are not told here' * (self.bad == TOLD)}")
            yield self.read, batch
            self.read += len(batch)

    def __call__(self, numbered: tuple[int, list[Record]]) -> bytes:
        """Format the answers of one batch."""
        before, batch = numbered
        texts = [record.text for record in batch if isinstance(record, Query)]
        suggested = iter(self.model.predict(texts, self.k, self.threshold))
        labels = [next(suggested) if isinstance(record, Query) else [] for record in batch]
        lines = (self.written(number, *pair) for number, pair in enumerate(zip(batch, labels), before + 1))
        return "".join(lines).encode("utf-8", "replace")

    def tell_how_many_were_bad(self) -> None:
        """Say how many records were bad, at the end."""
        if self.bad:
            self.say(f"{self.bad:,} of {self.read:,} records could not be read; their answers say why")


TOLD = 20  # bad records that are named one by one


def as_json(number: int, record: Record, labels: list[Suggestion]) -> str:
    """A line of JSON."""
    return json.dumps(answer_of(record, labels), ensure_ascii=False, allow_nan=False) + "\n"


def answer_of(record: Record, labels: list[Suggestion]) -> dict[str, object]:
    """What a line says of a record; an id comes back as it was given."""
    answer: dict[str, object] = {} if record.id is None else {"id": record.id}
    if isinstance(record, Bad):
        return answer | {"error": {"line": record.line, "message": record.message}}
    return answer | {"labels": [label._asdict() for label in labels]}


def as_csv(number: int, record: Record, labels: list[Suggestion]) -> str:
    """A row for each label, or one without a label."""
    known = [number, "" if record.id is None else record.id]
    rows = [[*known, rank, label.id, label.name, label.score, ""] for rank, label in enumerate(labels, 1)]
    error = record.message if isinstance(record, Bad) else ""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows or [[*known, "", "", "", "", error]])
    return written.getvalue()


def as_annif(number: int, record: Record, labels: list[Suggestion]) -> str:
    """A text and label ids as in Annif's TSV corpora; for a bad record a line without a tab, which Annif skips."""
    if isinstance(record, Bad):
        return f"{in_one_line(record.message)}\n"
    if spaced := next((label.id for label in labels if label.id.split() != [label.id]), None):
        raise ConfigError(f"annif-tsv puts spaces between ids, and the id {spaced!r:.60} has one; write jsonl or csv")
    return f"{in_one_line(record.text)}\t{' '.join(f'<{label.id}>' for label in labels)}\n"


def in_one_line(text: str) -> str:
    """With single spaces in place of tabs, ends of lines and other space."""
    return " ".join(text.split())


FORMATS: dict[str, Format] = {"jsonl": as_json, "csv": as_csv, "annif-tsv": as_annif}
HEADERS = {"csv": b"record,id,rank,label,name,score,error\n"}
