"""Words of UTF-8 text: spelled in lower case by one pass over the bytes, then numbered by a hash table.

A word is what scikit-learn's vectorisers take for one, `(?u)\\b\\w\\w+\\b`: a longest run of two or more word
characters.  It is spelled in blocks of eight bytes, UTF-8 with one to eight zeros at the end, so that hashing and
comparing take a step or two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.kernels.compiled import compiled
from longtail.kernels.standalone import standalone

FREE = -1  # in a table of pairs, a slot without one
UNKNOWN = -1  # the number of a word that is not in the table

# `lowers` gives the lower case of every code point that is a word character, and else one of these.  It has a place
# for all that four bytes can spell, valid or not.
NO_LETTER, SPECIAL = 0, -1
CODE_POINTS = 1 << 21

_ASCII = np.array(
    [ord(char.lower()) if char.isalnum() or char == "_" else NO_LETTER for char in map(chr, range(128))], np.uint8
)

_ZERO, _ONE, _EIGHTH, _WHOLE_BLOCKS = np.uint64(0), np.uint64(1), np.uint64(3), ~np.uint64(7)


@compiled
def spell_words(data, starts, stops, lowers):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901 - hot loop
    """(blocks, where each word begins in them, where each text begins among the words, whether no letter was SPECIAL).

    The lower case of a special letter takes more than a table to find.
    """
    n_bytes = 0
    if len(lowers) < CODE_POINTS or len(starts) != len(stops):
        raise ValueError("every code point has a place, and every text a start and a stop")
    for row in range(len(starts)):
        if starts[row] < 0 or stops[row] < starts[row] or stops[row] > len(data):
            raise ValueError("a text lies outside the data")
        n_bytes += stops[row] - starts[row]
    most = (n_bytes + len(starts)) // 3  # words: two letters and a space each, but for the space after a text
    # Lower case may take three bytes where the capital took two.
    spelled = np.empty(n_bytes * 3 // 2 + 8 * most + 16, np.uint8)
    begins, offsets = np.empty(most + 1, np.int64), np.empty(len(starts) + 1, np.int64)
    begins[0] = offsets[0] = least = 0
    # Places are unsigned: for signed ones every access is compiled with a test for counting from the end.
    count = begin = end = _ZERO
    for row in range(len(starts)):
        at, stop = np.uint64(starts[row]), np.uint64(stops[row])
        while at < stop:
            letters = 0
            while at < stop:
                byte = data[at]
                if byte < 128:
                    if _ASCII[byte] == NO_LETTER:
                        break
                    spelled[end] = _ASCII[byte]
                    end += _ONE
                    at += _ONE
                else:
                    point, size = _decode(data, at, stop)
                    if lowers[point] == NO_LETTER:
                        break
                    least = min(least, lowers[point])
                    end = _encode(lowers[point], spelled, end)
                    at += size
                letters += 1
            if letters > 1:
                for _ in range(8):
                    spelled[end] = 0
                    end += _ONE
                begin = end & _WHOLE_BLOCKS
                count += _ONE
                begins[count] = begin >> _EIGHTH
            end = begin
            at += _ONE
        offsets[row + 1] = count
    return spelled[:end].view(np.uint64), begins[: count + _ONE], offsets, least != SPECIAL


@compiled
def _decode(data, at, stop):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """(code point, bytes) at `at`; what starts no character is one byte of code point 0, which is no letter."""
    lead = np.int64(data[at])
    size = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    if size == 1 or at + np.uint64(size) > stop:
        return 0, _ONE
    point = lead & (0x7F >> size)
    for follow in range(1, size):
        point = point << 6 | (data[at + np.uint64(follow)] & 0x3F)
    return point, np.uint64(size)


@compiled
def _encode(point, spelled, end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write a code point at `end`; the new end."""
    if point < 0x80:
        spelled[end] = point
        return end + _ONE
    size = 2 + (point >= 0x800) + (point >= 0x10000)
    for follow in range(size - 1, 0, -1):
        spelled[end + np.uint64(follow)] = 0x80 | (point & 0x3F)
        point >>= 6
    spelled[end] = (0xF00 >> size & 0xFF) | point
    return end + np.uint64(size)


class Table(NamedTuple):
    """Words by number, and numbers by hash: open addressing, never more than half full."""

    slots: np.ndarray  # (power of two) uint64: upper half of the hash | number + 1, or 0 where free
    begins: np.ndarray  # (room + 1,) int64: word n is blocks[begins[n] : begins[n + 1]]
    blocks: np.ndarray  # (room,) uint64
    size: np.ndarray  # (1,) int64: how many words there are


def empty_table() -> Table:
    """A table without words."""
    return Table(np.zeros(2, np.uint64), np.zeros(2, np.int64), np.zeros(1, np.uint64), np.zeros(1, np.int64))


