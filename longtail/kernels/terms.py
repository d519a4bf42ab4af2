"""Token numbers to counted, weighed, sorted rows; a term is a token or a pair of neighbours."""

from __future__ import annotations

import numpy as np

from longtail.kernels.compiled import compiled
from longtail.kernels.standalone import standalone

FREE = -1  # in a table of pairs, a slot without one
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
def find_slot(pairs, pair):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Where the pair is in a table with free slots, or the free one where it belongs."""
    mask = np.uint64(len(pairs) - 1)
    code = np.uint64(pair) * np.uint64(0x9E3779B97F4A7C15)
    slot = (code ^ (code >> np.uint64(32))) & mask
    while pairs[slot] != pair and pairs[slot] != FREE:
        slot = (slot + np.uint64(1)) & mask
    return slot


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


@standalone
def enter_pairs(wanted, columns, pairs, pair_columns):
    """Enter pairs, each with its column, into a table with room for them."""
    for at in range(len(wanted)):
        slot = find_slot(pairs, wanted[at])
        pairs[slot], pair_columns[slot] = wanted[at], columns[at]
    return 0


@compiled
def find_columns(ids, offsets, columns, pairs, pair_columns):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The columns of each row's terms, repeated as the terms are: (columns, offsets)."""
    _check(ids, offsets, len(columns))
    if len(pair_columns) != len(pairs):
        raise ValueError("every slot of the table of pairs has a column")
    found, ends = np.empty(len(ids) * (2 if len(pairs) > 0 else 1), np.int32), np.zeros(len(offsets), np.int64)
    count = 0
    for row in range(len(offsets) - 1):
        before = FREE
        for at in range(offsets[row], offsets[row + 1]):
            token = ids[at]
            if token >= 0 and columns[token] >= 0:
                found[count] = columns[token]
                count += 1
            if len(pairs) > 0 and token >= 0 and before >= 0:
                slot = find_slot(pairs, np.int64(before) << 32 | np.int64(token))
                found[count] = pair_columns[slot]
                count += pairs[slot] != FREE
            before = token
        ends[row + 1] = count
    return found[:count], ends


@compiled
def weigh(terms, offsets, idf, sublinear):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Rows of unit length: each column once, in order, weighed by count and `idf`: (columns, weights, offsets)."""
    _check(terms, offsets, len(idf))
    columns, weights = np.empty(len(terms), np.int32), np.empty(len(terms), np.float32)
    ends = np.zeros(len(offsets), np.int64)
    for row in range(len(offsets) - 1):
        counted = _counted(terms[offsets[row] : offsets[row + 1]])
        begin, squares = ends[row], 0.0
        for at in range(len(counted)):
            column, count = counted[at] >> 32, counted[at] & 0xFFFFFFFF
            weight = (1.0 + np.log(count) if sublinear else count) * idf[column]
            columns[begin + at], weights[begin + at] = column, weight
            squares += weight * weight
        ends[row + 1] = begin + len(counted)
        length = np.sqrt(squares) if squares > 0 else 1.0  # a weight of 0 a term makes a row of length 0
        for at in range(begin, ends[row + 1]):
            weights[at] /= length
    return columns[: ends[-1]].copy(), weights[: ends[-1]].copy(), ends


@compiled
def _counted(terms):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Distinct terms in order, each as term << 32 | count."""
    # Most rows repeat their terms, so they are counted first and only the distinct ones sorted.
    slots = 2
    while slots < 2 * len(terms):
        slots *= 2
    table, where = np.full(slots, np.int64(FREE)), np.empty(len(terms), np.int64)
    counts = np.zeros(slots, np.int64)
    distinct = 0
    for term in terms:
        slot = find_slot(table, np.int64(term))
        if table[slot] == FREE:
            table[slot] = term
            where[distinct] = slot
            distinct += 1
        counts[slot] += 1
    packed = where[:distinct]
    for at in range(distinct):
        packed[at] = table[packed[at]] << 32 | counts[packed[at]]
    packed.sort()
    return packed
