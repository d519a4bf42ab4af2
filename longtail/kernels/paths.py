"""Paths from a document through clusters to labels: which clusters it opens, and how well these lead to each label.

A document's path to a label is a cluster it opened, (documents, width) with PAD, and an edge of that cluster,
(clusters, edges) with PAD behind a row's end.  Its score is belief · edge; of several paths the best counts, or all do.
"""

from __future__ import annotations

import threading

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check, check_names, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.standalone import standalone
from longtail.kernels.tables import TILE, Table, logit_room, nothing_found, tile_logits
from longtail.kernels.threads import in_slices, in_threads
from longtail.kernels.top import keep_best_of_many, keep_largest_in, keep_largest_unsorted


def opened(table: Table, documents: np.ndarray, alpha: float, beam: int) -> tuple[np.ndarray, np.ndarray]:
    """The `beam` rows with the largest min(1, α·softmax(⟨document, row⟩ + bias)), and these, (documents, beam) each."""
    best = nothing_found(len(documents), beam)
    queries, loop, factor = table.queries(documents), table.loop(_opened), float(alpha)
    if beam == 0 or len(table) == 0:
        return best

    def part(start: int, stop: int) -> None:
        loop(queries, factor, start, stop, *logit_room(stop - start, len(table)), *best)

    in_slices(part, len(documents), "finding clusters")
    return best


@standalone
def _opened(table, biases, queries, factor, start, stop, logits, places, values, best_rows, beliefs):
    alpha = np.float32(factor)
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_logits(queries, first, tile, table, biases, logits)
        for at in range(tile):
            best = beliefs[first + at]
            keep_largest_in(logits[at], places, values, best_rows[first + at], best)
            largest, total = best[0], np.float32(0)
            for logit in logits[at]:
                total += np.exp(logit - largest)
            for j in range(min(len(best), len(biases))):
                best[j] = min(np.float32(1), alpha * np.exp(best[j] - largest) / total)
    return 0


def _check(
    wanted: np.ndarray, clusters: np.ndarray, beliefs: np.ndarray, labels: np.ndarray, scores: np.ndarray, n_labels: int
) -> None:
    check_shape(wanted, (len(clusters), wanted.shape[1]), "wanted labels")
    check_shape(beliefs, clusters.shape, "beliefs in clusters")
    check_shape(scores, labels.shape, "scores of edges")
    check_names(clusters, len(labels), "opened clusters")
    check_names(wanted, n_labels, "wanted labels")


_here = threading.local()


def nowhere(n_labels: int) -> np.ndarray:
    """(n_labels,) int32 of PAD, for loops that leave it as they found it: a query is not to cost a write a label."""
    if not hasattr(_here, "place") or len(_here.place) < n_labels:
        _here.place = np.full(n_labels, PAD, np.int32)
    return _here.place[:n_labels]


