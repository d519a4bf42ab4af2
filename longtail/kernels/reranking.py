"""Proposed labels ranked by sparse classifiers, and by a tree of scores: shared/reranked.py has the formula.

ranker = exp(−h),  h = max(0, 1 − w·x − b)³          above FAINT it fades slower: exp(−FAINT) / (1 + h − FAINT)
score  = share · tree(ranker, proposer, count) + (1 − share) · ranker^weight · proposer^(1 − weight)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.standalone import standalone
from longtail.kernels.tables import nothing_found
from longtail.kernels.threads import PerThread, in_threads
from longtail.kernels.top import keep_best
from longtail.sparse import Rows, frozen

FAINT = np.float32(60)  # e^−60 is a margin of −2.9; float32 ends at e^−103, and proposers' scores are multiplied yet
ON_DESK = 1024  # entries of a bag for which a thread keeps room


class Classifiers(NamedTuple):
    """One sparse classifier a label, and how many training documents each label has."""

    starts: np.ndarray  # (labels + 1,) int64
    columns: np.ndarray  # int32
    weights: np.ndarray  # float32
    biases: np.ndarray  # (labels,) float32
    counts: np.ndarray  # (labels,) float32


class Tree(NamedTuple):
    """As rankers/score_tree.py: ScoreTree declares; no nodes: there is none."""

    columns: np.ndarray
    thresholds: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    shares: np.ndarray
    depth: int


NODES = ("columns", "thresholds", "yes", "no", "shares")


def no_tree() -> Tree:
    """An empty tree: both scores alone decide."""
    nothing = np.zeros(0, np.int32)
    return Tree(nothing, np.zeros(0), nothing, nothing, np.zeros(0, np.float32), 0)


class Reranker:
    """Classifiers, a tree and weights, checked once; and arrays that every thread keeps for one document."""

    def __init__(self, classifiers: Classifiers, n_features: int, tree: Tree, share: float, weight: float):
        check(len(classifiers.starts) == len(classifiers.biases) + 1, "biases and rows of weights are not as many")
        check_shape(classifiers.counts, classifiers.biases.shape, "counts of labels")
        self._given = classifiers, n_features, tree, share, weight
        kinds = np.int64, np.int32, np.float32, np.float32, np.float32
        arrays = Classifiers(*(frozen(each, kind) for each, kind in zip(classifiers, kinds)))
        # Arrays that scikit-learn has just grown are columns of another one.
        columns, thresholds, yes, no, shares = (np.ascontiguousarray(getattr(tree, name)) for name in NODES)
        nodes = Tree(columns, thresholds, yes, no, shares, tree.depth)
        self.arrays, self.n_features = (arrays, nodes, float(share), float(weight)), n_features
        self._loop, self._desks = _rerank.bound(*self.arrays), PerThread[_Desk](lambda: _Desk(self))

    def __reduce__(self) -> tuple:
        return Reranker, self._given

    def rank(self, features: Rows, labels: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k best of the labels proposed, (documents, any) with PAD, by these scores: labels and scores."""
        check_shape(labels, (len(features[0]) - 1, labels.shape[1]), "proposed labels")
        check_shape(scores, labels.shape, "scores of proposed labels")
        check(len(features[1]) == len(features[2]), "features lack a column or a value")
        best = nothing_found(len(labels), k)
        if len(labels) == 1 and len(features[1]) <= ON_DESK:
            self._desks.here.rank(features, labels, scores, best)  # type: ignore[union-attr]
            return best
        proposed = np.ascontiguousarray(labels, np.int32), np.ascontiguousarray(scores, np.float32)

        def part(start: int, stop: int) -> None:
            complain(self._loop(*features, *proposed, start, stop, *self.room(labels.shape[1]), *best))

        in_threads(part, len(labels), None, WORK * labels.shape[1])
        return best

    def room(self, candidates: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Zeros for the features of a document, and room for what is proposed."""
        return np.zeros(self.n_features, np.float32), np.empty(candidates, np.int32), np.empty(candidates, np.float32)


WORK = 1000  # numbers that a candidate is worth, as `in_threads` counts them


def complain(found: int) -> None:
    """Raise where the loop has found a mistake."""
    check(found != 1, "features of documents: one does not exist, or a row lies outside its entries")
    check(found != 2, "proposed labels: one does not exist")
    check(found != 3, "the scores hold a NaN, which no order can place")


class _Desk:
    """The arrays of a thread for one document; its call is made anew for other numbers of labels."""

    def __init__(self, reranker: Reranker):
        self._reranker, self._shape = reranker, (-1, -1)
        self._starts = np.zeros(2, np.int64)
        self._columns, self._values = np.zeros(ON_DESK, np.int32), np.zeros(ON_DESK, np.float32)

    def _fit(self, candidates: int, k: int) -> None:
        self._shape = candidates, k
        self._proposed = np.zeros((1, candidates), np.int32), np.zeros((1, candidates), np.float32)
        self._best, room = nothing_found(1, k), self._reranker.room(candidates)
        bag = self._starts, self._columns, self._values
        self._call = _rerank.ready(*self._reranker.arrays, *bag, *self._proposed, 0, 1, *room, *self._best)

    def rank(self, features: Rows, labels: np.ndarray, scores: np.ndarray, best: tuple) -> None:
        """Fill the labels and scores of one document; `best` is what stands where there are none."""
        if self._shape != (labels.shape[1], best[0].shape[1]):
            self._fit(labels.shape[1], best[0].shape[1])
        count = len(features[1])
        check(features[0][1] <= count, "a row lies outside its entries")
        self._starts[:] = features[0]
        self._columns[:count], self._values[:count] = features[1:]
        for own, given in zip((*self._proposed, *self._best), (labels, scores, *best)):
            own[:] = given
        complain(self._call())
        for own, given in zip(self._best, best):
            given[:] = own


@standalone
def _rerank(
    classifiers, tree, share, weight, starts, columns, values, labels, scores, start, stop, room, found, ranked,
    best_labels, best_scores,
):  # fmt: skip
    """The document is spread out in `room` (features,), zeros before and after."""
    for document in range(start, stop):
        first, last = starts[document], starts[document + 1]
        if not (0 <= first <= last <= len(columns) and _spread(columns, values, first, last, room)):
            return 1
        count = _ranked(classifiers, tree, share, weight, labels[document], scores[document], room, found, ranked)
        for at in range(first, last):
            room[columns[at]] = 0
        if count < 0:
            return -count
        keep_best(found[:count], ranked[:count], best_labels[document], best_scores[document])
    return 0


@compiled
def _spread(columns, values, first, last, room):
    """Put the values into their places; False where there is no such place."""
    for at in range(first, last):
        if columns[at] < 0 or columns[at] >= len(room):
            return False
    for at in range(first, last):
        room[columns[at]] = values[at]
    return True


@compiled
def _ranked(classifiers, tree, share, weight, labels, scores, room, found, ranked):
    """Labels and scores of what is proposed; how many: −2 where a label does not exist, −3 where a score is NaN."""
    count = 0
    for at in range(len(labels)):
        label, proposer = labels[at], scores[at]
        if label == PAD:
            continue
        if label < 0 or label >= len(classifiers.biases):
            return -2
        hinge = max(np.float32(0), np.float32(1) - _margin(classifiers, label, room))
        hinge = hinge * hinge * hinge
        ranker = np.exp(-min(hinge, FAINT) - np.log1p(max(hinge - FAINT, np.float32(0))))
        score = ranker ** np.float32(weight) * proposer ** np.float32(1 - weight)
        if len(tree.columns) > 0:
            judged = _leaf(tree, ranker, proposer, classifiers.counts[label])
            score = np.float32(share) * judged + np.float32(1 - share) * score
        if np.isnan(score):
            return -3
        found[count], ranked[count] = label, score
        count += 1
    return count


# Only the order of additions is left to the compiler: NaN and infinity keep their meaning.
@compiled(fastmath={"reassoc", "contract"})
def _margin(classifiers, label, room):
    margin = classifiers.biases[label]
    for at in range(classifiers.starts[label], classifiers.starts[label + 1]):
        margin += classifiers.weights[at] * room[classifiers.columns[at]]
    return margin


@compiled
def _leaf(tree, ranker, proposer, documents):
    """The share of true labels at the leaf that these numbers lead to."""
    node = 0
    for _ in range(tree.depth):
        asked = tree.columns[node]
        if asked < 0:
            break
        number = ranker if asked == 0 else proposer if asked == 1 else documents
        node = tree.yes[node] if number <= tree.thresholds[node] else tree.no[node]
    return tree.shares[node]
