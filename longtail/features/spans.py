"""Where the tokens of a text stand in it, so that what a token adds to a score can be shown on the text.

Tokens here are those that features/tokens.py counts, found once more for the one text that is explained: in ASCII texts
by kernels/located.py, in all others here.  What people read are words: runs of word characters (`\\w+`).  A piece of a
word, or a token that is the whole word, gives to that word; a pair gives to both its words; a token outside of all
words, as a comma, is a word of its own.  A term that occurs several times has one weight, of which every occurrence has
an equal share.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from longtail.corpus import Documents
from longtail.errors import CorpusError
from longtail.features.bagging import Bagging
from longtail.features.bags import Bags
from longtail.features.grams import Grams, located
from longtail.features.tfidf import Tfidf
from longtail.features.tokens import Subwords
from longtail.kernels.located import spread_out
from longtail.reasons import Contributions

if TYPE_CHECKING:
    from longtail.features.locating import Words

WORD = re.compile(r"\w+")
COUNTED = re.compile(r"\w\w+")  # in the lower-case text: what `Words` counts


def text_of(documents: Documents) -> str:
    """The text of one document, or a sentence about why it has none."""
    if documents.texts is None:
        raise CorpusError("an explanation shows words, and this document has only features; give its text")
    return documents.texts[0]


class Token(NamedTuple):
    """A token as its vocabulary spells it, and the characters of the text that it stands for."""

    name: str
    start: int
    stop: int


def tokens_of(text: str, subwords: Subwords | Grams | None) -> list[Token]:
    """The tokens that are counted of a text, known or not, in their order."""
    if isinstance(subwords, Grams):
        return [Token(*found) for found in located(text)]
    return words_of(text) if subwords is None else pieces_of(text, subwords)


def words_of(text: str) -> list[Token]:
    """Tokenize into words, as `Words` does.

    >>> words_of("The RED fox, a fox")[-2:]
    [Token(name='fox', start=8, stop=11), Token(name='fox', start=15, stop=18)]
    """
    lowered = text.lower()
    if len(lowered) == len(text):
        return [Token(found.group(), *found.span()) for found in COUNTED.finditer(lowered)]
    # İ becomes two characters: character i of the lower case comes from character origin[i] of the text.
    origin = [at for at, char in enumerate(text) for _ in char.lower()]
    found = [(match.group(), *match.span()) for match in COUNTED.finditer(lowered)]
    return [Token(name, origin[start], origin[stop - 1] + 1) for name, start, stop in found]


def pieces_of(text: str, subwords: Subwords) -> list[Token]:
    """Tokenize into subwords."""
    # Half of a surrogate pair is no character to tokenizers; a question mark is one, and as long.
    encoding = subwords._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"), add_special_tokens=False)
    return [Token(name, *place) for name, place in zip(encoding.tokens, encoding.offsets)]


# -- tokens to words ---------------------------------------------------------------------------------------------------


class Readable:
    """The words of a text as people read them, each with a number as soon as a token gives to it."""

    def __init__(self, text: str):
        self._text = text
        runs = [found.span() for found in WORD.finditer(text)]
        self._starts, self._stops = [start for start, _ in runs], [stop for _, stop in runs]
        self._numbers: dict[tuple[int, int], int] = {}

    def under(self, start: int, stop: int) -> list[int]:
        """The words that these characters are part of, or they themselves where they are part of none."""
        first = bisect_right(self._stops, start)
        places = []
        while first < len(self._starts) and self._starts[first] < stop:
            places.append((self._starts[first], self._stops[first]))
            first += 1
        return [self._number(place) for place in places or [self._trimmed(start, stop)]]

    def _number(self, place: tuple[int, int]) -> int:
        return self._numbers.setdefault(place, len(self._numbers))

    def _trimmed(self, start: int, stop: int) -> tuple[int, int]:
        """Without the spaces around, which some tokenizers count to a token."""
        piece = self._text[start:stop]
        inside = piece.strip()
        before = len(piece) - len(piece.lstrip())
        return (start + before, start + before + len(inside)) if inside else (start, stop)

    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the numbered words begin and end, in their order in the text, and which place each number has there."""
        order = sorted(self._numbers)
        rank = {place: at for at, place in enumerate(order)}
        starts, stops = np.array(order, np.int64).reshape(-1, 2).T
        return starts, stops, np.array([rank[place] for place in self._numbers], np.int64)


