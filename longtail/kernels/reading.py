"""Bags of many texts, row after row: words, and their pieces beside them."""

from __future__ import annotations

import numpy as np

from longtail.kernels.bags import FULL, count_token, count_words, forget, write_row
from longtail.kernels.compiled import compiled
from longtail.kernels.standalone import standalone
from longtail.kernels.wordpiece import count_pieces

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
