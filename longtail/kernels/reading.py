"""Bags of many texts, row after row: words, and the WordPieces beside them, which are found here.

WordPieces are those of Hugging Face's tokenizers with BERT's normaliser, lower case and without accents.  A text is
first normalised, character by character: control characters vanish, white space becomes a space, punctuation and
Chinese characters stand between spaces, letters lose case and accents.  Between two spaces is a word, and a word is cut
greedily into the longest pieces that are known; if some part of it is in no piece, or it has more than 100 characters,
the word as a whole is unknown.

What becomes of an ASCII character is in a table here.  Others are asked of the tokenizers package itself when they are
first met (features/characters.py), so that both agree whatever its version of Unicode is.
"""

from __future__ import annotations

import string

import numpy as np

from longtail.kernels.bags import (
    FULL,
    NEW_CHARACTER,
    ODD_CHARACTER,
    UNSEEN,
    count_token,
    count_words,
    forget,
    write_row,
)
from longtail.kernels.compiled import compiled
from longtail.kernels.standalone import standalone
from longtail.kernels.words import _decode

LONGEST = 100  # characters of a word that is cut into pieces
FIRST, LATER = 0, 1  # nodes of the trie where a piece begins that begins a word, or that does not

_GONE, _SPACE, _APART = 0, 1, 2  # beside the lower case of a letter
_PLAIN = np.array(
    [
        _SPACE if char in " \t\n\r" else _GONE if ord(char) < 32 or ord(char) == 127
        else _APART if char in string.punctuation else ord(char.lower())
        for char in map(chr, range(128))
    ],
    np.uint8,
)  # fmt: skip

_BRACKET = ord("[")


@compiled
def count_pieces(data, start, stop, pieces, side, letters):  # noqa: C901 - hot loop
    """Count the WordPieces of one text: (different columns, why it stopped)."""
    room = side.room
    at, count, before, size, chars = start, 0, -1, 0, 0
    while at < stop:
        byte = data[at]
        if byte < 128:
            kind = _PLAIN[byte]
            at += 1
            if kind > _APART:
                size, chars = _put(kind, room.spelled, size, chars)
            elif kind != _GONE:
                count, before = _cut(pieces, side, size, chars, count, before)
                size = chars = 0
                if kind == _APART:
                    if byte == _BRACKET and _is_added(data, at - 1, stop, pieces.added):
                        return count, ODD_CHARACTER
                    room.spelled[0] = byte
                    count, before = _cut(pieces, side, 1, 1, count, before)
        else:
            point, step = _decode(data, np.uint64(at), np.uint64(stop))
            at += np.int64(step)
            place = letters.places[point]
            if place <= 0:
                return count, NEW_CHARACTER if place == UNSEEN else ODD_CHARACTER
            first = place >> 5
            for follow in range(first, first + (place & 31) - 1):
                if letters.pool[follow] == 32:
                    count, before = _cut(pieces, side, size, chars, count, before)
                    size = chars = 0
                else:
                    size, chars = _put(letters.pool[follow], room.spelled, size, chars)
    count, before = _cut(pieces, side, size, chars, count, before)
    return count, 0


@compiled
def _put(byte, spelled, size, chars):
    """Append a byte to the word, as long as it is not too long to be cut."""
    chars += (byte & 0xC0) != 0x80
    if chars > LONGEST:
        return size, chars
    spelled[size] = byte
    return size + 1, chars


@compiled
def _is_added(data, at, stop, added):
    """Whether one of the added tokens stands here."""
    here, matches = at, True
    for byte in added:
        if byte == 0:
            if matches:
                return True
            here, matches = at, True
        else:
            matches = matches and here < stop and data[here] == byte
            here += 1
    return False


@compiled
def _cut(pieces, side, size, chars, count, before):
    """Count the pieces of a word: (different columns, last piece)."""
    if size == 0:
        return count, before
    tokens, stops = side.room.tokens[0], side.room.tokens[1]
    found = _pieces_of(side.room.spelled, size, pieces, tokens, stops) if chars <= LONGEST else 0
    if found == 0:
        return count, -1
    for at in range(found):
        token = tokens[at]
        count = count_token(token, before, side.terms, side.room, count)
        before = token
    return count, before


