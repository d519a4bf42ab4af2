"""Document vectors against tables of rows that are asked about again and again: the best rows, and members of clusters.

What a table is, is looked at once (`Table`); a call then costs little more than its loop.  Rows are fp32, fp16, or int8
with scales; products.py has their products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.products import (
    NO_SCALES,
    Numbers,
    in_integers,
    most_codes,
    picked_products,
    product,
    sides,
    table_of,
    tile_products,
    to_integers,
    turned_to_integers,
)
from longtail.kernels.sketches import Sketch, errors, find_possible, sketch_of
from longtail.kernels.standalone import Standalone, standalone
from longtail.kernels.threads import in_slices, in_threads
from longtail.kernels.top import keep_best, keep_largest_in, keep_one, put_in_order
from longtail.sparse import frozen

TILE = 16  # documents that meet a row while it is in the cache
MANY, SHARE = 2048, 16  # rows from which a sketch pays, and rows there must be for each that is wanted


class Table:
    """Rows with their biases, in any precision: checked once, and kept with the loops that are bound to them.

    A loop of a table takes `rows and scales, biases` first.
    """

    def __init__(self, rows: np.ndarray, biases: np.ndarray, scales: np.ndarray | None = None):
        check_shape(rows, (len(biases), rows.shape[1]), "rows")
        sides(np.empty((0, rows.shape[1]), np.float32), rows, scales, "rows")
        self.rows, self.scales, self.biases = rows, scales, np.ascontiguousarray(biases, np.float32)
        self.numbers = table_of(rows, scales)  # as loops take them
        self._loops: dict[Standalone, tuple[tuple, Callable[..., int]]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __reduce__(self) -> tuple:
        return Table, (self.rows, self.biases, self.scales)

    def is_sketched_for(self, k: int) -> bool:
        """Whether finding k rows is faster by a sketch: if they are few of many that are large."""
        return self.can_be_sketched() and 0 < k * SHARE <= len(self)

    def can_be_sketched(self, most: float = np.inf) -> bool:
        """Whether there are many rows, of no more numbers than these, and a sketch of them is smaller."""
        return self.rows.dtype == np.float32 and len(self) >= MANY and self.rows.size <= most

    @cached_property
    def sketch(self) -> Sketch:
        """The rows in a quarter of their memory."""
        return sketch_of(self.rows, self.biases)

    def queries(self, documents: np.ndarray) -> Numbers:
        """Document vectors (documents, dim) as loops take them beside these rows."""
        check_shape(documents, (len(documents), self.rows.shape[1]), "document vectors")
        vectors = np.ascontiguousarray(documents, np.float32)
        return (vectors, NO_SCALES) if self.scales is None else in_integers(vectors)

    def loop(self, kernel: Standalone, *more: Any) -> Callable[..., int]:  # noqa: ANN401 - arrays, or tuples of them
        """The loop with these rows as its first arguments, and with what else belongs to them."""
        known, bound = self._loops.get(kernel, ((), None))
        if bound is None or any(one is not other for one, other in zip(known, more)):
            bound = kernel.bound(self.numbers, self.biases, *more)
            self._loops[kernel] = more, bound
        return bound


class OneVector:
    """The vector of one document as loops take it beside the rows of a table, in arrays that stay where they are."""

    def __init__(self, table: Table):
        self.vectors = np.zeros((1, table.rows.shape[1]), np.float32)
        self.queries: Numbers = self.vectors, NO_SCALES
        self._turn: Callable[[], int] | None = None
        if table.scales is not None:
            self.queries = np.zeros(self.vectors.shape, np.int16), np.zeros(1, np.float32)
            self._turn = turned_to_integers.ready(self.vectors, *self.queries)

    def take(self, vectors: np.ndarray) -> None:
        """Put the vector of the next document, (1, dim), in the place of the last."""
        self.vectors[:] = vectors
        if self._turn is not None:
            self._turn()


def nothing_found(documents: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """What a loop fills: labels that are all PAD, and scores of 0."""
    return np.full((documents, k), PAD, np.int32), np.zeros((documents, k), np.float32)


# -- for other kernels ---------------------------------------------------------------------------------------------


@compiled
def sigmoid(logit):
    """1 / (1 + exp(−logit))."""
    return np.float32(1) / (np.float32(1) + np.exp(-logit))


@compiled
def tile_logits(queries, first, tile, table, biases, logits):
    """⟨document, row⟩ + bias of a few documents and all rows, for other kernels to call: (TILE, rows)."""
    tile_products(queries, first, tile, table, logits)
    for at in range(tile):
        for row in range(len(biases)):
            logits[at, row] += biases[row]


# -- given rows ----------------------------------------------------------------------------------------------------


def own_products(table: Table, documents: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """⟨document, row⟩ + bias for each document's own rows, (documents, width) float32; 0 at PAD.

    What `shortlist_logits` computes for learning, with the same bits alone and in a batch, and in every precision.
    """
    check_shape(wanted, (len(documents), wanted.shape[1]), "wanted rows")
    queries, loop = table.queries(documents), table.loop(_own_products)
    wanted, found = np.ascontiguousarray(wanted, np.int32), np.zeros(wanted.shape, np.float32)

    def part(start: int, stop: int) -> None:
        check(loop(queries, wanted, start, stop, found) == 0, "wanted rows: one does not exist")

    in_threads(part, len(wanted))
    return found


@standalone
def _own_products(table, biases, queries, wanted, start, stop, found):
    for document in range(start, stop):
        for at in range(wanted.shape[1]):
            row = wanted[document, at]
            if row < PAD or row >= len(biases):
                return 1
            if row != PAD:
                found[document, at] = product(queries, document, table, row) + biases[row]
    return 0


# -- all rows ------------------------------------------------------------------------------------------------------


def likeliest_of(table: Table, documents: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k rows with the largest σ(⟨document, row⟩ + bias) and these beliefs, (documents, k) each; PAD, 0."""
    queries, best, sketched = table.queries(documents), nothing_found(len(documents), k), table.is_sketched_for(k)
    loop = table.loop(_likeliest_by_sketch, table.sketch) if sketched else table.loop(_likeliest)

    def part(start: int, stop: int) -> None:
        room = logit_room(stop - start, len(table))
        loop(queries, start, stop, *room, *(code_room(len(room[0]), table) if sketched else ()), *best)

    in_slices(part, len(documents), COMPARING)
    return best


