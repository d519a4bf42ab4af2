"""The labels of a saved model: `labels.jsonl`, one line a label, mapped when read; packed where there are many."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from longtail import store
from longtail.corpus import Label, LabelSet, Texts
from longtail.errors import ModelError
from longtail.predict.packed_labels import PackedLines, write_packed


class LabelFile(Sequence[Label]):
    """`labels.jsonl`, or its packed form: a line is parsed when its label is asked for, so a million open at once."""

    def __init__(self, directory: Path):
        packed = directory / PACKED
        self.path = packed if packed.is_file() else directory / LINES
        self._lines: Texts | PackedLines
        self._lines = PackedLines(packed, directory / BLOCKS) if packed.is_file() else _lines_of(self.path)
        self._read: dict[int, Label] = {}  # those asked for lately: parsing one takes as long as ranking a text

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204 - Sequence's two overloads
        if type(at) is int and at in self._read:
            return self._read[at]
        return [self[row] for row in range(*at.indices(len(self)))] if isinstance(at, slice) else self._kept(int(at))

    def _kept(self, at: int) -> Label:
        """The label, which is kept for the next time."""
        if len(self._read) >= REMEMBERED:
            self._read = {}
        label = self._read[at] = self._parsed(at)
        return label

    def _parsed(self, at: int) -> Label:
        try:
            line = self._lines[at]
            text = line if isinstance(line, str) else line.decode("utf-8")
            fields, end = DECODER.raw_decode(text)  # json.loads takes three times as long for a short line
            label = Label(**fields)
            if end == len(text) and type(label.id) is type(label.name) is type(label.text) is str:
                return label
        except (ValueError, TypeError, RecursionError):
            pass
        raise ModelError(f"{self.path}:{at + 1}: not a label with id, name and text; copy the model again")

    def all_ids(self) -> list[str]:
        """The ids of all labels, many times faster than a line after the other."""
        lines = self._all_lines()
        ids = _cut_out(lines) or _parsed_together(lines)
        return ids if len(ids) == len(self) else [label.id for label in self]  # which says where a bad line is

    @cached_property
    def id_set(self) -> frozenset[str]:
        """The ids of all labels, to look some up; made when first asked for, as labels are added."""
        return frozenset(self.all_ids())

    def _all_lines(self) -> bytes:
        return self._lines.all() if isinstance(self._lines, PackedLines) else self._lines.data.tobytes()


def _cut_out(data: bytes) -> list[str]:
    """The ids in lines that `write_labels` wrote; none where one has a character that JSON escapes."""
    begin = next((begin for begin in BEGINNINGS if data.startswith(begin)), None)
    if begin is None or data.count(b"\n" + begin) + 1 != data.count(b"\n"):
        return []
    first = len(begin)
    ids = b"\n".join([line[first : line.find(b'"', first)] for line in data.split(b"\n")[:-1]])
    return [] if b"\\" in ids else ids.decode("utf-8", "surrogatepass").split("\n")


def _parsed_together(data: bytes) -> list[str]:
    """The ids in lines of JSON, parsed as one list; none where they are not what they must be."""
    try:
        ids = [row["id"] for row in json.loads(b"[%b]" % data.rstrip(b"\n").replace(b"\n", b","))]
        return ids if set(map(type, ids)) <= {str} else []
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _lines_of(path: Path) -> Texts:
    data = store.mapped_bytes(path)
    stops = np.flatnonzero(data == ord("\n"))
    return Texts(data, np.concatenate([[0], stops[:-1] + 1]) if len(stops) else stops, stops)


DECODER = json.JSONDecoder()
BEGINNINGS = b'{"id": "', b'{"id":"'  # of lines, plain and packed
LINES, PACKED, BLOCKS = "labels.jsonl", "labels.jsonl.gz", "label_blocks.npy"
MANY = 1 << 16  # labels; fewer are plain lines, which everybody can read and change
REMEMBERED = 1 << 16  # labels, a few dozen megabytes


class MoreLabels(Sequence[Label]):
    """Labels behind labels, which are not copied."""

    def __init__(self, first: Sequence[Label], more: Sequence[Label]):
        self.first, self.more = first, more

    def __len__(self) -> int:
        return len(self.first) + len(self.more)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204 - Sequence's two overloads
        if isinstance(at, slice):
            return [self[row] for row in range(*at.indices(len(self)))]
        place = int(at) + len(self) * (at < 0)
        if not 0 <= place < len(self):
            raise IndexError(f"label {at} of {len(self)}")
        return self.first[place] if place < len(self.first) else self.more[place - len(self.first)]


def ids_of(labels: Sequence[Label]) -> dict[str, int]:
    """The index of every label by its id."""
    ids = all_ids(labels)
    return dict(zip(ids, range(len(ids))))


def all_ids(labels: Sequence[Label]) -> list[str]:
    """The ids of all labels, by index."""
    if isinstance(labels, MoreLabels):
        return [*all_ids(labels.first), *all_ids(labels.more)]
    if isinstance(labels, LabelFile):
        return labels.all_ids()
    return list(labels.ids) if isinstance(labels, LabelSet) else [label.id for label in labels]


def known_ids(labels: Sequence[Label], ids: Collection[str]) -> set[str]:
    """Those of the ids that a label has; of a file, all of its ids are read only the first time."""
    if isinstance(labels, MoreLabels):
        return known_ids(labels.first, ids) | known_ids(labels.more, ids)
    return set(ids).intersection(labels.id_set if isinstance(labels, LabelFile) else all_ids(labels))


def write_labels(directory: Path, labels: Sequence[Label], many: int = MANY) -> None:
    """One JSON line a label, packed where there are many."""
    if len(labels) >= many:
        write_packed(directory / PACKED, directory / BLOCKS, map(_short, labels))
        return
    with (directory / LINES).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(label._asdict(), ensure_ascii=False) + "\n" for label in labels)


def _short(label: Label) -> str:
    """The line of a label without spaces and without an empty text, which take time to unpack and to parse.

    >>> _short(Label("1", "red fox"))
    '{"id":"1","name":"red fox"}\\n'
    """
    given = {name: part for name, part in label._asdict().items() if part or name != "text"}
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")) + "\n"


def label_digest(labels: Sequence[Label]) -> str:
    """Two label sets with the same digest have the same ids in the same order."""
    ids = labels.ids if isinstance(labels, LabelSet) else Texts.of(label.id for label in labels)
    packed = ids.packed()
    return hashlib.sha256(packed.data.tobytes() + packed.stops.astype(np.int64).tobytes()).hexdigest()[:16]