@dataclass(frozen=True)
class Places:
    """Which words the tokens of a text stand in: token tokens[i] gives shares[i] of its value to word words[i]."""

    starts: np.ndarray  # (words,) character offsets, rising
    stops: np.ndarray
    tokens: np.ndarray  # (entries,) places in the row of the text's bag
    words: np.ndarray  # (entries,)
    shares: np.ndarray  # (entries,); those of a token add up to 1

    @classmethod
    def of(cls, text: str, occurrences: Sequence[tuple[int, Sequence[tuple[int, int]]]]) -> Places:
        """From occurrences of tokens, each with the characters it stands for: one place, or two of a pair."""
        readable, counts = Readable(text), Counter(token for token, _ in occurrences)
        entries = []
        for token, spans in occurrences:
            each = 1 / (counts[token] * len(spans))
            for span in spans:
                under = readable.under(*span)
                entries += [(token, word, each / len(under)) for word in under]
        starts, stops, rank = readable.places()
        tokens, words, shares = zip(*entries) if entries else ((), (), ())
        numbers = rank[list(words)].astype(np.int32)
        return cls(starts, stops, np.array(tokens, np.int32), numbers, np.array(shares, np.float64))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of tokens, (labels, tokens), as those of words, (labels, words)."""
        spread = np.zeros((len(values), len(self.starts)))
        spread_out(self.tokens, self.words, self.shares, np.ascontiguousarray(values, np.float64), spread)
        return spread


def spread_over_words(bagging: Bagging, text: str, columns: np.ndarray, values: np.ndarray) -> Words:
    """Values of the tokens of a bag, (labels, tokens), as those of the text's words."""
    found = None if bagging.locator is None else bagging.locator.spread(text, columns, values)
    if found is not None:
        return found
    places = plain_places([bagging.words, bagging.pieces], text, columns)
    return places.starts, places.stops, places.spread(values)


@dataclass(frozen=True)
class ReadText:
    """One text as a row of `Bags.rows`."""

    text: str
    tfidf: Tfidf
    columns: np.ndarray  # in order
    values: np.ndarray  # float64

    @classmethod
    def of(cls, bags: Bags, documents: Documents) -> ReadText:
        """The first document, which must have a text, and a model that reads texts."""
        if bags.tfidf is None or documents.texts is None:
            bags.rows(documents)  # says why such a document cannot be read
            raise CorpusError("an explanation shows words, and this model reads ready-made features")
        _, columns, values = bags.tfidf.rows(documents.texts)
        return cls(documents.texts[0], bags.tfidf, columns, values.astype(np.float64))

    def explained(self, weights: np.ndarray, biases: np.ndarray) -> Contributions:
        """What the words add to w·x + b of some labels, whose weights are (labels, columns)."""
        added, biases = weights * self.values, np.asarray(biases, np.float64)
        words = spread_over_words(self.tfidf.bagging, self.text, self.columns, added)
        return Contributions(*words, biases, added.sum(axis=1) + biases)


def plain_places(vocabularies: Sequence[Tfidf | None], text: str, columns: np.ndarray) -> Places:
    """Where the tokens of a bag stand, whatever the text and the tokenizer."""
    occurrences: list[tuple[int, Sequence[tuple[int, int]]]] = []
    first = 0
    for tfidf in vocabularies:
        if tfidf is not None:
            begin, end = np.searchsorted(columns, [first, first + len(tfidf.vocabulary)])
            names = [tfidf.vocabulary[column - first] for column in columns[begin:end].tolist()]
            occurrences += _occurrences(tokens_of(text, tfidf.subwords), names, int(begin))
            first += len(tfidf.vocabulary)
    return Places.of(text, occurrences)


def _occurrences(tokens: list[Token], terms: list[str], first: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Where each of the terms occurs among the tokens; they are numbered from `first`."""
    number = {term: at for at, term in enumerate(terms, first)}
    for name, start, stop in tokens:
        if name in number:
            yield number[name], [(start, stop)]
    if any(" " in term for term in terms):
        for one, two in pairwise(tokens):
            if (pair := f"{one.name} {two.name}") in number:
                yield number[pair], [(one.start, one.stop), (two.start, two.stop)]
