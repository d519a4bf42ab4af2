"""Which terms texts have, and in how many documents: a term is a token or a pair of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longtail.corpus import Texts
from longtail.errors import ConfigError
from longtail.features.grams import Grams
from longtail.features.tokens import Subwords, Tokens, Words, chunks
from longtail.kernels.terms import DOCUMENTS, LAST, count_pairs, count_tokens, find_slots
from longtail.kernels.threads import in_threads
from longtail.kernels.words import FREE, UNKNOWN
from longtail.progress import counting, steps

SINGLE = -1  # the second token of a term that has only one

Read = Callable[[Texts], Tokens]


@dataclass(frozen=True)
class Terms:
    """Terms in alphabetical order and how often they occur."""

    names: list[str]  # of the tokens, in alphabetical order
    tokens: np.ndarray  # (terms, 2) int32: a term's tokens by number, the second perhaps SINGLE
    counts: np.ndarray  # (terms, 2) int64: DOCUMENTS with the term, TIMES it occurs

    @property
    def documents(self) -> np.ndarray:
        """Documents with each term, (terms,) int64."""
        return self.counts[:, DOCUMENTS]

    def spelled(self) -> list[str]:
        """The terms as strings, a pair with a space between."""
        names = self.names
        return [names[one] if two == SINGLE else f"{names[one]} {names[two]}" for one, two in self.tokens.tolist()]


def count_terms(
    texts: Texts, ngrams: int = 1, min_df: int = 1, subwords: Subwords | Grams | None = None, threads: int | None = None
) -> Terms:
    """All terms in at least `min_df` documents; the same whatever the number of threads."""
    pieces = chunks(texts)
    names, counts = _count_words(pieces, threads) if subwords is None else _count_subwords(subwords, pieces)
    frequent = sorted(np.flatnonzero(counts[:, DOCUMENTS] >= min_df).tolist(), key=names.__getitem__)
    if counts.any() and not frequent:
        raise ConfigError(f"min_df = {min_df}: no term is in so many documents; lower it")
    names, counts = [names[at] for at in frequent], counts[frequent]
    tokens = np.full((len(names), 2), SINGLE, np.int32)
    tokens[:, 0] = np.arange(len(names))
    if ngrams == 1:
        return Terms(names, tokens, counts)
    # A pair is in no more documents than either of its tokens: rare tokens need not be paired.
    pairs, pair_counts = _count_pairs(_reader(names, subwords), pieces, threads)
    kept = pair_counts[:, DOCUMENTS] >= min_df
    tokens = np.concatenate([tokens, np.stack([pairs >> 32, pairs & 0xFFFFFFFF], 1).astype(np.int32)[kept]])
    counts = np.concatenate([counts, pair_counts[kept]])
    # A space sorts before every letter, so "red" and "red fox" stand in the order of their token numbers.
    order = np.lexsort((tokens[:, 1], tokens[:, 0]))
    return Terms(names, tokens[order], counts[order])


def _reader(names: list[str], subwords: Subwords | Grams | None) -> Read:
    """A function from texts to tokens: i for names[i], UNKNOWN for any other."""
    if subwords is None:
        return Words(names).encode
    numbers = {name: number for number, name in enumerate(names)}
    by_id = np.array([numbers.get(name, UNKNOWN) for name in subwords.names], np.int32)
    return lambda texts: subwords.encode(texts).renumbered(by_id)


def _count_words(pieces: list[Texts], threads: int | None) -> tuple[list[str], np.ndarray]:
    def count(start: int, stop: int) -> tuple[Words, np.ndarray]:
        words, counts, row = Words(), np.zeros((0, 3), np.int64), 0
        for piece in pieces[start:stop]:
            tokens = words.learn(piece)
            counts = _longer(counts, len(words))
            count_tokens(tokens.ids, tokens.offsets, row, counts)
            row += len(piece)
            done(1)
        return words, counts[: len(words), :LAST]

    with counting(len(pieces), "counting words") as done:
        (words, counts), *others = in_threads(count, len(pieces), threads)
    for more, more_counts in others:
        numbers = words.absorb(more)
        counts = _longer(counts, len(words))
        counts[numbers] += more_counts
    return list(words), counts[: len(words)]


def _count_subwords(subwords: Subwords | Grams, pieces: list[Texts]) -> tuple[list[str], np.ndarray]:
    counts, row = np.zeros((len(subwords.names), 3), np.int64), 0
    for piece in steps(pieces, "counting pieces of words"):  # the tokenizer has threads of its own
        tokens = subwords.encode(piece)
        count_tokens(tokens.ids, tokens.offsets, row, counts)
        row += len(piece)
    # A space in a term stands between two tokens, so a token that holds one cannot be in a term.
    spaced = [number for number, name in enumerate(subwords.names) if " " in name]
    counts[[*subwords.special, *spaced]] = 0
    return subwords.names, counts[:, :LAST]


def _count_pairs(read: Read, pieces: list[Texts], threads: int | None) -> tuple[np.ndarray, np.ndarray]:
    def count(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        pairs, counts, known, row = np.zeros(0, np.int64), np.zeros((0, 3), np.int64), 0, 0
        for piece in pieces[start:stop]:
            tokens = read(piece)
            pairs, counts = _roomier(pairs, counts, known + len(tokens.ids))
            known += count_pairs(tokens.ids, tokens.offsets, row, pairs, counts)
            row += len(piece)
            done(1)
        return pairs[pairs != FREE], counts[pairs != FREE, :LAST]

    with counting(len(pieces), "counting pairs of words") as done:
        parts = in_threads(count, len(pieces), threads)
    pairs, at = np.unique(np.concatenate([pairs for pairs, _ in parts]), return_inverse=True)
    counts = np.zeros((len(pairs), 2), np.int64)
    np.add.at(counts, at, np.concatenate([counts for _, counts in parts]))
    return pairs, counts


def pair_table(pairs: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """A hash table for `room` pairs, at most half full, and the slots that `pairs` have in it."""
    table = np.full(1 << (2 * room - 1).bit_length() if room else 0, FREE, np.int64)
    return table, find_slots(table, pairs)


def _roomier(pairs: np.ndarray, counts: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    if 2 * room <= len(pairs):
        return pairs, counts
    used = pairs != FREE
    table, slots = pair_table(pairs[used], room)
    moved = np.zeros((len(table), 3), np.int64)
    moved[slots] = counts[used]
    return table, moved


def _longer(counts: np.ndarray, least: int) -> np.ndarray:
    """With rows of zeros up to at least `least`, and twice as many as before, so that growing stays cheap."""
    if least <= len(counts):
        return counts
    longer = np.zeros((max(least, 2 * len(counts)), counts.shape[1]), counts.dtype)
    longer[: len(counts)] = counts
    return longer
