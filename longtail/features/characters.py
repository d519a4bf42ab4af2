"""Tables that map characters beyond ASCII for compiled code, filled when a text first contains one.

Letters and their lower case are Python's own (`\\w`, `str.lower`), so that words are those of scikit-learn.  What
WordPiece's normaliser makes of a character is asked of the tokenizers package, one character at a time: it works on
characters by themselves, but for one step.  Unicode's decomposition sorts marks that follow each other.  Nearly all of
them are removed as accents; texts with one that is not (ODD) are left to the package as a whole.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from longtail.kernels.bags import ODD, OUTSIDE, UNSEEN, Letters
from longtail.kernels.words import CODE_POINTS

POOL = 1 << 24  # bytes for what all characters become; memory is taken as they are met
LONGEST = 30  # bytes that one character may become; the length has five bits


class Characters:
    """The tables, which all models of a process share."""

    def __init__(self) -> None:
        self.letters = Letters(np.zeros(CODE_POINTS, np.int32), np.zeros(CODE_POINTS, np.int32), _zeros(POOL))
        # What is no character, as half of one at the end of a text, is read as code point 0.
        self.letters.lowers[0], self.letters.places[0] = OUTSIDE, 1
        self._used, self._lock = 0, threading.Lock()

    def enter_letters(self, text: str) -> None:
        """Enter every character of the text into `lowers`."""
        for char in _unseen(text, self.letters.lowers):
            self.letters.lowers[ord(char)] = lower_case(char)

    def enter_normal(self, text: str) -> None:
        """Enter every character of the text into `places`."""
        with self._lock:
            for char in _unseen(text, self.letters.places):
                self.letters.places[ord(char)] = self._place(normal_form(char))

    def _place(self, normal: str | None) -> int:
        """Append to the pool; returns start and length."""
        made = b"" if normal is None else normal.encode()
        if normal is None or len(made) > LONGEST or self._used + len(made) > POOL:
            return ODD
        start, self._used = self._used, self._used + len(made)
        self.letters.pool[start : self._used] = np.frombuffer(made, np.uint8)
        return start << 5 | len(made) + 1


def _unseen(text: str, table: np.ndarray) -> Iterable[str]:
    return (char for char in set(text) if ord(char) > 127 and table[ord(char)] == UNSEEN)


def _zeros(size: int) -> np.ndarray:
    return np.zeros(size, np.uint8)


def lower_case(char: str) -> int:
    """The code point of a letter's lower case, OUTSIDE for what is no letter, ODD where it takes more than a table.

    >>> chr(lower_case("É")), lower_case("…") == OUTSIDE, lower_case("İ") == ODD
    ('é', True, True)
    """
    if not re.match(r"\w", char):
        return OUTSIDE
    lower = char.lower()
    # İ becomes two characters, and what Σ becomes depends on its neighbours.
    simple = len(lower) == 1 and ("a" + char).lower() == "a" + lower
    return ord(lower) if simple else ODD


def normal_form(char: str) -> str | None:
    """What WordPiece reads instead, with spaces where it parts words; None where that depends on the neighbours.

    >>> normal_form("É"), normal_form("…"), normal_form("\\u0301")
    ('e', ' … ', '')
    """
    normalize, decompose, pre_tokenize = _tokenizers()
    if "\ud800" <= char <= "\udfff":
        char = "?"  # half of a pair, see features/tokens.py
    normal = normalize(char)
    # In a sequence of marks the iota below stands last, so what changes places with it is a mark too.
    if normal and decompose(IOTA + char) != IOTA + decompose(char):
        return None
    return "".join(_parted(one, len(pre_tokenize(f"a{one}a"))) for one in normal)


IOTA = "\u0345"


def _parted(char: str, parts: int) -> str:
    """The character with spaces where it separates words: none, instead of it, or around it."""
    return (char, " ", f" {char} ")[parts - 1]


@cache
def _tokenizers() -> tuple[Callable[[str], str], Callable[[str], str], Callable[[str], list[Any]]]:
    from tokenizers import normalizers, pre_tokenizers

    normalizer = normalizers.BertNormalizer(lowercase=True)
    return (
        normalizer.normalize_str,
        normalizers.NFD().normalize_str,
        pre_tokenizers.BertPreTokenizer().pre_tokenize_str,
    )


def characters() -> Characters:
    """The process-wide set of tables; safe when several threads ask first."""
    with _making:
        return _characters()


_making = threading.Lock()


@cache
def _characters() -> Characters:
    return Characters()
