"""Texts and labels from Python: lists, or columns of a pandas or polars DataFrame, without importing either."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from longtail import label_cells
from longtail.columns import LONG_NAMES, NO, UNTOLD, YES, Columns, Reading, choose, listed, normal
from longtail.corpus import is_list
from longtail.errors import CorpusError

SAMPLE = 2000  # rows by which columns and separators are decided


class CorpusNotice(UserWarning):
    """What was guessed about the data of a corpus, or left out of it."""


def from_python(
    texts: Any,  # noqa: ANN401 - any argument
    label_lists: object,
    text: str | Sequence[str] | None,
    labels: str | Sequence[str] | None,
    label_separator: str | None,
) -> tuple[Iterable[str], list[list[str]], dict[str, str]]:
    """The texts, the labels of each, sorted, and names of labels that came as objects with an id."""
    reading = Reading.of(text, labels, label_separator=label_separator)
    if is_frame(texts) and label_lists is None:
        texts, label_lists, names = texts_and_labels(texts, reading)
        return texts, checked_lists(label_lists), names
    if label_lists is None:
        raise CorpusError(
            f"{type(texts).__name__} without a list of labels for each text; pass Corpus.of(texts, label_lists), "
            "or a data frame"
        )
    if reading != UNTOLD:
        raise CorpusError(f"text=, labels= and label_separator= are for data frames, not for {texts!r:.40}")
    return texts, checked_lists(label_lists), {}


def is_frame(given: object) -> bool:
    """Whether this is a table with named columns."""
    return hasattr(given, "columns") and hasattr(given, "dtypes") and hasattr(given, "__getitem__")


def texts_and_labels(frame: Any, reading: Reading) -> tuple[list[str], list[list[str]], dict[str, str]]:  # noqa: ANN401
    """The text of each row, its labels, and names of labels that came as objects with an id."""
    names = [str(name) for name in frame.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CorpusError(f"the data frame has two columns with the same name: {listed(twice)}; rename one")
    sample = frame[:SAMPLE]
    some = _rows({name: list(sample[column]) for name, column in zip(names, frame.columns)})
    columns = _chosen(some, reading)
    values = {name: list(frame[column]) for name, column in zip(names, frame.columns) if name in columns.read}
    rows = _rows(values)
    cells, note = label_cells.found(
        [row.get(name) for row in some for name in _label_columns(columns, names)], reading.label_separator
    )
    for line in filter(None, (columns.note, note)):
        warnings.warn(f"the data frame: {as_arguments(line)}", CorpusNotice, stacklevel=4)
    texts = [_text(at, row, columns) for at, row in enumerate(rows)]
    return texts, [_labels(at, row, columns, names, cells) for at, row in enumerate(rows)], cells.names


def _chosen(rows: list[dict[str, Any]], reading: Reading) -> Columns:
    try:
        return choose("the data frame", rows, reading)
    except CorpusError as error:
        raise CorpusError(as_arguments(str(error))) from None


def as_arguments(sentence: str) -> str:
    """Options of the command line as arguments of Python.

    >>> as_arguments("did you mean --text 'my abstract' --labels tags?")
    "did you mean text='my abstract' labels='tags'?"
    >>> as_arguments("--text and --labels name columns; --language chooses from de, en")
    'text= and labels= name columns; language= chooses from de, en'
    """
    return _OPTION.sub(_argument, sentence)


_OPTION = re.compile(
    r"--(text|labels|label-separator|table|vocabulary|language)(?![\w-])"
    r"(?: (?!(?:and|names?|chooses)\b)(?:('[^']*')|([^\s?;:)]+)))?"
)


def _argument(found: re.Match[str]) -> str:
    name, quoted, bare = found[1].replace("-", "_"), found[2], found[3]
    return f"{name}={quoted or (repr(bare) if bare else '')}"


def _rows(values: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(values, row)) for row in zip(*values.values())]


def _label_columns(columns: Columns, names: list[str]) -> tuple[str, ...]:
    return columns.labels or tuple(name for name in ("labels", "label") if name in names)[:1]


def _text(at: int, row: dict[str, Any], columns: Columns) -> str:
    wanted = columns.text or (("text",) if "text" in row else ("title", "content"))
    parts = [row[name] for name in wanted if name in row and not _is_missing(row[name])]
    for part in parts:
        if not isinstance(part, (str, int)):
            raise CorpusError(f"row {at} of the data frame has {part!r:.60} for a text; texts are strings")
    return "\n".join(str(part) for part in parts if part != "")


def _labels(
    at: int, row: dict[str, Any], columns: Columns, names: list[str], cells: label_cells.LabelCells
) -> list[str]:
    if columns.one_hot:
        return [name for name in columns.labels if _flag(at, name, row[name])]
    try:
        return list(chain.from_iterable(cells(_missing_as_none(row[name])) for name in _label_columns(columns, names)))
    except ValueError as error:
        raise CorpusError(f"row {at} of the data frame: {error}") from None


def _flag(at: int, name: str, value: object) -> bool:
    cell = "" if _is_missing(value) else str(value).strip().lower()
    if cell not in YES | NO:
        raise CorpusError(f"row {at} of the data frame has {value!r:.40} in {name}; columns of labels hold 0 and 1")
    return cell in YES


def _is_missing(value: Any) -> bool:  # noqa: ANN401 - None, NaN, or pandas' own, which answers no comparison
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _missing_as_none(value: Any) -> Any:  # noqa: ANN401 - any cell
    return None if _is_missing(value) else value


def checked_lists(lists: object) -> list[list[str]]:
    """The labels of each document, sorted, without duplicates."""
    if not is_list(lists):
        raise CorpusError(f"labels are a list of labels for each text, not {lists!r:.60}")
    return [_label_list(at, names) for at, names in enumerate(lists)]  # type: ignore[arg-type, var-annotated]


def not_texts(given: Any) -> str:  # noqa: ANN401 - any argument
    """What was given instead of a list of strings, and what to write; a table by its type, for it has many lines."""
    wrong = "texts are a list of strings, not"
    if is_frame(given):
        names = [str(name) for name in given.columns]
        best = next((name for name in names if normal(name) in LONG_NAMES), names[0] if names else "text")
        return f'{wrong} a {type(given).__name__}; pass one of its columns, as in list(frame["{best}"])'
    return f"{wrong} {' '.join(repr(given).split()):.60}; put a single text in a list: [text]"


def _label_list(at: int, names: object) -> list[str]:
    if not is_list(names):
        raise CorpusError(f"row {at} of the labels is {names!r:.60}; write it as a list, as in ['fox']")
    given = list(names)  # type: ignore[call-overload]
    for name in given:
        if not isinstance(name, str) or not name.strip():
            raise CorpusError(f"row {at} of the labels holds {name!r:.60}; labels are strings, and not empty")
        if not name.isascii() and _HALF_CHARACTER.search(name):
            raise CorpusError(f"row {at} of the labels holds {name!r:.60}, half of a character; mend it")
    return sorted({name.strip() for name in given})


_HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # lone surrogate, not encodable as UTF-8
