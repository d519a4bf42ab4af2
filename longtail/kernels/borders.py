"""Checks that Python makes before it calls a compiled loop, which reads and writes memory without looking.

Checked on every call are shapes, and the ranges of what changes from call to call: documents, batches, shortlists.
That costs one pass over them.  The large arrays of a model are checked once, when it is opened: a query must not read
all of them.
"""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.sparse import Rows


def check(holds: bool, sentence: str) -> None:
    """Raise unless it holds: whoever called the kernel made a mistake."""
    if not holds:
        raise ValueError(sentence)


def check_shape(array: np.ndarray, shape: tuple[int, ...], what: str) -> None:
    """Raise unless the array has this shape."""
    if array.shape != shape:
        raise ValueError(f"{what} are {array.shape}, where the others ask for {shape}")


def check_rows(rows: Rows, n_columns: int, what: str) -> None:
    """Raise unless sparse rows stay inside their arrays and name existing columns."""
    starts, columns, values = rows
    if len(starts) == 0 or len(columns) != len(values) or _largest(starts) > len(columns):
        raise ValueError(f"{what}: rows start where there are no entries, or entries lack a column or a value")
    check_places(columns, n_columns, what)


def check_places(places: np.ndarray, count: int, what: str) -> None:
    """Raise unless all numbers are in range(count)."""
    if places.size and _largest(places) >= count:
        raise ValueError(f"{what}: {places.min()} to {places.max()} are named, and there are {count}")


def check_names(names: np.ndarray, count: int, what: str) -> None:
    """Raise unless all numbers are in range(count) or PAD."""
    # PAD is −1, which as an unsigned number is the largest; one more, and it is 0.
    if (
        names.size
        and int((names.view(f"u{names.itemsize}") - np.array(PAD).astype(f"u{names.itemsize}")).max()) > count
    ):
        raise ValueError(f"{what}: {names.min()} to {names.max()} are named, and there are {count}")


def _largest(numbers: np.ndarray) -> int:
    """The largest, where negative ones count as larger than all others: one pass finds both ways out of a range."""
    return int(numbers.view(f"u{numbers.itemsize}").max())
