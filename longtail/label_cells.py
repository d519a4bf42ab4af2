"""Label cells as people write them: lists, JSON in a string, `a;b`, URIs, numbers, objects with an id and a name."""

from __future__ import annotations

import ast
import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from typing import Any

SEPARATORS = ("|", ";", ",", "\n", "\t")  # looked for in this order
RARER = ("/", "#", "+")  # looked for to warn
MANY_WORDS = 6.0  # parts of more words are sentences, and commas between them no separators
_URIS = re.compile(r"\s*(?:<[^<>\s]+>|(?:https?://|urn:)\S+)(?:\s+(?:<[^<>\s]+>|(?:https?://|urn:)\S+))*\s*")
_URI = re.compile(r"<([^<>\s]+)>|(\S+)")
_WHOLE = re.compile(r"(-?\d+)\.0")
_ARRAY = re.compile(r"\[\s*('[^']*'|\"[^\"]*\")(\s+('[^']*'|\"[^\"]*\"))*\s*\]")  # as NumPy prints strings


class LabelCells:
    """Makes label ids of the cells of one corpus, all in the same way."""

    def __init__(self, separator: str | None = None, style: str = "", whole: bool = False):
        self.separator, self.style, self.whole = separator or None, style, whole  # style: "list", "uris" or ""
        self.names: dict[str, str] = {}  # of labels that came as objects, by id
        self.nulls = 0  # left out of lists

    def __call__(self, value: Any) -> list[str]:  # noqa: ANN401 - any value in a file
        """The ids in a cell; ValueError says what is wrong with it."""
        if type(value) is list:
            return value if set(map(type, value)) <= {str} and "" not in value else self._items(value)
        if isinstance(value, str):
            return self._of_string(value)
        if value is None or (isinstance(value, float) and value != value):
            return []
        if hasattr(value, "tolist") or (hasattr(value, "to_list") and not isinstance(value, dict)):
            return self(value.tolist() if hasattr(value, "tolist") else value.to_list())
        return self._items(list(value) if isinstance(value, (tuple, set, frozenset)) else [value])

    def _items(self, items: list[Any]) -> list[str]:
        self.nulls += items.count(None)
        return [self._id(item) for item in items if item is not None]

    def _id(self, item: object) -> str:
        if isinstance(item, dict):
            return self._of_object(item)
        if type(item) is int or (isinstance(item, str) and item):
            return str(item)
        if isinstance(item, float) and item.is_integer():
            return str(int(item))
        raise ValueError(f"a label must be a name, not {item!r:.60}")

    def _of_object(self, item: dict[str, Any]) -> str:
        """The id of an object, which may have a name too."""
        given = {key: item[key] for key in ("id", "uri", "name", "label") if item.get(key) not in (None, "")}
        if not given or not all(isinstance(value, str) or type(value) is int for value in given.values()):
            raise ValueError(f"a label must be a name, not {item!r:.60}; an object needs an id or a name")
        id, name = (str(given.get(a, given.get(b, ""))).strip() for a, b in (("id", "uri"), ("name", "label")))
        self.names.setdefault(id or name, name or id)
        return id or name

    def _of_string(self, cell: str) -> list[str]:
        cell = cell.strip()
        if not cell:
            return []
        if self.style == "list" and (found := listed_in(cell)) is not None:
            return self._items(found)
        if self.style == "uris" and _URIS.fullmatch(cell):
            return [a or b for a, b in _URI.findall(cell)]
        parts = parted(cell, self.separator) if self.separator else [cell]
        return [match[1] if (match := _WHOLE.fullmatch(part)) else part for part in parts] if self.whole else parts


