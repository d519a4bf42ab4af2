"""Count terms to learn which there are; a term is a token or a pair of neighbours.  What weighs them is in bags.py."""

from __future__ import annotations

import numpy as np

from longtail.kernels.compiled import compiled
from longtail.kernels.words import FREE, find_slot

DOCUMENTS, TIMES, LAST = 0, 1, 2  # columns of a count: documents with the term, its occurrences, last row + 1 seen


@compiled
def _check(terms, offsets, count):
    """Raise unless rows stay inside `terms` and no term is `count` or more; negative ones are unknown."""
    for offset in offsets:
        if offset < 0 or offset > len(terms):
            raise ValueError("a row lies outside its terms")
    for term in terms:
        if term >= count:
            raise ValueError("a term has a number that does not exist")


@compiled
def count_tokens(ids, offsets, first_row, counts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Add the tokens of rows `first_row`, … to `counts` (tokens, 3)."""
    _check(ids, offsets, len(counts))
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            if ids[at] >= 0:
                _count(counts, ids[at], first_row + row)


@compiled
def _count(counts, term, row):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    counts[term, TIMES] += 1
    if counts[term, LAST] != row + 1:
        counts[term, LAST] = row + 1
        counts[term, DOCUMENTS] += 1


@compiled
def count_pairs(ids, offsets, first_row, pairs, counts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Add the pairs of known neighbours to `counts` (slots, 3), each at its slot of `pairs`; how many were new."""
    new = 0
    _check(ids, offsets, np.iinfo(np.int64).max)
    if len(ids) > len(pairs) or len(pairs) != len(counts):
        raise ValueError("the table has no room for so many pairs")
    for row in range(len(offsets) - 1):
        for at in range(offsets[row] + 1, offsets[row + 1]):
            if ids[at - 1] >= 0 and ids[at] >= 0:
                pair = np.int64(ids[at - 1]) << 32 | np.int64(ids[at])
                slot = find_slot(pairs, pair)
                if pairs[slot] == FREE:
                    pairs[slot] = pair
                    new += 1
                _count(counts, slot, first_row + row)
    return new


@compiled
def find_slots(pairs, wanted):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The slot of each wanted pair, which is put there if it was not."""
    if len(wanted) > 0 and len(wanted) >= len(pairs):
        raise ValueError("the table has no room for so many pairs")
    slots = np.empty(len(wanted), np.int64)
    for at in range(len(wanted)):
        slots[at] = find_slot(pairs, wanted[at])
        pairs[slots[at]] = wanted[at]
    return slots
