"""Labels to add to a trained model, from a file or from Python: each with its name, and texts that describe it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from longtail.corpus import Label
from longtail.data.encoding import Note, unsaid
from longtail.data.lines import Block
from longtail.data.rows import LABEL_SEPARATOR, ROWS, Fields, suffix
from longtail.data.vocabulary import labels
from longtail.errors import CorpusError
from longtail.new_label import NewLabel

FIELDS = ("id", "name", "text", "examples")


def new_labels(given: Iterable[NewLabel | Mapping[str, Any]]) -> list[NewLabel]:
    """Labels from Python: NewLabel, or dictionaries with the same fields."""
    if isinstance(given, (str, bytes, Mapping, NewLabel)) or not isinstance(given, Iterable):
        raise CorpusError(f"labels to add are a list, as in [{{'id': 'fox', 'name': 'red fox'}}], not {given!r:.60}")
    return [_new_label(f"label {at}", label) for at, label in enumerate(given)]


def read_new_labels(path: Path, note: Note = unsaid) -> list[NewLabel]:
    """The labels of a file of JSON lines, CSV, TSV or Parquet, with the fields id, name, text and examples.

    In JSON lines and Parquet `examples` is a list of texts, in CSV and TSV texts with | between them.  `note` hears how
    the file is written, where that had to be found out.
    """
    if suffix(path) not in ROWS:
        raise CorpusError(f"{path}: labels are read from {', '.join(ROWS)} files; name it after what is in it")
    seen: set[str] = set()
    return [label for block, found in labels(path, note) for label in _of_block(block, found, seen)]


def _of_block(block: Block[Fields], found: list[Label], seen: set[str]) -> Iterator[NewLabel]:
    for at, (row, label) in enumerate(zip(block.rows, found)):
        try:
            new = _new_label("it", label._asdict() | {"examples": _listed(block, row.get("examples"))})
        except CorpusError as error:
            raise block.wrong(at, str(error)) from None
        if new.id in seen:
            raise block.wrong(at, f"label id {new.id!r:.60} is already that of a line before")
        seen.add(new.id)
        yield new


def _listed(block: Block[Fields], examples: object) -> object:
    """Examples as a list: those in a cell of a CSV or TSV file have | between them."""
    if examples is None:
        return ()
    if isinstance(examples, str):
        cell = suffix(Path(block.path)) in (".csv", ".tsv")
        return examples.split(LABEL_SEPARATOR) if cell else [examples]
    return examples


def _new_label(called: str, given: object) -> NewLabel:
    """A label whose fields are what they must be."""
    if isinstance(given, NewLabel):
        given = {name: getattr(given, name) for name in FIELDS}
    if not isinstance(given, (dict, Mapping)):  # a Mapping is asked for its methods, which takes much longer
        raise CorpusError(f"{called} is {given!r:.60}; a label has the fields id and name, and may have text, examples")
    if unknown := [name for name in given if name not in FIELDS]:
        raise CorpusError(f"{called} has a field {unknown[0]!r:.40}; the fields of a label are {', '.join(FIELDS)}")
    id, name, text = given.get("id", ""), given.get("name", ""), given.get("text", "")
    for field, value in (("id", id), ("name", name), ("text", text)):
        _check_string(called, field, value)
    if not id.strip() or not name.strip():
        raise CorpusError(f"{called} needs an id and a name, and has id {id!r:.40} and name {name!r:.40}")
    return NewLabel(id, name, text, _examples(called, given.get("examples", ())))


def _examples(called: str, given: object) -> tuple[str, ...]:
    is_list = isinstance(given, (list, tuple))  # others are asked for their methods, which takes much longer
    if not is_list and (isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable)):
        raise CorpusError(f"{called} has examples {given!r:.40}; write them as a list of texts")
    examples: tuple[str, ...] = tuple(given)  # type: ignore[arg-type]  # which was checked
    for example in examples:
        _check_string(called, "an example", example)
    return tuple(example for example in examples if example.strip())


def _check_string(called: str, field: str, value: object) -> None:
    if not isinstance(value, str):
        raise CorpusError(f"{called} has {value!r:.40} for {field}, which must be a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CorpusError(f"{called} holds half of a character in {field}, which no file can hold") from None
