"""Counting and weighing of terms against plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import log, sqrt

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.kernels.terms import FREE, count_pairs, count_tokens, find_columns, find_slots, weigh

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


@COMPILING
@given(rows_of_tokens, st.sets(st.tuples(st.integers(0, TOKENS - 1), st.integers(0, TOKENS - 1))))
def test_columns_are_found_for_tokens_and_pairs_that_have_one(rows: list[list[int]], chosen: set[tuple[int, int]]):
    columns = np.array([at if at % 2 == 0 else -1 for at in range(TOKENS)], np.int32)
    wanted = {one << 32 | two: 10 + at for at, (one, two) in enumerate(sorted(chosen))}
    pairs = np.full(128 if wanted else 0, FREE, np.int64)
    pair_columns = np.full(len(pairs), -1, np.int32)
    pair_columns[find_slots(pairs, np.array(list(wanted), np.int64))] = list(wanted.values())
    found, offsets = find_columns(*flat(rows), columns, pairs, pair_columns)
    for row, tokens in enumerate(rows):
        singles = [token for token in tokens if token >= 0 and token % 2 == 0]
        expected = singles + [wanted[pair] for pair in pairs_of(tokens) if pair in wanted]
        assert sorted(found[offsets[row] : offsets[row + 1]].tolist()) == sorted(expected)


@COMPILING
@given(st.lists(st.lists(st.integers(0, TOKENS - 1), max_size=40), max_size=6), st.booleans())
def test_rows_are_weighed_sorted_and_of_unit_length(rows: list[list[int]], sublinear: bool):
    idf = np.linspace(1, 3, TOKENS, dtype=np.float32)
    columns, weights, offsets = weigh(*flat(rows), idf, sublinear)
    for row, terms in enumerate(rows):
        counts = sorted(Counter(terms).items())
        raw = [(1 + log(count) if sublinear else count) * idf[term] for term, count in counts]
        part = slice(offsets[row], offsets[row + 1])
        assert columns[part].tolist() == [term for term, _ in counts]
        np.testing.assert_allclose(weights[part], np.array(raw) / sqrt(sum(w * w for w in raw) or 1), rtol=1e-6)