def with_room(table: Table, words: int, blocks: int) -> Table:
    """A table that takes so many more words of so many blocks together."""
    size = int(table.size[0])
    words, blocks = size + words, int(table.begins[size]) + blocks
    slots, begins = table.slots, table.begins
    if 2 * words > len(slots):
        slots = np.zeros(1 << (2 * words).bit_length(), np.uint64)
        begins = _longer(begins, len(slots) // 2 + 1)
        fill_slots(slots, begins, table.blocks, size)
    return Table(slots, begins, _longer(table.blocks, blocks), table.size)


def _longer(array: np.ndarray, least: int) -> np.ndarray:
    """At least so long, and at least twice as long as before, so that growing costs no more than filling."""
    if least <= len(array):
        return array
    longer = np.zeros(max(least, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


_MIX, _HALF, _LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(0xFFFFFFFF)


@compiled
def number_words(blocks, begins, table, learn):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The number of each word.  With `learn`, new words get the next ones: the table must have room for them."""
    slots, known_begins, known_blocks, size = table
    if len(begins) == 0 or begins[-1] > len(blocks):
        raise ValueError("a word lies outside its blocks")
    if learn and 2 * (size[0] + len(begins) - 1) > len(slots):
        raise ValueError("the table has no room for so many words")
    ids = np.empty(len(begins) - 1, np.int32)
    for at in range(len(ids)):
        begin, end = np.uint64(begins[at]), np.uint64(begins[at + 1])
        code = _hash(blocks, begin, end)
        ids[at] = _find(blocks, begin, end, code, slots, known_begins, known_blocks)
        if ids[at] == UNKNOWN and learn:
            ids[at] = size[0]
            size[0] += 1
            known_begins[size[0]] = _copy(blocks, begin, end, known_blocks, known_begins[ids[at]])
            _put(slots, code, ids[at])
    return ids


@compiled
def _hash(blocks, begin, end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    code = _ZERO
    while begin < end:
        code = (code ^ blocks[begin]) * _MIX
        code ^= code >> _HALF
        begin += _ONE
    return code


@compiled
def _find(blocks, begin, end, code, slots, known_begins, known_blocks):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    place = code & np.uint64(len(slots) - 1)
    while slots[place] != 0:
        if slots[place] >> _HALF == code >> _HALF:
            found = (slots[place] & _LOW) - _ONE
            if _same(blocks, begin, end, known_blocks, np.uint64(known_begins[found])):
                return np.int64(found)
        place = (place + _ONE) & np.uint64(len(slots) - 1)
    return UNKNOWN


@compiled
def _same(blocks, begin, end, known_blocks, known):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    # Only a word's last block ends in a zero: words that agree so far have the same length.
    while begin < end:
        if blocks[begin] != known_blocks[known]:
            return False
        begin += _ONE
        known += _ONE
    return True


@compiled
def _copy(blocks, begin, end, known_blocks, known):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write the blocks at `known`; the place after them."""
    while begin < end:
        known_blocks[known] = blocks[begin]
        begin += _ONE
        known += 1
    return known


@compiled
def _put(slots, code, word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    place = code & np.uint64(len(slots) - 1)
    while slots[place] != 0:
        place = (place + _ONE) & np.uint64(len(slots) - 1)
    slots[place] = code >> _HALF << _HALF | np.uint64(word + 1)


@compiled
def fill_slots(slots, begins, blocks, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Put the first `size` words into empty slots."""
    for word in range(size):
        _put(slots, _hash(blocks, np.uint64(begins[word]), np.uint64(begins[word + 1])), word)


@standalone
def enter_terms(data, starts, stops, order, table, spelled, columns, pairs, pair_columns):
    """Enter the words of terms, and which column each term has: one word's, or a pair's with a space between.

    Term i is data[starts[i] : stops[i]]; they are entered in `order`, so that words that are looked up most lie close
    together.  `spelled` is table.blocks as bytes.  There must be room in all of them.  Returns the number of words, or
    -1 where a term has no word or more than two.
    """
    for column in order:
        at, before, word, count = starts[column], -1, -1, 0
        while at <= stops[column]:
            end = at
            while end < stops[column] and data[end] != _SPACE:
                end += 1
            if end == at or count == 2:
                return -1
            before, word = word, _enter(data, at, end, table, spelled)
            count += 1
            at = end + 1
        if count == 1:
            columns[word] = column
        else:
            pair = np.int64(before) << 32 | np.int64(word)
            slot = find_slot(pairs, pair)
            pairs[slot], pair_columns[slot] = pair, column
    return table.size[0]


_SPACE = 32


@compiled
def _enter(data, at, end, table, spelled):
    """The number of a word, which is a new one if it was not there."""
    slots, begins, blocks, size = table
    place = 8 * begins[size[0]]
    for follow in range(end - at):
        spelled[place + follow] = data[at + follow]
    stop = place + end - at
    for follow in range(8):
        spelled[stop + follow] = 0
    begin, stop = np.uint64(begins[size[0]]), np.uint64((stop + 8) >> 3)
    code = _hash(blocks, begin, stop)
    word = _find(blocks, begin, stop, code, slots, begins, blocks)
    if word == UNKNOWN:
        word = size[0]
        size[0] += 1
        begins[size[0]] = stop
        _put(slots, code, word)
    return word


# -- pairs ------------------------------------------------------------------------------------------------------------


@compiled
def find_slot(pairs, pair):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Where the pair is in a table with free slots, or the free one where it belongs."""
    mask = np.uint64(len(pairs) - 1)
    code = np.uint64(pair) * np.uint64(0x9E3779B97F4A7C15)
    slot = (code ^ (code >> np.uint64(32))) & mask
    while pairs[slot] != pair and pairs[slot] != FREE:
        slot = (slot + np.uint64(1)) & mask
    return slot


@standalone
def enter_pairs(wanted, columns, pairs, pair_columns):
    """Enter pairs, each with its column, into a table with room for them."""
    for at in range(len(wanted)):
        slot = find_slot(pairs, wanted[at])
        pairs[slot], pair_columns[slot] = wanted[at], columns[at]
    return 0