def best_labels(
    clusters: np.ndarray, beliefs: np.ndarray, labels: np.ndarray, scores: np.ndarray, n_labels: int, k: int,
    wanted: np.ndarray | None = None, add: bool = False,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The k labels that a document's paths lead to best, and how well: the best path's score, or with `add` all paths'.

    Labels `wanted`, (documents, any) with PAD, are kept whatever they score, and stand first.
    """
    return Edges(labels, scores, n_labels, add).best(clusters, beliefs, k, wanted)


class Edges:
    """The edges of all clusters, (clusters, any) each with PAD behind: labels, and how well they are led to."""

    def __init__(self, labels: np.ndarray, scores: np.ndarray, n_labels: int, add: bool = False):
        check_shape(scores, labels.shape, "scores of edges")
        self.n_labels, self._most = n_labels, min(n_labels, labels.size)
        self._width = labels.shape[1]
        self._arrays = np.ascontiguousarray(labels, np.int32), np.ascontiguousarray(scores, np.float32), int(add)
        self._loop, self._lead_to = _best_labels.bound(*self._arrays), _lead_to.bound(*self._arrays[:2])

    def __reduce__(self) -> tuple:
        labels, scores, add = self._arrays
        return Edges, (labels, scores, self.n_labels, bool(add))

    def best(
        self, clusters: np.ndarray, beliefs: np.ndarray, k: int, wanted: np.ndarray | None = None, ordered: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `best_labels`; unless `ordered` in any order, in half the time where k is hundreds."""
        wanted = np.empty((len(clusters), 0), np.int32) if wanted is None else np.ascontiguousarray(wanted, np.int32)
        clusters, beliefs = np.ascontiguousarray(clusters, np.int32), np.ascontiguousarray(beliefs, np.float32)
        check_shape(wanted, (len(clusters), wanted.shape[1]), "wanted labels")
        check_shape(beliefs, clusters.shape, "beliefs in clusters")
        best, most = nothing_found(len(clusters), k), min(self._most, clusters.shape[1] * self._width)

        def part(start: int, stop: int) -> None:
            room = nowhere(self.n_labels), np.empty(most, np.int32), np.empty(most, np.float32)
            found = self._loop(clusters, beliefs, wanted, int(ordered), start, stop, *room, *best)
            check(found == 0, "opened clusters or wanted labels: one does not exist")

        in_slices(part, len(clusters), "following paths")
        return best

    def to(
        self, clusters: np.ndarray, beliefs: np.ndarray, labels: np.ndarray, few: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `paths_to`."""
        check_shape(beliefs, clusters.shape, "beliefs in clusters")
        check_names(clusters, len(self._arrays[0]), "opened clusters")
        found = np.full((len(labels), few), PAD, np.int32), np.zeros((len(labels), few), np.float32)
        opened = np.ascontiguousarray(clusters, np.int32), np.ascontiguousarray(beliefs, np.float32)
        self._lead_to(*opened, np.ascontiguousarray(labels, np.int32), *found)
        return found


@standalone
def _best_labels(  # noqa: C901 - hot loop
    labels, scores, add, clusters, beliefs, wanted, ordered, start, stop, place, found, values, best_labels, best_scores
):  # fmt: skip
    """`place` (labels,) says where a label stands among those found; it is PAD between documents.

    `found` and `values` are room for all labels that a document's clusters lead to.
    """
    for document in range(start, stop):
        if not (_are_names(clusters[document], len(labels)) and _are_names(wanted[document], len(place))):
            return 1
        count = _walk(clusters[document], beliefs[document], labels, scores, add, place, found, values)
        above_all = np.float32(0)
        for at in range(count):
            above_all = max(above_all, values[at] + np.float32(1))
        for label in wanted[document]:
            if label != PAD and place[label] != PAD and values[place[label]] < above_all:
                values[place[label]] += above_all
        if ordered:
            keep_best_of_many(found, values, count, best_labels[document], best_scores[document])
        else:
            keep_largest_unsorted(found, values, count, best_labels[document], best_scores[document])
        for at in range(min(count, best_labels.shape[1])):
            if best_scores[document, at] >= above_all:
                best_scores[document, at] -= above_all
            best_scores[document, at] = min(best_scores[document, at], np.float32(1))
        for at in range(count):
            place[found[at]] = PAD
    return 0


@compiled
def _are_names(names, count):
    """Whether all numbers are in range(count) or PAD."""
    for name in names:  # noqa: SIM110 - numba has no all()
        if name < PAD or name >= count:
            return False
    return True


@compiled
def _walk(clusters, beliefs, labels, scores, add, place, found, values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Every label that the clusters lead to, once, with what its paths score; how many there are."""
    count = 0
    for at, cluster in enumerate(clusters):
        if cluster == PAD:
            continue
        for edge in range(labels.shape[1]):
            label = labels[cluster, edge]
            if label == PAD:
                break
            score = beliefs[at] * scores[cluster, edge]
            if place[label] == PAD:
                place[label], found[count], values[count] = count, label, score
                count += 1
            elif add:
                values[place[label]] += score
            elif score > values[place[label]]:
                values[place[label]] = score
    return count


# -- the best paths to a label ----------------------------------------------------------------------------------------


def paths_to(
    edges: np.ndarray, scores: np.ndarray, clusters: np.ndarray, beliefs: np.ndarray, labels: np.ndarray, few: int
) -> tuple[np.ndarray, np.ndarray]:
    """The clusters whose paths lead to each label best, belief · edge, and how well, (labels, few) each.

    `edges` and `scores` are (clusters, any) with PAD behind; `clusters` and `beliefs` (opened,) are those of one
    document.  PAD and 0 where there are fewer; of paths as good, the cluster with the smaller number stands first.
    """
    return Edges(edges, scores, 0).to(clusters, beliefs, labels, few)


@standalone
def _lead_to(edges, scores, clusters, beliefs, labels, best, values):
    for number in range(len(labels)):
        for at in range(len(clusters)):
            cluster = clusters[at]
            edge = _edge_to(edges[cluster], labels[number]) if cluster != PAD else -1
            if edge >= 0:
                _insert(cluster, beliefs[at] * scores[cluster, edge], best[number], values[number])
    return 0


@compiled
def _edge_to(edges, label):
    """The last edge that leads to a label; −1: none.  Written so that many are compared at once."""
    found = -1
    for edge in range(len(edges)):
        found = max(found, edge if edges[edge] == label else -1)
    return found


@compiled
def _insert(cluster, value, best, values):
    """Put a path in its place among the best."""
    place = len(best)
    while place > 0 and _stands_before(cluster, value, best[place - 1], values[place - 1]):
        if place < len(best):
            best[place], values[place] = best[place - 1], values[place - 1]
        place -= 1
    if place < len(best):
        best[place], values[place] = cluster, value


@compiled
def _stands_before(cluster, value, other, others):
    return other == PAD or value > others or (value == others and cluster < other)


# -- given labels, while beliefs and edges learn ---------------------------------------------------------------------
#
# In logarithms, for a path to a true label may be so weak that its score is 0 in single precision; what is taken of
# the paths to a label is the largest or log Σ exp.


def log_beliefs(
    wanted: np.ndarray, clusters: np.ndarray, beliefs: np.ndarray, labels: np.ndarray, scores: np.ndarray,
    n_labels: int, add: bool,
) -> np.ndarray:  # fmt: skip
    """Logarithms of how well a document's paths lead to the labels `wanted`, (documents, any) with PAD.

    Beliefs and scores are logarithms too.  float32, −∞ at PAD and where no path leads.
    """
    _check(wanted, clusters, beliefs, labels, scores, n_labels)
    values = np.full(wanted.shape, -np.inf, np.float32)

    def part(start: int, stop: int) -> None:
        place = nowhere(n_labels)
        _log_beliefs(wanted, clusters, beliefs, labels, scores, add, place, start, stop, values)

    in_threads(part, len(wanted))
    return values


@compiled
def _log_beliefs(wanted, clusters, beliefs, labels, scores, add, place, start, stop, values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    most = clusters.shape[1] * labels.shape[1]
    columns, edges, paths = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.float32)
    totals = np.empty(wanted.shape[1], np.float32)
    for document in range(start, stop):
        best, steps = values[document], (clusters[document], beliefs[document], labels, scores)
        count = _paths_to(wanted[document], *steps, place, columns, edges, paths)
        for at in range(count):
            best[columns[at]] = max(best[columns[at]], paths[at])
        if add:
            totals[:] = 0
            for at in range(count):
                totals[columns[at]] += np.exp(paths[at] - best[columns[at]])
            for column in range(len(best)):
                best[column] += np.log(totals[column]) if totals[column] > 0 else 0


@compiled
def _paths_to(wanted, clusters, beliefs, labels, scores, place, columns, edges, paths):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Every path of a document to a label that is wanted: which one, by what edge of what cluster, and its score.

    An edge is said as its place among all that leave the clusters opened.  `place` (labels,) is PAD between documents.
    """
    count, width = 0, labels.shape[1]
    _set_places(place, wanted, True)
    for at, cluster in enumerate(clusters):
        for edge in range(width if cluster != PAD else 0):
            label = labels[cluster, edge]
            if label == PAD:
                break
            if place[label] != PAD:
                columns[count], edges[count] = place[label], at * width + edge
                paths[count] = beliefs[at] + scores[cluster, edge]
                count += 1
    _set_places(place, wanted, False)
    return count


@compiled
def _set_places(place, labels, known):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Where each label stands in its row, or nowhere any more."""
    for at, label in enumerate(labels):
        if label != PAD:
            place[label] = at if known else PAD


def log_belief_gradients(
    gradient: np.ndarray, values: np.ndarray, wanted: np.ndarray, clusters: np.ndarray, beliefs: np.ndarray,
    labels: np.ndarray, scores: np.ndarray, n_labels: int, add: bool,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """What `gradient` of the `values` that `log_beliefs` gave means for beliefs and for scores.

    It goes to the best path, the first of several as good, or with `add` to all, each by its share.
    """
    _check(wanted, clusters, beliefs, labels, scores, n_labels)
    check_shape(gradient, wanted.shape, "gradients of beliefs in labels")
    check_shape(values, wanted.shape, "beliefs in labels")
    of_beliefs = np.zeros_like(beliefs)

    def part(start: int, stop: int) -> np.ndarray:
        place, of_scores = nowhere(n_labels), np.zeros_like(scores)
        _log_belief_gradients(
            gradient, values, wanted, clusters, beliefs, labels, scores, add, place, start, stop, of_beliefs, of_scores
        )
        return of_scores

    return of_beliefs, sum(in_threads(part, len(wanted)))  # type: ignore[return-value]


@compiled
def _log_belief_gradients(  # type: ignore[no-untyped-def]  # noqa: ANN202
    gradient, values, wanted, clusters, beliefs, labels, scores, add, place, start, stop, of_beliefs, of_scores  # noqa: ANN001
):  # fmt: skip
    width, most = labels.shape[1], clusters.shape[1] * labels.shape[1]
    columns, edges, paths = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.float32)
    given = np.empty(wanted.shape[1], np.bool_)
    for document in range(start, stop):
        steps = clusters[document], beliefs[document], labels, scores
        count = _paths_to(wanted[document], *steps, place, columns, edges, paths)
        given[:] = False
        for at in range(count):
            column, opened_at = columns[at], edges[at] // width
            share = np.exp(paths[at] - values[document, column])
            if not add:
                share = np.float32(share >= 1 and not given[column])
                given[column] |= share == 1
            of_beliefs[document, opened_at] += share * gradient[document, column]
            of_scores[clusters[document, opened_at], edges[at] % width] += share * gradient[document, column]
