"""Where the tokens of one text stand in it, by compiled code; features/spans.py has the same in plain Python."""

from __future__ import annotations

import numpy as np

from longtail.kernels.bags import Reading
from longtail.kernels.located import locate, room_for

LONGEST, MOST = 1 << 12, 1 << 11  # bytes of a text, and tokens of its bag, for which there is room


class Locator:
    """Arrays for one text, reused from call to call by one thread."""

    def __init__(self, reading: Reading):
        self._text, self._sizes = np.zeros(LONGEST, np.uint8), np.zeros(2, np.int64)
        self._columns, self._found = np.zeros(MOST, np.int32), room_for(LONGEST, MOST)
        self._call = locate.ready(reading, self._text, self._sizes, self._columns, self._found)

    def places(self, text: str, columns: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Fields of `Places`, for the columns of a bag in order; nothing where the text is not read here."""
        if len(text) > LONGEST or len(columns) > MOST or not text.isascii():
            return None
        self._text[: len(text)] = np.frombuffer(text.encode("ascii"), np.uint8)
        self._columns[: len(columns)] = columns
        self._sizes[:] = len(text), len(columns)
        if self._call() != 0:
            return None
        entries, words = self._found.counts.tolist()
        found = self._found
        return (
            found.starts[:words].copy(),
            found.stops[:words].copy(),
            found.tokens[:entries].copy(),
            found.words[:entries].copy(),
            found.shares[:entries].copy(),
        )