def logit_room(documents: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits of a tile of documents and all rows, and room to find the largest of one."""
    tile = min(TILE, documents)
    return np.empty((tile, rows), np.float32), np.empty(rows, np.int32), np.empty(rows, np.float32)


def code_room(tile: int, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Documents of a tile as integers with scales."""
    return np.empty((tile, table.rows.shape[1]), np.int16), np.empty(tile, np.float32)


@standalone
def _likeliest_by_sketch(
    table, biases, sketch, queries, start, stop, logits, places, values, codes, scales, best_rows, best_beliefs
):  # fmt: skip
    """The same as `_likeliest`, in less time (sketches.py)."""
    vectors, most = queries[0], most_codes(codes.shape[1])
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        to_integers(vectors, first, tile, most, codes, scales)
        tile_logits((codes, scales), 0, tile, (sketch.codes, sketch.scales), biases, logits)
        for at in range(tile):
            document, best = first + at, best_beliefs[first + at]
            length, more = errors(vectors, document, codes, scales, at, sketch.worst)
            count = find_possible(logits[at], len(best), sketch, length, more, places, values)
            picked_products(queries, document, table, places, count, values)
            for place in range(count):
                values[place] += biases[places[place]]
            keep_best(places[:count], values[:count], best_rows[document], best)
            for j in range(len(best)):
                best[j] = sigmoid(best[j])
    return 0


@standalone
def _likeliest(table, biases, queries, start, stop, logits, places, values, best_rows, best_beliefs):
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_logits(queries, first, tile, table, biases, logits)
        for at in range(tile):
            keep_largest_in(logits[at], places, values, best_rows[first + at], best_beliefs[first + at])
            for j in range(min(best_rows.shape[1], len(biases))):
                best_beliefs[first + at, j] = sigmoid(best_beliefs[first + at, j])
    return 0


COMPARING = "comparing documents"


# -- the rows of some clusters -------------------------------------------------------------------------------------


class Members:
    """The rows of clusters: row i is that of labels[i], and cluster c has rows starts[c] to starts[c + 1]."""

    def __init__(self, starts: np.ndarray, labels: np.ndarray):
        check(len(labels) == starts[-1], f"{len(labels)} labels, {starts[-1]} in clusters")
        self.starts, self.labels = frozen(starts, np.int64), frozen(labels, np.int32)
        self.most = int(np.diff(starts).max(initial=0))  # labels of a cluster

    def room(self, clusters: int) -> tuple[np.ndarray, np.ndarray]:
        """For the labels and scores of so many clusters."""
        most = min(len(self.labels), clusters * self.most)
        return np.empty(most, np.int32), np.empty(most, np.float32)


def rank_members(
    table: Table, members: Members, documents: np.ndarray, clusters: np.ndarray, beliefs: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k best labels in each document's clusters by σ(label)·belief(cluster), (documents, k) each.

    The clusters of a document, PAD behind the last, are different ones.
    """
    check(len(members.labels) == len(table), f"{len(table)} rows, {len(members.labels)} labels")
    check_shape(clusters, (len(documents), clusters.shape[1]), "opened clusters")
    check_shape(beliefs, clusters.shape, "beliefs in clusters")
    queries, loop = table.queries(documents), table.loop(_rank_members, members.starts, members.labels)
    opened = np.ascontiguousarray(clusters, np.int32), np.ascontiguousarray(beliefs, np.float32)
    best = nothing_found(len(documents), k)

    def part(start: int, stop: int) -> None:
        found = loop(queries, *opened, start, stop, *members.room(clusters.shape[1]), *best)
        check(found == 0, "opened clusters: one does not exist, or is there twice")

    in_slices(part, len(documents), RANKING)
    return best


RANKING = "ranking documents"


TOGETHER = 64  # rows whose products are taken at once, before the next clusters are looked at


@standalone
def _rank_members(
    table, biases, starts, labels, queries, clusters, beliefs, start, stop, found, scores, best_labels, best_scores
):  # fmt: skip
    """`found` and `scores` are room for the labels of all clusters of a document.

    A label scores no more than its cluster is believed, so clusters that are believed less than the worst of the best
    labels so far are passed over; as the best clusters come first, these are many.
    """
    if best_labels.shape[1] == 0:
        return 0
    for document in range(start, stop):
        own, names, best = clusters[document], best_labels[document], best_scores[document]
        if _rows_inside(own, starts, found) < 0:
            return 1
        first = size = 0
        while first < len(own) and own[first] != PAD:
            least = best[0] if size == len(best) else np.float32(-np.inf)
            last, count = _next_rows(own, beliefs[document], first, least, starts, found)
            picked_products(queries, document, table, found, count, scores)
            count = 0
            for at in range(first, last):
                if beliefs[document, at] < least:
                    continue
                for row in range(starts[own[at]], starts[own[at] + 1]):
                    score = sigmoid(scores[count] + biases[row]) * beliefs[document, at]
                    size = keep_one(labels[row], score, names, best, size)
                    count += 1
            first = last
        put_in_order(names, best, size)
    return 0


@compiled
def _next_rows(clusters, beliefs, first, least, starts, found):
    """Rows of the clusters from `first` on, TOGETHER or all that are left: the cluster behind them, and how many."""
    at, count = first, 0
    while at < len(clusters) and clusters[at] != PAD and count < TOGETHER:
        if not beliefs[at] < least:
            for row in range(starts[clusters[at]], starts[clusters[at] + 1]):
                found[count] = row
                count += 1
        at += 1
    return at, count


@compiled
def _rows_inside(clusters, starts, found):
    """The rows of some clusters, one after the other; how many they are, or −1 where a cluster does not exist."""
    count = 0
    for cluster in clusters:
        if cluster == PAD:
            break
        if cluster < 0 or cluster >= len(starts) - 1 or count + starts[cluster + 1] - starts[cluster] > len(found):
            return -1
        for row in range(starts[cluster], starts[cluster + 1]):
            found[count] = row
            count += 1
    return count
