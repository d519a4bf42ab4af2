"""Sparse documents against sparse weights: a few candidates of each, or the children of a few nodes of a tree."""

from __future__ import annotations

import threading

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check, check_names, check_rows, check_shape
from longtail.kernels.descent import Level, open_rows, path_for
from longtail.kernels.standalone import standalone
from longtail.kernels.threads import in_slices, in_threads
from longtail.sparse import Rows, frozen

# -- given candidates, label by label ----------------------------------------------------------------------------------


def score_candidates(
    features: Rows,
    weights: Rows,
    biases: np.ndarray,
    candidates: np.ndarray,
    n_features: int,
    threads: int | None = None,
    desk: OneDocument | None = None,
) -> np.ndarray:
    """x·w + b of each document's candidates, (documents, width), 0 at PAD; row l of `weights` is label l.

    With a `desk`, made of the same weights, a single document costs less.
    """
    check_rows(features, n_features, "features of documents")
    check_shape(candidates, (len(features[0]) - 1, candidates.shape[1]), "candidates")
    check(len(biases) == len(weights[0]) - 1, f"{len(biases)} biases, {len(weights[0]) - 1} rows of weights")
    check_names(candidates, len(biases), "candidates")
    if desk is not None and len(candidates) == 1 and desk.fits(features, candidates):
        return desk.scores(features, candidates)
    scores = np.zeros(candidates.shape, np.float32)
    biases, candidates = frozen(biases, np.float32), frozen(candidates, np.int32)

    def part(start: int, stop: int) -> None:
        _score_candidates(*features, *weights, biases, candidates, start, stop, _room(n_features), scores)

    in_threads(part, len(candidates), threads, WORK * candidates.shape[1])
    return scores


WORK = 1000  # numbers that a candidate is worth, as `in_threads` counts them

_here = threading.local()


class OneDocument:
    """Candidates of one document at a time: a call that is ready to be made again, for one thread and these weights."""

    def __init__(self, weights: Rows, biases: np.ndarray, n_features: int, width: int):
        self._starts, self._width = np.zeros(2, np.int64), width
        self._columns, self._values = np.zeros(n_features, np.int32), np.zeros(n_features, np.float32)
        self._candidates, self._scores = np.zeros((1, width), np.int32), np.zeros((1, width), np.float32)
        document, room = (self._starts, self._columns, self._values), np.zeros(n_features, np.float32)
        given = *document, *weights, frozen(biases, np.float32), self._candidates
        self._call = _score_candidates.ready(*given, 0, 1, room, self._scores)

    def fits(self, features: Rows, candidates: np.ndarray) -> bool:
        """Whether there is room for them."""
        return candidates.shape[1] <= self._width and len(features[1]) <= len(self._columns)

    def scores(self, features: Rows, candidates: np.ndarray) -> np.ndarray:
        """As `score_candidates`, of numbers that are checked."""
        count, width = len(features[1]), candidates.shape[1]
        self._starts[:] = features[0]
        self._columns[:count], self._values[:count] = features[1:]
        self._candidates.fill(PAD)
        self._candidates[:, :width] = candidates
        self._scores.fill(0)
        self._call()
        return self._scores[:, :width].copy()


def _room(n_features: int) -> np.ndarray:
    """A zeroed buffer of this thread; loops restore the zeros."""
    room = getattr(_here, "room", None)
    if room is None or len(room) < n_features:
        room = _here.room = np.zeros(n_features, np.float32)
    return room


# Only the order of additions is left to the compiler: NaN and infinity keep their meaning.
@standalone(fastmath={"reassoc", "contract"})
def _score_candidates(
    starts, columns, values, label_starts, label_columns, label_values, biases, candidates, start, stop, room, scores
):  # fmt: skip
    """The document is spread out in `room` (features,), so that each weight finds its value without a search."""
    for document in range(start, stop):
        for j in range(starts[document], starts[document + 1]):
            room[columns[j]] = values[j]
        for at in range(candidates.shape[1]):
            label = candidates[document, at]
            if label == PAD:
                continue
            score = biases[label]
            for j in range(label_starts[label], label_starts[label + 1]):
                score += label_values[j] * room[label_columns[j]]
            scores[document, at] = score
        for j in range(starts[document], starts[document + 1]):
            room[columns[j]] = 0
    return 0


# -- children of the nodes in a beam, feature by feature ---------------------------------------------------------------


def open_nodes(
    features: Rows,
    weights: Rows,
    biases: np.ndarray,
    child_starts: np.ndarray,
    names: np.ndarray,
    beam: tuple[np.ndarray, np.ndarray],
    k: int,
    power: float,
    threads: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The k most believed children of the nodes in each document's beam, best first: names and beliefs, (documents, k).

    `beam` holds nodes (PAD where there are fewer) and beliefs, (documents, width) each.  The children of node p are
    child_starts[p] to child_starts[p + 1].  Row f of `weights` holds the children for which feature f has a weight,
    in order, so brothers stand together there too.  A child is believed exp(-max(0, 1 - x·w - b)^power) times as
    much as its parent; a `power` of 0 means sigmoid(x·w + b) times.
    """
    nodes, beliefs = frozen(beam[0], np.int32), frozen(beam[1], np.float32)
    check_rows(features, len(weights[0]) - 1, "features of documents")
    check_shape(nodes, (len(features[0]) - 1, nodes.shape[1]), "nodes in the beam")
    check_shape(beliefs, nodes.shape, "beliefs in the beam")
    check_names(nodes, len(child_starts) - 1, "nodes in the beam")
    check(len(names) == len(biases) == child_starts[-1], f"{len(biases)} biases, {child_starts[-1]} children")
    best, best_beliefs = np.full((len(nodes), k), PAD, np.int32), np.zeros((len(nodes), k), np.float32)
    tree = frozen(biases, np.float32), frozen(child_starts, np.int64), frozen(names, np.int32)
    level = Level(*weights, *tree)

    def part(start: int, stop: int) -> None:
        path = path_for((level,), nodes.shape[1])
        open_rows(level, features, nodes, beliefs, float(power), start, stop, path, best, best_beliefs)

    in_slices(part, len(nodes), "ranking documents", threads)
    return best, best_beliefs
