"""Words of UTF-8 text, found and numbered in one pass over the bytes.

A word is what scikit-learn's vectorisers take for one, `(?u)\\b\\w\\w+\\b`: a longest run of two or more word
characters.  ASCII is lower-cased on the way; other capitals must have been lowered before (see `has_capitals`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

UNKNOWN = -1  # the number of a word that is not in the table

# What a code point is, in an array with a place for all that four bytes can spell, valid or not.
OTHER, WORD, CAPITAL = 0, 1, 2
CODE_POINTS = 1 << 21


class Table(NamedTuple):
    """Words by number, and numbers by hash: open addressing, never more than half full."""

    slots: np.ndarray  # (power of two) uint64: upper half of the hash | number + 1, or 0 where free
    hashes: np.ndarray  # (room,) uint64
    begins: np.ndarray  # (room + 1,) int64: word n is pool[begins[n] : begins[n + 1] - 1]
    pool: np.ndarray  # (bytes,) uint8: the words, each with a line end
    size: np.ndarray  # (1,) int64: how many words there are


def empty_table() -> Table:
    """A table without words."""
    numbers = np.zeros(2, np.int64)
    return Table(np.zeros(2, np.uint64), np.zeros(1, np.uint64), numbers, np.zeros(1, np.uint8), np.zeros(1, np.int64))


def with_room(table: Table, n_bytes: int) -> Table:
    """A table that `n_bytes` more of text cannot overfill, whatever words they hold."""
    size = int(table.size[0])
    words, pool = size + n_bytes // 3 + 1, int(table.begins[size]) + n_bytes * 4 // 3 + 1
    if words <= len(table.hashes) and pool <= len(table.pool):
        return table
    hashes, begins = _longer(table.hashes, words), _longer(table.begins, words + 1)
    slots = np.zeros(1 << (2 * len(hashes) - 1).bit_length(), np.uint64)
    fill_slots(slots, hashes, size)
    return Table(slots, hashes, begins[: len(hashes) + 1], _longer(table.pool, pool), table.size)


def _longer(array: np.ndarray, least: int) -> np.ndarray:
    """At least twice as long, so that growing costs no more than filling."""
    longer = np.zeros(max(least, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


# The lower case of an ASCII word character, 0 for other ASCII, and every other byte as it is.
_LOWER = np.arange(256).astype(np.uint8)
_LOWER[:128] = [ord(char.lower()) if char.isalnum() or char == "_" else 0 for char in map(chr, range(128))]

_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a, mixed at the end
_MIX, _HALF, _LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(0xFFFFFFFF)
_LINE_END = 10


@njit(nogil=True, cache=True)
def scan(data, starts, stops, kinds, table, learn):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901 - one loop
    """Numbers of the words of each text, and where each text's numbers start: (ids int32, offsets int64).

    With `learn`, unknown words get the next number: the table must have room (`with_room`).
    """
    slots, hashes, begins, pool, size = table
    offsets = np.zeros(len(starts) + 1, np.int64)
    ids = np.empty(((stops - starts + 1) // 3).sum(), np.int32)
    count = 0
    for row in range(len(starts)):
        at, stop = starts[row], stops[row]
        while at < stop:
            begin, characters, code = at, 0, _BASIS
            while at < stop:
                byte = data[at]
                if byte < 128:
                    lower = _LOWER[byte]
                    if lower == 0:
                        break
                    code = (code ^ np.uint64(lower)) * _PRIME
                    at += 1
                else:
                    length, code = _character(data, at, stop, kinds, code)
                    if length == 0:
                        break
                    at += length
                characters += 1
            if characters > 1:
                code = (code * _MIX) ^ (code * _MIX >> _HALF)
                number = _find(data, begin, at, code, slots, begins, pool)
                if number == UNKNOWN and learn:
                    number = _add(data, begin, at, code, slots, hashes, begins, pool, size)
                ids[count] = number
                count += 1
            at += 1
        offsets[row + 1] = count
    return ids[:count], offsets


@njit(nogil=True, cache=True)
def _character(data, at, stop, kinds, code):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """(bytes, hash with them in it) of the word character at `at`; 0 bytes when it is none."""
    point, size = _decode(data, at, stop)
    if kinds[point] == OTHER:
        return 0, code
    for follow in range(at, at + size):
        code = (code ^ np.uint64(data[follow])) * _PRIME
    return size, code


@njit(nogil=True, cache=True)
def _decode(data, at, stop):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """(code point, bytes) at `at`; what starts no character is one byte of code point 0, which is in no word."""
    lead = np.int64(data[at])
    size = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    if size == 1 or at + size > stop:
        return 0, 1
    point = lead & (0x7F >> size)
    for follow in range(at + 1, at + size):
        point = point << 6 | (data[follow] & 0x3F)
    return point, size


@njit(nogil=True, cache=True)
def _find(data, at, end, code, slots, begins, pool):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The number of the word data[at:end], whose hash is `code`."""
    mask = np.uint64(len(slots) - 1)
    place = code & mask
    while slots[place] != 0:
        if slots[place] >> _HALF == code >> _HALF:
            number = np.int64(slots[place] & _LOW) - 1
            if _same(data, at, end, begins, pool, number):
                return number
        place = (place + np.uint64(1)) & mask
    return UNKNOWN


@njit(nogil=True, cache=True)
def _same(data, at, end, begins, pool, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    begin = begins[number]
    if begins[number + 1] - begin - 1 != end - at:
        return False
    for step in range(end - at):  # noqa: SIM110 - a loop compiles to what it says
        if pool[begin + step] != _LOWER[data[at + step]]:
            return False
    return True


@njit(nogil=True, cache=True)
def _add(data, at, end, code, slots, hashes, begins, pool, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write a new word at the end of the pool and put it into a free slot; its number."""
    number = size[0]
    begin = begins[number]
    for step in range(end - at):
        pool[begin + step] = _LOWER[data[at + step]]
    pool[begin + end - at] = _LINE_END
    begins[number + 1] = begin + end - at + 1
    hashes[number] = code
    _put(slots, code, number)
    size[0] = number + 1
    return number


@njit(nogil=True, cache=True)
def _put(slots, code, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    mask = np.uint64(len(slots) - 1)
    place = code & mask
    while slots[place] != 0:
        place = (place + np.uint64(1)) & mask
    slots[place] = code >> _HALF << _HALF | np.uint64(number + 1)


@njit(nogil=True, cache=True)
def fill_slots(slots, hashes, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Put the first `size` words into empty slots."""
    for number in range(size):
        _put(slots, hashes[number], number)


@njit(nogil=True, cache=True)
def has_capitals(data, starts, stops, kinds):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Whether any text has a capital beyond ASCII, which only Python's own `str.lower` lowers by all its rules."""
    for row in range(len(starts)):
        at = starts[row]
        while at < stops[row]:
            if data[at] < 128:
                at += 1
            else:
                point, size = _decode(data, at, stops[row])
                if kinds[point] == CAPITAL:
                    return True
                at += size
    return False
