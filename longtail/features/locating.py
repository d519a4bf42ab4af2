"""Where the tokens of one text stand in it, by compiled code; features/spans.py has the same in plain Python."""

from __future__ import annotations

import numpy as np

from longtail.kernels.bags import Reading
from longtail.kernels.located import locate, locate_and_spread, room_for, spread_out

LONGEST, MOST = 1 << 12, 1 << 11  # bytes of a text, and tokens of its bag, for which there is room
NUMBERS = 1 << 15  # of labels times tokens, or times characters, that are spread in the same call

Words = tuple[np.ndarray, np.ndarray, np.ndarray]  # where words begin and end, and values of theirs, (labels, words)


class Locator:
    """Arrays for one text, reused from call to call by one thread."""

    def __init__(self, reading: Reading):
        self._text, self._sizes = np.zeros(LONGEST, np.uint8), np.zeros(3, np.int64)
        self._columns, self._found = np.zeros(MOST, np.int32), room_for(LONGEST, MOST)
        self._values, self._spread = np.zeros(NUMBERS), np.zeros(NUMBERS)
        given = reading, self._text, self._sizes, self._columns, self._found
        self._locate = locate.ready(*given)
        self._both = locate_and_spread.ready(*given, self._values, self._spread)

    def places(self, text: str, columns: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Fields of `Places`, for the columns of a bag in order; nothing where the text is not read here."""
        if not self._takes(text, columns, 0) or self._locate() != 0:
            return None
        (entries, words), found = self._found.counts.tolist(), self._found
        inside = found.tokens[:entries].copy(), found.words[:entries].copy(), found.shares[:entries].copy()
        return found.starts[:words].copy(), found.stops[:words].copy(), *inside

    def spread(self, text: str, columns: np.ndarray, values: np.ndarray) -> Words | None:
        """Values of tokens, (labels, tokens), as those of words; nothing where the text is not read here."""
        if len(values) * max(len(columns), len(text) + 1) > NUMBERS:
            return self._one_by_one(text, columns, values)
        if not self._takes(text, columns, len(values)):
            return None
        self._values[: values.size] = values.ravel()
        if self._both() != 0:
            return None
        words, found = int(self._found.counts[1]), self._found
        spread = self._spread[: len(values) * words].copy().reshape(len(values), words)
        return found.starts[:words].copy(), found.stops[:words].copy(), spread

    def _takes(self, text: str, columns: np.ndarray, labels: int) -> bool:
        """Take a text and its bag, if there is room for them."""
        if len(text) > LONGEST or len(columns) > MOST or not text.isascii():
            return False
        self._text[: len(text)] = np.frombuffer(text.encode("ascii"), np.uint8)
        self._columns[: len(columns)] = columns
        self._sizes[:] = len(text), len(columns), labels
        return True

    def _one_by_one(self, text: str, columns: np.ndarray, values: np.ndarray) -> Words | None:
        places = self.places(text, columns)
        if places is None:
            return None
        starts, stops, *inside = places
        spread = np.zeros((len(values), len(starts)))
        spread_out(*inside, np.ascontiguousarray(values, np.float64), spread)
        return starts, stops, spread
