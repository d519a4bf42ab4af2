"""Convert texts to bags in compiled code: vocabularies as tables, per-thread buffers, Python for the rare cases.

`Bagging` is made from one or two Tfidf when a text is first read, and is no part of what is stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from longtail.corpus import Texts
from longtail.features.characters import characters
from longtail.features.grams import Grams
from longtail.features.tokens import Subwords, Tokens, chunks
from longtail.invariants import Unsound
from longtail.kernels import bags
from longtail.kernels.bags import FULL, NEW_CHARACTER, NEW_LETTER, ODD_LETTER
from longtail.kernels.reading import LONGEST, SHIFT, STATE, USED, WHY, fill_trie, read_rows
from longtail.kernels.threads import in_threads
from longtail.kernels.words import FREE, UNKNOWN, Table, enter_pairs, enter_terms
from longtail.progress import counting
from longtail.sparse import Rows, frozen

if TYPE_CHECKING:
    from longtail.features.locating import Locator
    from longtail.features.tfidf import Tfidf

ON_DESK = 1 << 14  # bytes of a single text for which every thread keeps arrays
NUMBERS_A_BYTE = 16  # the work that a byte of text makes, as `in_threads` counts it

NOT_GIVEN = bags.Given(np.zeros(0, np.int32), np.zeros(0, np.int64))


class Bagging:
    """Words, pieces of words, or both side by side, as rows of length 1."""

    def __init__(self, words: Tfidf | None, pieces: Tfidf | None):
        self.words, self.pieces = words, pieces
        self._here = threading.local()

    def __reduce__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - tables are made again, not copied
        return Bagging, (self.words, self.pieces)

    # -- tables --------------------------------------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> tuple[bags.Words, bags.Terms, bags.Pieces, bags.Terms]:
        """The tables; threads that arrive first at the same time build equal ones."""
        return (*word_tables(self.words), *piece_tables(self.pieces))

    @property
    def subwords(self) -> Subwords | Grams | None:
        """The tokenizer of the pieces."""
        return self.pieces.subwords if self.pieces else None

    @property
    def reading(self) -> bags.Reading:
        """What compiled code needs to read a text, with buffers of this thread."""
        if not hasattr(self._here, "reading"):
            words, word_terms, pieces, piece_terms = self._tables
            longest = int(np.diff(words.begins).max(initial=0)) * 8
            word_side = bags.Side(word_terms, _room(len(word_terms.idf), longest))
            piece_side = bags.Side(piece_terms, _room(len(piece_terms.idf), 4 * LONGEST))
            self._here.reading = bags.Reading(words, word_side, pieces, piece_side, characters().letters)
        return self._here.reading

    def given(self, texts: Texts) -> bags.Given:
        """The pieces of texts that compiled code cannot tokenize."""
        if self.subwords is None or self.subwords.is_plain:
            return NOT_GIVEN
        return _given(self.subwords.encode(texts))

    # -- rows ----------------------------------------------------------------------------------------------------------

    def rows(self, texts: Texts, threads: int | None = None) -> Rows:
        """The bag of every text; the same whatever the number of threads."""
        if len(texts) == 1:
            # Who explains an answer reads the same text once more.
            known, row = getattr(self._here, "last", (None, None))
            row = row if known is texts else self._on_desk(texts)
            if row is not None:
                self._here.last = texts, row
                return row
        n_bytes = int((texts.stops - texts.starts).sum())

        def part(start: int, stop: int) -> list[Rows]:
            found = []
            for chunk in chunks(texts[start:stop]):
                found.append(self._read(chunk))
                done(len(chunk))
            return found

        with counting(len(texts), "weighing words") as done:
            work = NUMBERS_A_BYTE * n_bytes // max(1, len(texts))
            parts = in_threads(part, len(texts), threads, work)
        return joined([rows for part in parts for rows in part])

    def _on_desk(self, texts: Texts) -> Rows | None:
        """The bag of one short text, if it has no unknown characters."""
        start, stop = int(texts.starts[0]), int(texts.stops[0])
        if stop - start > ON_DESK or self.given(texts) is not NOT_GIVEN:
            return None
        if not hasattr(self._here, "desk"):
            self._here.desk = _Desk(self.reading)
        return self._here.desk.row(texts.data[start:stop])

    @property
    def locator(self) -> Locator | None:
        """Finds where tokens stand in a text, or is not there where Python must find them; this thread's own."""
        if self.subwords is not None and not self.subwords.is_plain:
            return None
        if not hasattr(self._here, "locator"):
            from longtail.features.locating import Locator  # only explanations need it

            self._here.locator = Locator(self.reading)
        return self._here.locator

    def _read(self, chunk: Texts) -> Rows:
        out = _Out(len(chunk), int((chunk.stops - chunk.starts).sum()))
        reading = self.reading

        def read(words: bags.Texts, pieces: bags.Texts, given: bags.Given, first: int, last: int) -> int:
            return read_rows(reading, words, pieces, given, first, last, out.starts, out.columns, out.values, out.state)

        self.read_all(chunk, read, out.state, out.grow)
        return out.rows

    def read_all(
        self,
        texts: Texts,
        read: Callable[[bags.Texts, bags.Texts, bags.Given, int, int], int],
        state: np.ndarray,
        grow: Callable[[], None],
    ) -> None:
        """Call `read` until all texts are read; where it stops, Python tokenizes; `grow` enlarges its output.

        `read(texts for words, texts for pieces, given pieces, first, last)` returns the row where it stopped, and why
        in state[WHY]; state[SHIFT] is the row of its output that `first` has.
        """
        check_inside(texts)
        source, given, row = plain(texts), self.given(texts), 0
        while True:
            state[SHIFT] = row
            row = read(source, source, given, row, len(texts))
            if row == len(texts):
                return
            state[SHIFT] = row
            self._help(texts[row : row + 1], read, state, grow)
            row += 1

    def _help(self, text: Texts, read: Callable, state: np.ndarray, grow: Callable[[], None]) -> None:
        """Tokenize the one text at which `read` stopped."""
        words = pieces = plain(text)
        given = self.given(text)
        while read(words, pieces, given, 0, 1) == 0:
            why = state[WHY]
            if why == FULL:
                grow()
            elif why == NEW_LETTER:
                characters().enter_letters(_string(words))
            elif why == ODD_LETTER:
                words = plain(Texts.of([text[0].lower()]))
            elif why == NEW_CHARACTER:
                characters().enter_normal(_string(pieces))
            else:
                given = _given(self.subwords.encode(text))  # type: ignore[union-attr]  # there are pieces


