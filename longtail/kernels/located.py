"""Where the tokens of one text stand in it, and which words have them: for explanations.

What is counted in a text (bags.py, reading.py) is found once more, with its place.  Words are what people read, runs
of word characters; features/spans.py says which share of a token each of them gets.  Only ASCII texts are read here,
where bytes are characters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.kernels.bags import _known
from longtail.kernels.compiled import compiled
from longtail.kernels.reading import _APART, _BRACKET, _GONE, _PLAIN, LONGEST, _is_added, _pieces_of, _put
from longtail.kernels.standalone import standalone
from longtail.kernels.words import _ASCII, FREE, find_slot

NOT_HERE = -1  # what `locate` returns for a text that is to be read otherwise


class Found(NamedTuple):
    """What is found in a text of `size` bytes: tokens that stand in words, a share of each."""

    runs: np.ndarray  # (2, size / 2 + 1) int32: where words begin and end, those too that no token stands in
    origins: np.ndarray  # (bytes of a word,) int32: where the letters of the word being cut are in the text
    spans: np.ndarray  # (3, entries) int32: token, begin, end
    times: np.ndarray  # (tokens,) int32: how often each occurs
    marks: np.ndarray  # (size + 1,) int32: where a word of the answer ends, by where it begins; 0 before and after
    numbers: np.ndarray  # (size + 1,) int32: which word begins there
    tokens: np.ndarray  # (entries,) int32: places in the bag
    words: np.ndarray  # (entries,) int32
    shares: np.ndarray  # (entries,) float64
    starts: np.ndarray  # (size,) int32: words, in their order
    stops: np.ndarray  # (size,) int32
    counts: np.ndarray  # (2,) int64: entries, words


def room_for(size: int, tokens: int) -> Found:
    """Buffers for texts of this many bytes and bags of this many tokens."""
    entries, words = 8 * size + 16, size + 1
    integers = {"runs": (2, words), "origins": (4 * LONGEST + 8,), "spans": (3, entries), "times": (tokens,)}
    integers |= {"marks": (words,), "numbers": (words,), "tokens": (entries,), "words": (entries,)}
    made = {name: np.zeros(shape, np.int32) for name, shape in integers.items()}
    made |= {"starts": np.zeros(words, np.int32), "stops": np.zeros(words, np.int32)}
    return Found(**made, shares=np.zeros(entries), counts=np.zeros(2, np.int64))


@standalone
def locate(reading, text, sizes, columns, found):
    """Where the tokens stand whose columns, in order, are the first sizes[1] ones, in the first sizes[0] bytes.

    Returns NOT_HERE for a text that is not ASCII, or that has a token which is found before all others.
    """
    size, columns = sizes[0], columns[: sizes[1]]
    for at in range(size):
        if text[at] >= 128:
            return NOT_HERE
    for token in range(len(columns)):
        found.times[token] = 0
    n_runs = _runs(text, size, found.runs)
    count = _words(reading, text, n_runs, columns, found)
    if len(reading.piece_side.terms.columns) > 0:
        count = _pieces(reading, text, size, columns, found, count)
        if count == NOT_HERE:
            return NOT_HERE
    _share_out(found, n_runs, count)
    _number_words(found, size)
    return 0


@compiled
def _runs(text, size, runs):
    """Where words are, as people read them; how many."""
    count, at = 0, 0
    while at < size:
        if _ASCII[text[at]] == 0:
            at += 1
            continue
        runs[0, count] = at
        while at < size and _ASCII[text[at]] != 0:
            at += 1
        runs[1, count] = at
        count += 1
    return count


@compiled
def _words(reading, text, n_runs, columns, found):
    """Where words that are counted stand, and pairs of neighbours; how many spans these have."""
    terms, room = reading.word_side.terms, reading.word_side.room
    count, before, longest = 0, -1, len(room.spelled) - 16
    if len(terms.columns) == 0:
        return count
    for run in range(n_runs):
        first, last = found.runs[0, run], found.runs[1, run]
        if last - first < 2:
            continue
        token = -1
        if last - first < longest:
            for at in range(first, last):
                room.spelled[at - first] = _ASCII[text[at]]
            token = _known(room, np.uint64(last - first), np.uint64(longest), reading.words)
        if token >= 0:
            count = _stand(terms, 0, token, first, last, before, found, columns, count)
        before = token
    return count


@compiled
def _stand(terms, shift, token, first, last, before, found, columns, count):
    """Add the span of a token, and those of the pair that it makes with the one before, whose span is the last read.

    `found.counts` has the span of the token before, as long as tokens are read.
    """
    count = _add(terms.columns[token], shift, first, last, found, columns, count)
    if len(terms.pairs) > 0 and before >= 0:
        slot = find_slot(terms.pairs, np.int64(before) << 32 | np.int64(token))
        if terms.pairs[slot] != FREE:
            column = terms.pair_columns[slot]
            count = _add(column, shift, found.counts[0], found.counts[1], found, columns, count)
            count = _add(column, shift, first, last, found, columns, count)
    found.counts[0], found.counts[1] = first, last
    return count


@compiled
def _add(column, shift, first, last, found, columns, count):
    """Add a span, if its term is in the bag; one of a pair is a time for each of its spans."""
    place = _place(columns, column + shift) if column >= 0 else -1
    if place < 0:
        return count
    found.spans[0, count], found.spans[1, count], found.spans[2, count] = place, first, last
    found.times[place] += 1
    return count + 1


@compiled
def _place(columns, column):
    """Where a column stands among those of the bag, which rise; −1: nowhere."""
    low, high = 0, len(columns)
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < len(columns) and columns[low] == column else -1


@compiled
def _pieces(reading, text, size, columns, found, count):
    """As `count_pieces` reads them: spans behind those there are; how many there are then."""
    spelled, letters, chars, before = reading.piece_side.room.spelled, 0, 0, -1
    for at in range(size + 1):
        kind = _PLAIN[text[at]] if at < size else 1  # the end is a space
        if kind > _APART:
            if chars < LONGEST:
                found.origins[letters] = at
            letters, chars = _put(kind, spelled, letters, chars)
        elif kind != _GONE:
            count, before = _cut(reading, letters, chars, columns, found, count, before)
            letters = chars = 0
            if kind == _APART:
                if text[at] == _BRACKET and _is_added(text, at, size, reading.pieces.added):
                    return NOT_HERE
                spelled[0], found.origins[0] = text[at], at
                count, before = _cut(reading, 1, 1, columns, found, count, before)
    return count


@compiled
def _cut(reading, letters, chars, columns, found, count, before):
    """Add the spans of the pieces of a word: (how many spans there are, last piece)."""
    if letters == 0:
        return count, before
    side, shift = reading.piece_side, len(reading.word_side.terms.idf)
    tokens, stops = side.room.tokens[0], side.room.tokens[1]
    pieces = _pieces_of(side.room.spelled, letters, reading.pieces, tokens, stops) if chars <= LONGEST else 0
    if pieces == 0:
        return count, -1
    start = 0
    for at in range(pieces):
        first, last = found.origins[start], found.origins[stops[at] - 1] + 1
        count = _stand(side.terms, shift, tokens[at], first, last, before, found, columns, count)
        before, start = tokens[at], stops[at]
    return count, before


@compiled
def _share_out(found, n_runs, count):
    """Give every word under a span its share of the token; a span without words is one itself."""
    entries = 0
    for at in range(count):
        token, first, last = found.spans[0, at], found.spans[1, at], found.spans[2, at]
        run = _first_run(found.runs, n_runs, first)
        under = 0
        while run + under < n_runs and found.runs[0, run + under] < last:
            under += 1
        share = 1 / np.float64(found.times[token]) / max(under, 1)
        for each in range(max(under, 1)):
            begin = found.runs[0, run + each] if under > 0 else first
            found.marks[begin] = found.runs[1, run + each] if under > 0 else last
            found.tokens[entries], found.words[entries], found.shares[entries] = token, begin, share
            entries += 1
    found.counts[0] = entries


@compiled
def _first_run(runs, n_runs, first):
    """The first word that ends behind a place."""
    low, high = 0, n_runs
    while low < high:
        middle = (low + high) >> 1
        if runs[1, middle] <= first:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _number_words(found, size):
    """Number the words of the answer as they stand in the text."""
    count = 0
    for begin in range(size):
        if found.marks[begin] > 0:
            found.starts[count], found.stops[count] = begin, found.marks[begin]
            found.numbers[begin], found.marks[begin] = count, 0
            count += 1
    for at in range(found.counts[0]):
        found.words[at] = found.numbers[found.words[at]]
    found.counts[1] = count


@standalone
def spread_out(tokens, words, shares, values, spread):
    """Add values of tokens, (labels, tokens), to those of words, (labels, words), by their shares."""
    for label in range(len(values)):
        for at in range(len(tokens)):
            spread[label, words[at]] += values[label, tokens[at]] * shares[at]
    return 0


@standalone
def locate_and_spread(reading, text, sizes, columns, found, values, spread):
    """Both, for sizes[2] labels: `values` and `spread` are (labels, tokens) and (labels, words) in one line each."""
    code = locate(reading, text, sizes, columns, found)
    if code != 0:
        return code
    labels, tokens, words = sizes[2], sizes[1], found.counts[1]
    for at in range(labels * words):
        spread[at] = 0
    for label in range(labels):
        for at in range(found.counts[0]):
            given = values[label * tokens + found.tokens[at]]
            spread[label * words + found.words[at]] += given * found.shares[at]
    return 0
