"""Lists of label indices or names, validated and converted to rows of a sparse 0/1 matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from longtail.corpus import Label
from longtail.data.lines import Block
from longtail.sparse import sp

Vocabulary = dict[str, int]  # label id -> index


class Appearing(dict[str, int]):
    """A vocabulary that assigns the next index to an unknown label, in order of first appearance."""

    def __missing__(self, called: str) -> int:
        self[called] = at = len(self)
        return at


class Growing(Appearing):
    """Labels that a vocabulary describes, and those that documents add; a label may be called by its name too."""

    def __init__(self, source: str):
        super().__init__()
        self.source = source  # name of the file that describes labels
        self.names: dict[str, int] = {}

    def __missing__(self, called: str) -> int:
        if called in self.names:
            return self.names[called]
        return super().__missing__(called)


def from_indices(block: Block[Any], lists: Sequence[Any], n_labels: int) -> sp.csr_array:
    """Rows from lists of label indices."""
    flat, stops = _flat(block, lists)
    # Indices are checked one by one in Python only to report an error.
    if flat and not (set(map(type, flat)) <= {int} and min(flat) >= 0 and max(flat) < n_labels):
        at = next(at for at, index in enumerate(flat) if type(index) is not int or not 0 <= index < n_labels)
        raise block.wrong(
            _row(stops, at),
            f"label index {flat[at]!r:.60} is not a whole number below {n_labels}, the number of labels",
        )
    return _matrix(flat, stops, n_labels)


def from_names(block: Block[Any], lists: Sequence[Any], vocabulary: Vocabulary) -> sp.csr_array:
    """Rows from lists of label names; a whole number is a name too.

    Spaces around a name are none of it, unless a file says which labels there are.
    """
    flat, stops = _flat(block, lists)
    if isinstance(vocabulary, Appearing):
        flat = [name.strip() if isinstance(name, str) else name for name in flat]
    if not set(map(type, flat)) <= {str} or "" in flat:
        flat = [_name(block, _row(stops, at), name) for at, name in enumerate(flat)]
    try:
        indices = list(map(vocabulary.__getitem__, flat))
    except KeyError:
        at = next(at for at, name in enumerate(flat) if name not in vocabulary)
        raise block.wrong(
            _row(stops, at), f"label {flat[at]!r:.60} is not in the file of labels; add it there, or remove that file"
        ) from None
    return _matrix(indices, stops, len(vocabulary))


def distinct(labels: Iterable[tuple[Block[Any], list[Label]]], seen: Vocabulary) -> Iterator[Label]:
    """Yield the labels and add each id with its index to `seen`; duplicates are errors."""
    for block, found in labels:
        for at, label in enumerate(found):
            if not label.id:
                raise block.wrong(at, "a label needs an id or a name")
            if label.id in seen:
                raise block.wrong(at, f"label id {label.id!r:.60} is already that of label {seen[label.id]}")
            seen[label.id] = len(seen)
            yield label


def _name(block: Block[Any], row: int, name: object) -> str:
    if type(name) is int or (isinstance(name, str) and name):
        return str(name)
    raise block.wrong(row, f"a label must be a name, not {name!r:.60}")


def _flat(block: Block[Any], lists: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
    """The items of all lists concatenated, and the stop of each list."""
    if not set(map(type, lists)) <= {list}:
        at = next(at for at, items in enumerate(lists) if type(items) is not list)
        raise block.wrong(at, f"the labels must be a list, not {lists[at]!r:.60}")
    return list(chain.from_iterable(lists)), np.cumsum([0, *map(len, lists)])


def _row(stops: np.ndarray, at: int) -> int:
    return int(np.searchsorted(stops, at, "right")) - 1


def _matrix(indices: list[int], stops: np.ndarray, n_labels: int) -> sp.csr_array:
    ones = np.ones(len(indices), np.float32)
    return sp.csr_array((ones, np.array(indices, np.int32), stops), shape=(len(stops) - 1, n_labels))


def renumbered(matrix: sp.csr_array, columns: np.ndarray, width: int) -> sp.csr_array:
    """The same pairs, with column c now at columns[c] of `width`."""
    # Copies: a loaded corpus is mapped read-only and cannot be sorted in place.
    entries = np.array(matrix.data), columns[matrix.indices], np.array(matrix.indptr)
    moved = sp.csr_array(entries, shape=(matrix.shape[0], width))
    moved.sort_indices()
    return moved
