"""The best labels in the clusters that a document opens.

    score of a label = σ(its logit) · b^weight          b = σ(logit of its cluster)

The `beam` clusters with the largest logits are open.  Their labels are hundreds, whose rows lie anywhere, and most of
them score far less than the k-th best.  A sketch of the rows (sketches.py) tells logits up to an error e that is known,

    σ(z − e) · b^weight  ≤  score  ≤  σ(z + e) · b^weight  ≤  exp(2e) · σ(z − e) · b^weight

and only rows whose score may be among the k best are compared as they are.  So answers have the same bits as without.

Last, rows in two levels: clusters are only opened to find the rows inside, and have no belief.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.products import Numbers, most_codes, picked_products, to_integers
from longtail.kernels.sketches import Sketch, errors, find_possible, no_sketch
from longtail.kernels.standalone import standalone
from longtail.kernels.tables import (
    COMPARING,
    RANKING,
    TILE,
    Members,
    OneVector,
    Table,
    _rows_inside,
    code_room,
    likeliest_of,
    logit_room,
    nothing_found,
    sigmoid,
    tile_logits,
)
from longtail.kernels.threads import PerThread, in_slices
from longtail.kernels.top import keep_best, keep_largest_in, keep_largest_unsorted

ASKED = 256  # documents after which labels are sketched: that takes as long as so many answers
LARGEST = 1 << 27  # numbers of which a sketch of labels is made: 128 MB
FEW = 8  # labels inside, for each that is wanted, up to which all are compared


class Inside(NamedTuple):
    """The rows of labels, cluster by cluster: row i is that of labels[i]."""

    table: Numbers
    biases: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    sketch: Sketch


class Room(NamedTuple):
    """What a document needs while it is ranked; a tile of documents has its codes together."""

    places: np.ndarray  # (clusters,) int32: those that may be open
    values: np.ndarray  # (clusters,) float32: their logits
    codes: np.ndarray  # (documents, dim) int16: vectors that open clusters, as integers
    scales: np.ndarray  # (documents,) float32
    own_codes: np.ndarray  # (1, dim) int16: the vector that meets labels
    own_scales: np.ndarray  # (1,) float32
    opened: np.ndarray  # (beam,) int32: open clusters
    logits: np.ndarray  # (beam,) float32: theirs
    beliefs: np.ndarray  # (beam,) float32: b^weight
    rows: np.ndarray  # int32: rows of labels in open clusters
    within: np.ndarray  # int32: in which of the open clusters each is
    scores: np.ndarray  # float32


class Opening:
    """Rows of clusters and of the labels inside, looked at once, and arrays that every thread keeps for one document.

    A document has two vectors: `openers` meet the rows of clusters, `documents` those of labels.
    """

    def __init__(self, clusters: Table, table: Table, members: Members, beam: int, weight: float):
        check(len(members.labels) == len(table), f"{len(table)} rows, {len(members.labels)} labels")
        check(len(members.starts) == len(clusters) + 1, f"{len(clusters)} rows for {len(members.starts) - 1} clusters")
        self._given = clusters, table, members, beam, weight
        self.clusters, self.table, self._members = clusters, table, members
        self._beam, self._weight = min(beam, len(clusters)), float(weight)
        self._asked, self._sketched = 0, not table.can_be_sketched(LARGEST)
        self._bind(no_sketch(table.rows.shape[1]))

    def __reduce__(self) -> tuple:
        return Opening, self._given

    def _bind(self, labels: Sketch) -> None:
        """Take these rows, and this sketch of labels, from now on."""
        clusters, table, members = self.clusters, self.table, self._members
        sketch = clusters.sketch if clusters.is_sketched_for(self._beam) else no_sketch(clusters.rows.shape[1])
        inside = Inside(table.numbers, table.biases, members.starts, members.labels, labels)
        self._rows = clusters.numbers, clusters.biases, sketch, inside
        self._loop, self._desks = _rank_opened.bound(*self._rows), PerThread[_Desk](lambda: _Desk(self))

    def rank(self, openers: np.ndarray, documents: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k best labels of each document and their scores, (documents, k) each; PAD and 0 where there are fewer."""
        check_shape(openers, (len(documents), self.clusters.rows.shape[1]), "vectors that open clusters")
        check_shape(documents, (len(openers), self.table.rows.shape[1]), "document vectors")
        best = nothing_found(len(documents), k)
        if self._beam == 0 or k == 0:
            return best
        self._count(len(documents))
        if len(documents) == 1:
            return self._desks.here.rank(openers, documents, best)  # type: ignore[union-attr]
        queries, loop = (self.clusters.queries(openers), self.table.queries(documents)), self._loop

        def part(start: int, stop: int) -> None:
            loop(*queries, self._beam, self._weight, start, stop, *self.room(stop - start), *best)

        in_slices(part, len(documents), RANKING)
        return best

    def opened(self, openers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The clusters that one document opens and the beliefs in them, (1, beam) each, in any order.

        They are known where it is the document that this thread ranked last.
        """
        known = self._desks.here.opened(openers) if self._beam else None  # type: ignore[union-attr]
        return likeliest_of(self.clusters, openers, self._beam) if known is None else known

    def _count(self, documents: int) -> None:
        """Make the sketch of labels when it is worth it; threads that do at the same time make the same."""
        self._asked += documents
        if not self._sketched and self._asked > ASKED:
            self._bind(self.table.sketch)
            self._sketched = True

    def room(self, documents: int) -> tuple[np.ndarray, Room]:
        """For so many documents."""
        logits, places, values = logit_room(documents, len(self.clusters))
        codes = *code_room(len(logits), self.clusters), *code_room(1, self.table)
        beliefs = np.empty((2, self._beam), np.float32)
        rows, scores = self._members.room(self._beam)
        inside = rows, np.empty_like(rows), scores
        return logits, Room(places, values, *codes, np.empty(self._beam, np.int32), beliefs[0], beliefs[1], *inside)

    def ready(self, opener: OneVector, document: OneVector, room: tuple, best: tuple) -> Callable[[], int]:
        """The call for one document, in arrays that stay."""
        queries = opener.queries, document.queries
        return _rank_opened.ready(*self._rows, *queries, self._beam, self._weight, 0, 1, *room, *best)


class _Desk:
    """The arrays of a thread for one document; its call is made anew for answers of another length."""

    def __init__(self, opening: Opening):
        self._opening, self._room, self._k = opening, opening.room(1), -1
        self._vectors = OneVector(opening.clusters), OneVector(opening.table)

    def opened(self, openers: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The clusters that this document opened and beliefs in them, if it was the last one."""
        if self._k < 0 or not np.array_equal(self._vectors[0].vectors, openers):
            return None
        room = self._room[1]
        return room.opened[None].copy(), 1 / (1 + np.exp(-room.logits[None]))

    def rank(self, openers: np.ndarray, documents: np.ndarray, best: tuple) -> tuple[np.ndarray, np.ndarray]:
        """The labels and scores of one document; `best` is what stands where there are none."""
        if best[0].shape[1] != self._k:
            self._k, self._best = best[0].shape[1], tuple(np.empty_like(each) for each in best)
            self._call = self._opening.ready(*self._vectors, self._room, self._best)
        self._vectors[0].take(openers)
        self._vectors[1].take(documents)
        for own, given in zip(self._best, best):
            own[:] = given
        self._call()
        for own, given in zip(self._best, best):
            given[:] = own
        return best


@standalone
def _rank_opened(
    clusters, biases, sketch, inside, openers, queries, beam, weight, start, stop, logits, room, best_labels,
    best_scores,
):  # fmt: skip
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        if len(sketch.codes) > 0:
            to_integers(openers[0], first, tile, most_codes(room.codes.shape[1]), room.codes, room.scales)
            tile_logits((room.codes, room.scales), 0, tile, (sketch.codes, sketch.scales), biases, logits)
        else:
            tile_logits(openers, first, tile, clusters, biases, logits)
        for at in range(tile):
            document = first + at
            _open(clusters, biases, sketch, openers, document, at, logits[at], weight, room)
            count, best = _find_rows(inside.starts, room), (best_labels[document], best_scores[document])
            if len(inside.sketch.codes) > 0 and count > FEW * best_labels.shape[1]:
                count = leave_out(inside, queries, document, room, count, *best)
            score(inside, queries, document, room, count)
            keep_best(room.rows[:count], room.scores[:count], *best)
    return 0


@compiled
def _open(clusters, biases, sketch, openers, document, at, logits, weight, room):
    """The clusters with the largest logits and their beliefs, given logits of all: exact, or as the sketch has them."""
    if len(sketch.codes) > 0:
        length, more = errors(openers[0], document, room.codes, room.scales, at, sketch.worst)
        count = find_possible(logits, len(room.opened), sketch, length, more, room.places, room.values)
        picked_products(openers, document, clusters, room.places, count, room.values)
        for place in range(count):
            room.values[place] += biases[room.places[place]]
        keep_largest_unsorted(room.places, room.values, count, room.opened, room.logits)
    else:
        keep_largest_in(logits, room.places, room.values, room.opened, room.logits)
    for place in range(len(room.opened)):
        room.beliefs[place] = sigmoid(room.logits[place]) ** np.float32(weight)


@compiled
def _find_rows(starts, room):
    """The rows in all open clusters, and which of these each is in; how many there are."""
    count = 0
    for place in range(len(room.opened)):
        cluster = room.opened[place]
        for row in range(starts[cluster], starts[cluster + 1]):
            room.rows[count], room.within[count] = row, place
            count += 1
    return count


@compiled
def leave_out(inside, queries, document, room, count, best_labels, best_scores):
    """Leave out rows that the sketch excludes; how many are left.  `best_…` are room for as many as are wanted."""
    sketch, codes = inside.sketch, (room.own_codes, room.own_scales)
    to_integers(queries[0], document, 1, most_codes(room.own_codes.shape[1]), *codes)
    length, more = errors(queries[0], document, *codes, 0, sketch.worst)
    picked_products(codes, 0, (sketch.codes, sketch.scales), room.rows, count, room.scores)
    for at in range(count):
        row = room.rows[at]
        error = length * sketch.offs[row] + more
        room.scores[at] = sigmoid(room.scores[at] + inside.biases[row] - error) * room.beliefs[room.within[at]]
    keep_best(room.rows[:count], room.scores[:count], best_labels, best_scores)
    least, kept = best_scores[len(best_scores) - 1], 0
    for at in range(count):
        most = room.beliefs[room.within[at]]
        twice = np.float32(2) * (length * sketch.offs[room.rows[at]] + more)
        if twice <= 1:
            most = room.scores[at] * (np.float32(1) + twice + twice * twice)  # more than exp(twice)
        # Written so that a number that is not one keeps its row.
        if not most * ABOVE + TINY < least:
            room.rows[kept], room.within[kept] = room.rows[at], room.within[at]
            kept += 1
    return kept


ABOVE, TINY = np.float32(1 + 1e-5), np.float32(1e-37)  # ten times what rounding can do


@compiled
def score(inside, queries, document, room, count):
    """Scores of the rows left, and their labels in their stead."""
    picked_products(queries, document, inside.table, room.rows, count, room.scores)
    for at in range(count):
        row = room.rows[at]
        room.scores[at] = sigmoid(room.scores[at] + inside.biases[row]) * room.beliefs[room.within[at]]
        room.rows[at] = inside.labels[row]


# -- rows in two levels -----------------------------------------------------------------------------------------------


def likeliest_in_levels(
    table: Table, coarse: Table, members: Members, documents: np.ndarray, probes: int, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k labels with the largest σ(⟨document, row⟩ + bias) in the `probes` best clusters, and these beliefs.

    Clusters are chosen by ⟨document, coarse row⟩ + bias, (documents, k) each; PAD and 0 where there are fewer.
    """
    check(len(members.labels) == len(table), f"{len(table)} rows, {len(members.labels)} labels")
    check(len(coarse) == len(members.starts) - 1, f"{len(coarse)} coarse rows, {len(members.starts) - 1} clusters")
    check(coarse.rows.shape[1] == table.rows.shape[1], "rows of both levels are of different lengths")
    queries, best, many = table.queries(documents), nothing_found(len(documents), k), min(probes, len(coarse))
    # Both levels are usually stored alike, and then a document is the same numbers to both.
    both = queries if coarse.rows.dtype == table.rows.dtype else coarse.queries(documents), queries
    loop = table.loop(_likeliest_in_levels, members.starts, members.labels, coarse.numbers, coarse.biases)

    def part(start: int, stop: int) -> None:
        opened = np.empty(many, np.int32), np.empty(many, np.float32)
        room = *logit_room(stop - start, len(coarse)), *opened, *members.room(many)
        loop(*both, start, stop, *room, *best)

    in_slices(part, len(documents), COMPARING)
    return best


@standalone
def _likeliest_in_levels(
    table, biases, starts, labels, coarse, coarse_biases, coarse_queries, queries, start, stop,
    logits, places, values, opened, kept, found, scores, best_labels, best_beliefs,
):  # fmt: skip
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_logits(coarse_queries, first, tile, coarse, coarse_biases, logits)
        for at in range(tile):
            document, best = first + at, best_beliefs[first + at]
            keep_largest_in(logits[at], places, values, opened, kept)
            count = _rows_inside(opened, starts, found)
            picked_products(queries, document, table, found, count, scores)
            for place in range(count):
                row = found[place]
                found[place], scores[place] = labels[row], scores[place] + biases[row]
            keep_best(found[:count], scores[:count], best_labels[document], best)
            for place in range(min(count, len(best))):
                best[place] = sigmoid(best[place])
    return 0
