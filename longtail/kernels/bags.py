"""Texts to weighed bags in one pass over their bytes: tokens are counted, weighed by TF-IDF and brought to length 1.

Two sides of a text are read: its words, and the WordPieces of its words (reading.py).  A side counts its columns in
`Room`, which holds no more than a vocabulary, however long the text is; `write_row` empties it again.  Nothing is
allocated here.  Where a text needs Python, because a character is met for the first time or a letter has no simple
lower case, reading stops there with a number that tells why; whoever called helps and goes on (features/bagging.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.kernels.compiled import compiled
from longtail.kernels.words import _ASCII, FREE, _decode, _encode, _find, _hash, find_slot

# What `lowers` and `places` hold of a character beside numbers above 0.
UNSEEN, OUTSIDE, ODD = 0, -1, -2

# Why a row cannot be read; 0 is nothing.
NEW_LETTER, ODD_LETTER, NEW_CHARACTER, ODD_CHARACTER, FULL = 1, 2, 3, 4, 5


class Texts(NamedTuple):
    """UTF-8 texts: text i is data[starts[i] : stops[i]]."""

    data: np.ndarray  # uint8
    starts: np.ndarray  # (texts,) int64
    stops: np.ndarray  # (texts,) int64


class Given(NamedTuple):
    """The pieces of each text by number, where Hugging Face's tokenizer found them; no offsets: not given."""

    ids: np.ndarray  # int32
    offsets: np.ndarray  # (texts + 1,) int64, or none


class Words(NamedTuple):
    """A hash table of words, as in words.Table."""

    slots: np.ndarray  # (power of two,) uint64
    begins: np.ndarray  # (words + 1,) int64
    blocks: np.ndarray  # uint64


class Pieces(NamedTuple):
    """A trie of WordPieces: edges by hash, and the piece that ends at each node."""

    edges: np.ndarray  # (power of two,) uint64: node << 40 | byte << 32 | next node, or 0 where free
    ends: np.ndarray  # (nodes,) int32: a piece's number + 1, or 0
    added: np.ndarray  # uint8: tokens found before all others, each followed by a 0


class Terms(NamedTuple):
    """Which column a token has, or a pair of neighbours, and what it weighs; no columns: this side is not read."""

    columns: np.ndarray  # (tokens,) int32, or UNKNOWN
    pairs: np.ndarray  # (slots,) int64: first << 32 | second, or FREE
    pair_columns: np.ndarray  # (slots,) int32
    idf: np.ndarray  # (columns,) float32
    sublinear: int


class Letters(NamedTuple):
    """Characters beyond ASCII, entered when they are first met."""

    lowers: np.ndarray  # (CODE_POINTS,) int32: lower case of a letter, or UNSEEN, OUTSIDE, ODD
    places: np.ndarray  # (CODE_POINTS,) int32: where in the pool << 5 | bytes + 1; or UNSEEN, ODD
    pool: np.ndarray  # uint8: what a normaliser makes of a character


class Room(NamedTuple):
    """What one side of one text needs while it is read; counts and bits are 0 before and after."""

    counts: np.ndarray  # (columns,) int32
    low: np.ndarray  # (columns / 64,) uint64: a bit for each column
    high: np.ndarray  # (columns / 4096,) uint64: a bit for each number of `low`
    found: np.ndarray  # (columns,) int32: columns met so far
    spelled: np.ndarray  # uint8: the word being read
    blocks: np.ndarray  # uint64: the same memory
    tokens: np.ndarray  # (2, letters) int32: pieces of the word being read, and where they end in it


class Side(NamedTuple):
    """Terms of a side, and the room to count them in."""

    terms: Terms
    room: Room


class Reading(NamedTuple):
    """All that turns a text into a bag."""

    words: Words
    word_side: Side
    pieces: Pieces
    piece_side: Side
    letters: Letters


_ONE, _EIGHTH, _WHOLE_BLOCKS = np.uint64(1), np.uint64(3), ~np.uint64(7)


# -- counting ----------------------------------------------------------------------------------------------------------


@compiled
def count_token(token, before, terms, room, count):
    """Count a token and the pair that it makes with the one before; how many different columns there are now."""
    column = terms.columns[token]
    if column >= 0:
        count = _count(column, room, count)
    if len(terms.pairs) > 0 and before >= 0:
        slot = find_slot(terms.pairs, np.int64(before) << 32 | np.int64(token))
        if terms.pairs[slot] != FREE:
            count = _count(terms.pair_columns[slot], room, count)
    return count


