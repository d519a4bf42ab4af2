"""The best labels of a graph of clusters, in one pass: clusters are opened, paths followed, labels compared.

    score = σ(⟨label row, document⟩ + bias) · ŷ^weight          ŷ the belief in the label by its paths (index/graph.py)

Of the labels that paths lead to, the `shortlist` with the largest ŷ are compared: first by a sketch of their rows, as
in opening.py, and those that may be among the k best by the rows themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import Later, compiled
from longtail.kernels.opening import ASKED, FEW, LARGEST, Inside, leave_out, score
from longtail.kernels.paths import _walk
from longtail.kernels.sketches import no_sketch
from longtail.kernels.standalone import standalone
from longtail.kernels.tables import RANKING, TILE, OneVector, Table, logit_room, nothing_found, tile_logits
from longtail.kernels.threads import PerThread, in_slices
from longtail.kernels.top import LANES, are_parted, keep_best, keep_largest_in, put_largest_first
from longtail.sparse import frozen

exp_total = Later("longtail.kernels.vector_code", "exp_total")


class Ways(NamedTuple):
    """Edges from clusters to labels, (clusters, any) with PAD behind, and how a document follows them."""

    labels: np.ndarray  # int32
    scores: np.ndarray  # float32
    add: int  # whether paths to a label are added up, or the best counts
    alpha: float
    weight: float


class Room(NamedTuple):
    """Buffers for ranking one document; opening.py uses the same names."""

    places: np.ndarray  # (clusters,) int32
    values: np.ndarray  # (clusters,) float32
    opened: np.ndarray  # (beam,) int32: open clusters
    open_beliefs: np.ndarray  # (beam,) float32
    place: np.ndarray  # (labels,) int32: where a label stands among those found; PAD before and after
    found: np.ndarray  # int32: labels that paths lead to
    paths: np.ndarray  # float32: their beliefs
    own_codes: np.ndarray  # (1, dim) int16: the document as integers
    own_scales: np.ndarray  # (1,) float32
    beliefs: np.ndarray  # (shortlist,) float32: ŷ^weight
    rows: np.ndarray  # (shortlist,) int32: labels
    within: np.ndarray  # (shortlist,) int32: whose belief each has
    scores: np.ndarray  # (shortlist,) float32


class GraphRanking:
    """Clusters, edges and labels, validated once, and per-thread arrays for one document."""

    def __init__(self, clusters: Table, edges: tuple, table: Table, beam: int, shortlist: int, ways: tuple):
        labels, scores = edges
        check_shape(scores, labels.shape, "scores of edges")
        check(len(labels) == len(clusters), f"{len(clusters)} clusters, edges of {len(labels)}")
        check_shape(table.rows, (len(table), clusters.rows.shape[1]), "rows of labels")
        self._given = clusters, edges, table, beam, shortlist, ways
        self.clusters, self.table = clusters, table
        self._beam, self._shortlist = min(beam, len(clusters)), min(shortlist, len(table))
        add, alpha, weight = ways
        self._ways = Ways(frozen(labels, np.int32), frozen(scores, np.float32), int(add), float(alpha), float(weight))
        self._names = np.arange(len(table), dtype=np.int32)
        self._asked, self._sketched = 0, not table.can_be_sketched(LARGEST)
        self._bind(no_sketch(table.rows.shape[1]))

    def __reduce__(self) -> tuple:
        return GraphRanking, self._given

    def _bind(self, sketch: tuple) -> None:
        inside = Inside(self.table.numbers, self.table.biases, self._names[:0].astype(np.int64), self._names, sketch)  # type: ignore[arg-type]
        self._rows = self.clusters.numbers, self.clusters.biases, self._ways, inside
        self._loop, self._desks = _rank_graph.bound(*self._rows), PerThread[_Desk](lambda: _Desk(self))

    def rank(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k best labels of each document and their scores, (documents, k) each; PAD and 0 where there are fewer."""
        check_shape(vectors, (len(vectors), self.clusters.rows.shape[1]), "document vectors")
        best = nothing_found(len(vectors), k)
        if self._beam == 0 or k == 0 or self._shortlist == 0:
            return best
        self._asked += len(vectors)
        if not self._sketched and self._asked > ASKED:
            self._bind(self.table.sketch)
            self._sketched = True
        if len(vectors) == 1:
            self._desks.here.rank(vectors, best)  # type: ignore[union-attr]
            return best
        queries, loop = (self.clusters.queries(vectors), self.table.queries(vectors)), self._loop

        def part(start: int, stop: int) -> None:
            check(loop(*queries, start, stop, *self.room(stop - start), *best) == 0, MISTAKEN)

        in_slices(part, len(vectors), RANKING)
        return best

    def opened(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The clusters that one document opened and the beliefs in them, if this thread ranked it last."""
        return self._desks.here.opened(vectors)  # type: ignore[union-attr]

    def room(self, documents: int) -> tuple[np.ndarray, Room]:
        """Buffers for this many documents."""
        logits, places, values = logit_room(documents, len(self.clusters))
        most, dim = min(len(self.table), self._beam * self._ways.labels.shape[1]), self.table.rows.shape[1]
        kept = np.empty((2, self._shortlist), np.int32), np.empty((2, self._shortlist), np.float32)
        return logits, Room(
            places, values, np.empty(self._beam, np.int32), np.empty(self._beam, np.float32),
            np.full(len(self.table), PAD, np.int32), np.empty(most, np.int32), np.empty(most, np.float32),
            np.empty((1, dim), np.int16), np.empty(1, np.float32), kept[1][0], kept[0][0], kept[0][1], kept[1][1],
        )  # fmt: skip

    def ready(self, vectors: tuple[OneVector, OneVector], room: tuple, best: tuple):  # type: ignore[no-untyped-def]  # noqa: ANN201
        """Bind the call for one document to arrays that are reused."""
        return _rank_graph.ready(*self._rows, *(vector.queries for vector in vectors), 0, 1, *room, *best)


MISTAKEN = "an edge leads to a label that does not exist"


class _Desk:
    """A thread's arrays for one document; the call is rebound when k changes."""

    def __init__(self, ranking: GraphRanking):
        self._ranking, self._room, self._k = ranking, ranking.room(1), -1
        self._vectors = OneVector(ranking.clusters), OneVector(ranking.table)

    def opened(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The clusters of this document and the beliefs in them, if it was the last one."""
        if self._k < 0 or not np.array_equal(self._vectors[0].vectors, vectors):
            return None
        return self._room[1].opened[None].copy(), self._room[1].open_beliefs[None].copy()

    def rank(self, vectors: np.ndarray, best: tuple) -> None:
        """Fill the labels and scores of one document; `best` is what stands where there are none."""
        if best[0].shape[1] != self._k:
            self._k, self._best = best[0].shape[1], tuple(np.empty_like(each) for each in best)
            self._call = self._ranking.ready(self._vectors, self._room, self._best)
        for vector in self._vectors:
            vector.take(vectors)
        for own, given in zip(self._best, best):
            own[:] = given
        check(self._call() == 0, MISTAKEN)
        for own, given in zip(self._best, best):
            given[:] = own


@standalone
def _rank_graph(
    clusters, biases, ways, inside, openers, queries, start, stop, logits, room, best_labels, best_scores
):  # fmt: skip
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_logits(openers, first, tile, clusters, biases, logits)
        for at in range(tile):
            document, best = first + at, (best_labels[first + at], best_scores[first + at])
            _open(logits[at], np.float32(ways.alpha), room)
            count = _walk(
                room.opened, room.open_beliefs, ways.labels, ways.scores, ways.add, room.place, room.found, room.paths
            )
            for place in range(count):
                room.place[room.found[place]] = PAD
            count = _shorten(room, count, np.float32(ways.weight))
            if len(inside.sketch.codes) > 0 and count > FEW * best_labels.shape[1]:
                count = leave_out(inside, queries, document, room, count, *best)
            score(inside, queries, document, room, count)
            keep_best(room.rows[:count], room.scores[:count], *best)
    return 0


@compiled
def _open(logits, alpha, room):
    """The clusters with the largest logits, and min(1, α · softmax) of them."""
    keep_largest_in(logits, room.places, room.values, room.opened, room.open_beliefs)
    beliefs, whole = room.open_beliefs, len(logits) - len(logits) % LANES
    largest = beliefs[0]
    total = exp_total(logits, whole, largest)
    for at in range(whole, len(logits)):
        total += np.exp(logits[at] - largest)
    for at in range(len(beliefs)):
        beliefs[at] = min(np.float32(1), alpha * np.exp(beliefs[at] - largest) / total)


@compiled
def _shorten(room, count, weight):
    """The labels with the largest beliefs into `rows`, their beliefs to the power of the weight; how many."""
    wanted = min(len(room.rows), count)
    found, paths = room.found, room.paths
    put_largest_first(found, paths, count, wanted)
    if are_parted(paths, count, wanted):
        for at in range(wanted):
            room.rows[at], room.beliefs[at] = found[at], paths[at]
    else:  # ties stand by their numbers
        keep_best(found[:count], paths[:count], room.rows, room.beliefs)
    for at in range(wanted):
        room.within[at] = at
        room.beliefs[at] = min(room.beliefs[at], np.float32(1)) ** weight
    return wanted