def listed_in(cell: str) -> list[Any] | None:
    """The list that a string spells in JSON or in Python; None if it spells none."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    if _ARRAY.fullmatch(cell):
        return [part[1:-1] for part in re.findall(r"'[^']*'|\"[^\"]*\"", cell)]
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return found if isinstance(found, list) else None
    return None


def parted(cell: str, separator: str) -> list[str]:
    """
    >>> parted('a, "b, c"', ","), parted("a; b ;", ";")
    (['a', 'b, c'], ['a', 'b'])
    """
    parts = cell.split(separator)
    if separator in (",", ";") and ('"' in cell or "'" in cell):
        parts = [_bare(part.strip()) for part in _quoted(cell, separator)]
    return [part.strip() for part in parts if part.strip()]


def _quoted(cell: str, separator: str) -> list[str]:
    """The parts of a cell in which parts may have double quotes around them."""
    try:
        return next(csv.reader([cell], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return cell.split(separator)


def _bare(part: str) -> str:
    return part[1:-1].strip() if len(part) > 1 and part[0] == part[-1] == "'" else part


# -- finding out ----------------------------------------------------------------------------------------------------


def found(
    cells: Sequence[Any], told: str | None = None, usual: str | None = None, known: Container[str] = ()
) -> tuple[LabelCells, str]:
    """How to read cells like these, and a note where that was a guess.

    `told` is the separator that the user gave (an empty one: none), `usual` the one documented for such files, and
    `known` the ids of all labels, where a file describes them.
    """
    if told is not None:
        return LabelCells(told), ""
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
    if usual is not None and any(usual in text for text in texts):
        return LabelCells(usual), ""
    lists = [text for text in texts if listed_in(text) is not None]
    if lists and len(lists) >= 0.5 * len(texts):
        return LabelCells(usual, "list"), f"label cells are lists, as in {lists[0]:.60}"
    if texts and all(map(_URIS.fullmatch, texts)):
        several = any(len(text.split()) > 1 for text in texts)
        return LabelCells(None, "uris"), "label cells are URIs with spaces between them" if several else ""
    separator = separator_of(texts, known)
    if separator is not None:
        example = next(text for text in texts if separator in text)
        keep = "--label-separator '' keeps cells whole"
        return LabelCells(separator), f"labels have {separator!r} between them, as in {example!r:.60}; {keep}"
    if texts and all(map(_WHOLE.fullmatch, texts)):
        return LabelCells(usual, whole=True), f"labels are whole numbers written as {texts[0]}: read without the .0"
    return LabelCells(usual), "" if known else suspicion(texts)


def found_single(cells: Sequence[Any]) -> tuple[LabelCells, str]:
    """How to read cells that hold one label each as it stands, and a note where they look otherwise."""
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
    if texts and all(map(_WHOLE.fullmatch, texts)):
        return found(texts)
    return LabelCells(), suspicion(texts)


def suspicion(texts: Sequence[str]) -> str:
    """A warning if cells that are kept whole look like several labels."""
    separator = separator_of(texts) or _rarer_separator(texts) or (" " if _are_spaced(texts) else None)
    if separator is None:
        return ""
    example = next(text for text in texts if separator in text)
    option = f"--label-separator {separator!r}"
    return f"careful: label cells look like {example!r:.60}; if these are several labels, pass {option}"


def _rarer_separator(texts: Sequence[str]) -> str | None:
    """A separator that is not taken unless it is told; the parts of a path, as in "tools/saws", keep their places."""
    distinct = list(dict.fromkeys(texts))
    rows = {by: [parted(text, by) for text in distinct] for by in RARER if _separates(distinct, by, ())}
    return next((by for by in rows if _is_list_of_words(rows[by], _again(rows[by]))), None)


def _again(rows: list[list[str]]) -> set[str]:
    """The parts that come again in other cells."""
    cells_with = Counter(part for row in rows for part in set(row))
    return {part for part, count in cells_with.items() if count > 1}


def _are_spaced(texts: Sequence[str]) -> bool:
    """Whether cells with spaces mostly consist of words that are cells of their own, as in "cs.AI math.CO"."""
    cells = set(texts)
    several = [cell for cell in cells if len(cell.split()) > 1]
    made = [cell for cell in several if all(word in cells for word in cell.split())]
    return len(several) > 1 and len(made) >= 0.5 * len(several)


def separator_of(texts: Sequence[str], known: Container[str] = ()) -> str | None:
    """What separates labels in these cells; None if nothing does."""
    distinct = list(dict.fromkeys(texts))
    if known and sum(text in known for text in distinct) >= 0.9 * len(distinct):
        return None
    return next((separator for separator in SEPARATORS if _separates(distinct, separator, known)), None)


def _separates(distinct: list[str], separator: str, known: Container[str]) -> bool:
    """Whether the parts between separators come again in other cells, as labels do and halves of names do not."""
    rows = [parted(text, separator) for text in distinct]
    several = [row for row in rows if len(row) > 1]
    parts = [part for row in several for part in row]
    if len(several) < 2:
        return bool(known) and bool(parts) and all(part in known for part in parts)
    if known:
        return sum(part in known for part in parts) >= 0.8 * len(parts)
    known_again = _again(rows)
    again = [part for part in parts if part in known_again]
    if separator != ",":
        return len(again) >= 0.5 * len(parts)
    return len(again) >= 0.7 * len(parts) and _is_list_of_words(rows, set(again))


def _is_list_of_words(rows: list[list[str]], again: set[str]) -> bool:
    """Whether commas separate labels: parts are short, and many stand at several places or alone.

    In names such as "Paris, France" they do not.
    """
    places: defaultdict[str, set[int]] = defaultdict(set)
    for row in rows:
        for at, part in enumerate(row):
            if part in again:
                places[part].add(at if len(row) > 1 else -1)
    words = sum(len(part.split()) for part in again) / max(len(again), 1)
    return words <= MANY_WORDS and sum(len(at) > 1 for at in places.values()) >= 0.3 * len(again)