@compiled
def _count(column, room, count):
    if room.counts[column] == 0:
        room.found[count] = column
        count += 1
    room.counts[column] += 1
    return count


@compiled
def forget(room, count):
    """Leave the room as it was before."""
    for at in range(count):
        room.counts[room.found[at]] = 0


@compiled
def count_words(data, start, stop, words, side, lowers):  # noqa: C901 - hot loop
    """Count the words of one text: (different columns, why it stopped)."""
    terms, room = side.terms, side.room
    at, stop, longest = np.uint64(start), np.uint64(stop), np.uint64(len(room.spelled) - 16)
    count, before = 0, -1
    while at < stop:
        letters, end, step = 0, np.uint64(0), _ONE
        while at < stop:
            byte = data[at]
            if byte < 128:
                if _ASCII[byte] == 0:
                    break
                room.spelled[end] = _ASCII[byte]
                end += _ONE
                at += _ONE
            else:
                point, step = _decode(data, at, stop)
                lower = lowers[point]
                if lower <= 0:
                    if lower != OUTSIDE:
                        return count, NEW_LETTER if lower == UNSEEN else ODD_LETTER
                    break
                end = _encode(lower, room.spelled, end)
                at += step
                step = _ONE
            end = min(end, longest)  # a longer word than any known: where it is written no longer matters
            letters += 1
        if letters > 1:
            token = _known(room, end, longest, words)
            if token >= 0:
                count = count_token(token, before, terms, room, count)
            before = token
        at += step
    return count, 0


@compiled
def _known(room, end, longest, words):
    """The number of the word that ends at `end`, or UNKNOWN."""
    if end >= longest:
        return -1
    for follow in range(8):
        room.spelled[end + np.uint64(follow)] = 0
    begin, stop = np.uint64(0), ((end + np.uint64(8)) & _WHOLE_BLOCKS) >> _EIGHTH
    code = _hash(room.blocks, begin, stop)
    return _find(room.blocks, begin, stop, code, words.slots, words.begins, words.blocks)


# -- weighing ----------------------------------------------------------------------------------------------------------


@compiled
def write_row(side, count, shift, scale, columns, values, used):
    """Append the columns counted, in order, each weighed, the row of length `scale`; the room is left empty."""
    room, terms = side.room, side.terms
    _sort(room, count)
    squares = 0.0
    for at in range(count):
        column = room.found[at]
        times = room.counts[column]
        room.counts[column] = 0
        weight = (1.0 + np.log(times) if terms.sublinear and times > 1 else 1.0 * times) * terms.idf[column]
        columns[used + at], values[used + at] = column + shift, weight
        squares += weight * weight
    length = np.sqrt(squares) if squares > 0 else 1.0  # a weight of 0 a term makes a row of length 0
    for at in range(used, used + count):
        values[at] /= length
        values[at] *= scale
    return used + count


@compiled
def _sort(room, count):
    """Put the columns found in order: few by insertion, more through bits, which costs what they are."""
    found = room.found
    if count > FEW:
        _sort_by_bits(room, count)
        return
    for at in range(1, count):
        column, place = found[at], at
        while place > 0 and found[place - 1] > column:
            found[place] = found[place - 1]
            place -= 1
        found[place] = column


FEW = 24


@compiled
def _sort_by_bits(room, count):
    for at in range(count):
        column = np.uint64(room.found[at])
        word = column >> np.uint64(6)
        room.low[word] |= _ONE << (column & np.uint64(63))
        room.high[word >> np.uint64(6)] |= _ONE << (word & np.uint64(63))
    place = np.uint64(0)
    for upper in range(len(room.high)):
        words = room.high[upper]
        room.high[upper] = 0
        while words != 0:
            word = (np.uint64(upper) << np.uint64(6)) | _lowest(words)  # type: ignore[assignment]
            words &= words - _ONE  # type: ignore[assignment]
            bits = room.low[word]
            room.low[word] = 0
            while bits != 0:
                room.found[place] = (word << np.uint64(6)) | _lowest(bits)
                place += _ONE  # type: ignore[assignment]
                bits &= bits - _ONE  # type: ignore[assignment]


@compiled
def _lowest(bits):
    """The place of the lowest bit that is set, by a de Bruijn sequence."""
    alone = bits & (~bits + _ONE)
    return np.uint64(_PLACES[(alone * _DE_BRUIJN) >> np.uint64(58)])


_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.uint8)
for _place in range(64):
    _PLACES[((1 << _place) * int(_DE_BRUIJN) & (1 << 64) - 1) >> 58] = _place