@compiled
def _pieces_of(word, size, pieces, tokens, stops):
    """The longest pieces, from left to right, and where they end; how many, or 0 where a part of it is in none."""
    found, start, root = 0, 0, FIRST
    while start < size:
        node, best, stop = root, 0, start
        for at in range(start, size):
            node = _next(pieces.edges, node, word[at])
            if node == 0:
                break
            if pieces.ends[node] > 0:
                best, stop = pieces.ends[node], at + 1
        if best == 0:
            return 0
        tokens[found], stops[found] = best - 1, stop
        found += 1
        start, root = stop, LATER
    return found


_BYTE, _NODE, _LOW, _MIX = np.uint64(32), np.uint64(40), np.uint64(0xFFFFFFFF), np.uint64(0x9E3779B97F4A7C15)


@compiled
def _slot(edges, key):
    """Where the edge is, or the free place where it belongs."""
    mask = np.uint64(len(edges) - 1)
    slot = ((key * _MIX) >> _BYTE) & mask
    while edges[slot] != 0 and edges[slot] >> _BYTE != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled
def _next(edges, node, byte):
    return np.int64(edges[_slot(edges, np.uint64(node) << np.uint64(8) | np.uint64(byte))] & _LOW)


@standalone
def fill_trie(data, starts, stops, numbers, edges, ends):
    """Enter piece i, data[starts[i] : stops[i]], under numbers[i]; those that begin with ## do not begin a word.

    There must be room: a node and two edges for each byte.  Returns the number of nodes.
    """
    n_nodes = 2
    for row in range(len(starts)):
        at, node = starts[row], FIRST
        if stops[row] - at > 2 and data[at] == 35 and data[at + 1] == 35:
            at, node = at + 2, LATER
        while at < stops[row]:
            key = np.uint64(node) << np.uint64(8) | np.uint64(data[at])
            slot = _slot(edges, key)
            if edges[slot] == 0:
                edges[slot] = key << _BYTE | np.uint64(n_nodes)
                n_nodes += 1
            node = np.int64(edges[slot] & _LOW)  # type: ignore[assignment]
            at += 1
        if node > LATER:
            ends[node] = numbers[row] + 1
    return n_nodes


# -- rows --------------------------------------------------------------------------------------------------------------

WHY, USED, SHIFT = 0, 1, 2  # places in `state`: why a row was not read, entries written, row of the first text
STATE = 4  # its length

_WHOLE, _HALF = np.float32(1), np.float32(1) / np.sqrt(np.float32(2))


@compiled
def read_row(reading, texts, piece_texts, given, row, columns, values, state):
    """Append the bag of a text to columns and values, from state[USED] on; False where state[WHY] keeps from it."""
    words, pieces, used = reading.word_side, reading.piece_side, state[USED]
    count = more = why = 0
    if len(words.terms.columns) > 0:
        count, why = count_words(
            texts.data, texts.starts[row], texts.stops[row], reading.words, words, reading.letters.lowers
        )
    if why == 0 and len(pieces.terms.columns) > 0:
        if len(given.offsets) > 0:
            more = _count_given(given, row, pieces)
        else:
            start, stop = piece_texts.starts[row], piece_texts.stops[row]
            more, why = count_pieces(piece_texts.data, start, stop, reading.pieces, pieces, reading.letters)
    if why == 0 and used + count + more > len(columns):
        why = FULL
    if why != 0:
        forget(words.room, count)
        forget(pieces.room, more)
        state[WHY] = why
        return False
    scale = _HALF if count > 0 and more > 0 else _WHOLE
    used = write_row(words, count, 0, scale, columns, values, used)
    state[USED] = write_row(pieces, more, len(words.terms.idf), scale, columns, values, used)
    return True


@compiled
def _count_given(given, row, side):
    count, before = 0, -1
    for at in range(given.offsets[row], given.offsets[row + 1]):
        count = count_token(given.ids[at], before, side.terms, side.room, count)
        before = given.ids[at]
    return count


@standalone
def read_rows(reading, texts, piece_texts, given, first, last, starts, columns, values, state):
    """Append the bags of texts `first` to `last`; the row where it stopped, which is `last` if nothing kept from it."""
    for row in range(first, last):
        if not read_row(reading, texts, piece_texts, given, row, columns, values, state):
            return row
        starts[state[SHIFT] + row - first + 1] = state[USED]
    return last