def check_inside(texts: Texts) -> None:
    """Raise unless every text lies in its bytes."""
    starts, stops = texts.starts, texts.stops
    if len(texts) and not (starts.min() >= 0 and (stops >= starts).all() and stops.max() <= len(texts.data)):
        raise ValueError("a text lies outside the data")


def plain(texts: Texts) -> bags.Texts:
    """Texts in the form that compiled code takes."""
    return bags.Texts(frozen(texts.data, np.uint8), frozen(texts.starts, np.int64), frozen(texts.stops, np.int64))


def _string(texts: bags.Texts) -> str:
    return Texts(*texts)[0]


def _given(tokens: Tokens) -> bags.Given:
    return bags.Given(frozen(tokens.ids, np.int32), frozen(tokens.offsets, np.int64))


class _Out:
    """Output buffers for rows."""

    def __init__(self, rows: int, n_bytes: int):
        room = n_bytes // 4 + 64
        self.starts, self.state = np.zeros(rows + 1, np.int64), np.zeros(STATE, np.int64)
        self.columns, self.values = np.empty(room, np.int32), np.empty(room, np.float32)

    def grow(self) -> None:
        """Double the length of the buffers."""
        self.columns = np.resize(self.columns, 2 * len(self.columns))
        self.values = np.resize(self.values, 2 * len(self.values))

    @property
    def rows(self) -> Rows:
        """What was written."""
        used = self.state[USED]
        return self.starts, self.columns[:used].copy(), self.values[:used].copy()


class _Desk:
    """Arrays for one text, reused from call to call."""

    def __init__(self, reading: bags.Reading):
        self._text, self._ends = np.zeros(ON_DESK, np.uint8), np.zeros(1, np.int64)
        self._out = _Out(1, 4 * ON_DESK)
        texts = bags.Texts(self._text, np.zeros(1, np.int64), self._ends)
        out = self._out
        self._call = read_rows.ready(
            reading, texts, texts, NOT_GIVEN, 0, 1, out.starts, out.columns, out.values, out.state
        )

    def row(self, data: np.ndarray) -> Rows | None:
        """The bag of a text, or None if Python must tokenize it."""
        self._text[: len(data)] = data
        self._ends[0] = len(data)
        self._out.state[USED] = 0
        if self._call() == 0:
            return None
        starts, columns, values = self._out.rows
        return starts.copy(), columns, values


def joined(parts: list[Rows]) -> Rows:
    """Concatenate the rows of consecutive texts."""
    if len(parts) == 1:
        return parts[0]
    starts, columns, values = zip(*parts)
    ends = np.cumsum([0, *map(len, columns)])
    begins = [part[:-1] + end for part, end in zip(starts, ends)]
    return np.concatenate([*begins, ends[-1:]]), np.concatenate(columns), np.concatenate(values)


# -- tables ------------------------------------------------------------------------------------------------------------


