"""Counting of terms against plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.kernels.terms import count_pairs, count_tokens
from longtail.kernels.words import FREE

COMPILING = settings(deadline=None)  # the first example waits for the compiler

TOKENS = 6

# Rows of token numbers, -1 where a token is not known.
rows_of_tokens = st.lists(st.lists(st.integers(-1, TOKENS - 1), max_size=12), max_size=6)


def flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([token for row in rows for token in row], np.int32), np.cumsum([0, *map(len, rows)])


def pairs_of(row: list[int]) -> list[int]:
    return [one << 32 | two for one, two in pairwise(row) if one >= 0 and two >= 0]


def plain_counts(rows: list[list[int]]) -> dict[int, tuple[int, int]]:
    documents, times = Counter(term for row in rows for term in set(row)), Counter(term for row in rows for term in row)
    return {term: (documents[term], times[term]) for term in times}


@COMPILING
@given(rows_of_tokens)
def test_tokens_are_counted_by_document_and_by_occurrence(rows: list[list[int]]):
    counts = np.zeros((TOKENS, 3), np.int64)
    half = len(rows) // 2
    for first, part in ((0, rows[:half]), (half, rows[half:])):
        count_tokens(*flat(part), first, counts)
    expected = plain_counts([[token for token in row if token >= 0] for row in rows])
    assert {token: tuple(counts[token, :2]) for token in range(TOKENS) if counts[token, 1]} == expected


@COMPILING
@given(rows_of_tokens)
def test_pairs_are_counted_only_between_known_neighbours(rows: list[list[int]]):
    pairs, counts = np.full(128, FREE, np.int64), np.zeros((128, 3), np.int64)
    new = count_pairs(*flat(rows), 0, pairs, counts)
    expected = plain_counts([pairs_of(row) for row in rows])
    assert {int(pairs[slot]): tuple(counts[slot, :2]) for slot in np.flatnonzero(pairs != FREE)} == expected
    assert new == len(expected)