def _room(n_columns: int, longest: int) -> bags.Room:
    blocks = np.zeros(longest // 8 + 4, np.uint64)
    return bags.Room(
        np.zeros(n_columns + 1, np.int32),
        np.zeros(n_columns // 64 + 1, np.uint64),
        np.zeros(n_columns // 4096 + 1, np.uint64),
        np.zeros(n_columns + 1, np.int32),
        blocks.view(np.uint8),
        blocks,
        np.zeros((2, 4 * LONGEST + 1), np.int32),
    )


NO_TERMS = bags.Terms(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 0)


def word_tables(tfidf: Tfidf | None) -> tuple[bags.Words, bags.Terms]:
    """Words by hash, and the columns of words and pairs."""
    if tfidf is None:
        return bags.Words(np.zeros(1, np.uint64), np.zeros(1, np.int64), np.zeros(1, np.uint64)), NO_TERMS
    terms = plain(Texts.of(tfidf.vocabulary))
    n_pairs = int((terms.data == ord(" ")).sum())
    n_words, longest = len(tfidf.vocabulary) + n_pairs, int((terms.stops - terms.starts).max(initial=0))
    blocks = np.zeros(len(terms.data) // 8 + n_words + longest // 8 + 4, np.uint64)
    size, slots = np.zeros(1, np.int64), np.zeros(1 << (2 * n_words + 1).bit_length(), np.uint64)
    table = Table(slots, np.zeros(n_words + 1, np.int64), blocks, size)
    columns, pairs = np.full(n_words, UNKNOWN, np.int32), np.full(_pair_slots(n_pairs), FREE, np.int64)
    pair_columns = np.full(len(pairs), UNKNOWN, np.int32)
    # Frequent terms first: what is looked up most then lies close together.
    order = np.argsort(tfidf.idf, kind="stable")
    if enter_terms(*terms, order, table, blocks.view(np.uint8), columns, pairs, pair_columns) < 0:
        raise Unsound("a term of the vocabulary is neither a word nor two with a space between")
    words = bags.Words(slots, table.begins[: size[0] + 1].copy(), blocks[: table.begins[size[0]]].copy())
    return words, bags.Terms(columns, pairs, pair_columns, _idf(tfidf), int(tfidf.sublinear))


def _pair_slots(pairs: int) -> int:
    """Slots of a hash table that is at most half full."""
    return 1 << (2 * pairs).bit_length() if pairs else 0


def _idf(tfidf: Tfidf) -> np.ndarray:
    return np.array(tfidf.idf, np.float32)  # in memory


def piece_tables(tfidf: Tfidf | None) -> tuple[bags.Pieces, bags.Terms]:
    """Pieces in a trie, and the columns of pieces and pairs."""
    if tfidf is None or tfidf.subwords is None:
        return bags.Pieces(np.zeros(1, np.uint64), np.zeros(2, np.int32), np.zeros(0, np.uint8)), NO_TERMS
    names = tfidf.subwords.names
    numbers = {name: number for number, name in enumerate(names)}
    try:
        terms = [[numbers[token] for token in term.split(" ")] for term in tfidf.vocabulary]
    except KeyError as error:
        raise Unsound(f"the vocabulary has the token {error}, which its tokenizer does not make") from None
    if any(len(term) > 2 for term in terms):
        raise Unsound("a term of the vocabulary has more than two tokens")
    columns = np.full(max(1, len(names)), UNKNOWN, np.int32)
    paired = {term[0] << 32 | term[1]: column for column, term in enumerate(terms) if len(term) == 2}
    for column, term in enumerate(terms):
        if len(term) == 1:
            columns[term[0]] = column
    pairs, pair_columns = pair_tables(paired)
    terms_read = bags.Terms(columns, pairs, pair_columns, _idf(tfidf), int(tfidf.sublinear))
    return trie(tfidf.subwords) if isinstance(tfidf.subwords, Subwords) and tfidf.subwords.is_plain else piece_tables(
        None
    )[0], terms_read


def pair_tables(paired: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs by hash, and the column of each."""
    pairs = np.full(_pair_slots(len(paired)), FREE, np.int64)
    pair_columns = np.full(len(pairs), UNKNOWN, np.int32)
    enter_pairs(np.array(list(paired), np.int64), np.array(list(paired.values()), np.int32), pairs, pair_columns)
    return pairs, pair_columns


def trie(subwords: Subwords) -> bags.Pieces:
    """All pieces of a plain WordPiece tokenizer, those without a column too: the longest one wins."""
    names = subwords.names
    numbers = np.flatnonzero([name != "" for name in names])
    pieces = plain(Texts.of(names[number] for number in numbers.tolist()))
    n_bytes = len(pieces.data)
    edges, ends = np.zeros(1 << (2 * n_bytes + 1).bit_length(), np.uint64), np.zeros(n_bytes + 2, np.int32)
    n_nodes = fill_trie(*pieces, numbers.astype(np.int64), edges, ends)
    added = "".join(f"{token['content']}\0" for token in subwords.added_tokens).encode()
    return bags.Pieces(edges, ends[:n_nodes].copy(), np.frombuffer(added, np.uint8))
