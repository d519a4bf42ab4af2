"""What answers: trees of sparse classifiers, descended from the root to the labels.  NumPy and compiled loops alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from longtail.corpus import PAD, Documents
from longtail.features.bags import Bags
from longtail.index.clusters import Tree
from longtail.invariants import Array, Number, Unsound, agree, check_each_once, check_indices, check_rising_in_runs
from longtail.judge.ensemble import average
from longtail.kernels import descent as kernels
from longtail.kernels.borders import check_rows
from longtail.kernels.sparse_scores import open_nodes
from longtail.kernels.threads import PerThread, in_slices
from longtail.methods.linear.answering import Answering
from longtail.rankers.frequent import where_empty, without
from longtail.ranking import SILENT, Ranking
from longtail.reasons import Reasons, average_of
from longtail.sparse import Rows, frozen, rows_of, sp

if TYPE_CHECKING:
    from longtail.features.described import Described
    from longtail.methods.linear.explaining import Explaining

POOL = 100  # every tree is asked for so many labels: one just below its k may lead in the mean


@dataclass(frozen=True)
class Level:
    """The classifiers of one level of a tree, feature by feature: one look-up finds all nodes a feature speaks for."""

    # Feature f has weights[starts[f] : starts[f + 1]].
    starts: Annotated[np.ndarray, Array("features+1", np.int64, starts="weights")]
    # In order within a feature, so that brothers stand together.
    nodes: Annotated[np.ndarray, Array("weights", np.int32, below="nodes")]
    weights: Annotated[np.ndarray, Array("weights", np.float32)]
    biases: Annotated[np.ndarray, Array("nodes", np.float32)]

    def check(self) -> None:
        """A walk meets the nodes of a feature in order."""
        check_rising_in_runs("nodes", self.nodes, self.starts)

    def with_more(self, rows: sp.csr_array, bias: np.float32) -> Level:
        """Append classifiers, (new, features)."""
        both = sp.csc_array(sp.vstack([self.by_node(), rows], format="csr"))
        both.sort_indices()
        weights = np.asarray(both.data, np.float32)
        biases = np.append(self.biases, np.full(rows.shape[0], bias, np.float32))
        return Level(both.indptr.astype(np.int64), both.indices.astype(np.int32), weights, biases)

    def by_node(self) -> sp.csr_array:
        """The weights, (nodes, features)."""
        shape = len(self.biases), len(self.starts) - 1
        return sp.csr_array(sp.csc_array((self.weights, self.nodes, self.starts), shape=shape))

    def silenced(self, nodes: np.ndarray) -> Level:
        """Give these nodes margins so low that they are never opened."""
        biases = np.array(self.biases)
        biases[nodes] = SILENT
        return replace(self, biases=biases)


@dataclass(frozen=True)
class Added:
    """Labels that were added after training: they are in no cluster, and compared with every document.

    The words of a label do not lead to the clusters of its documents: of labels hidden in training, half were never
    reached where each was put in one cluster.
    """

    classifiers: Level
    first: Annotated[int, Number(0)]  # the label of the first classifier; the others follow

    @classmethod
    def none(cls, n_labels: int, n_features: int) -> Added:
        """An empty set of added labels."""
        starts, nothing = np.zeros(n_features + 1, np.int64), np.zeros(0, np.float32)
        return cls(Level(starts, np.zeros(0, np.int32), nothing, nothing), n_labels)

    def __len__(self) -> int:
        return len(self.classifiers.biases)

    def places(self, labels: np.ndarray) -> np.ndarray:
        """The classifiers of these labels, PAD for a label that is not one of them."""
        inside = (labels >= self.first) & (labels < self.first + len(self))
        return np.where(inside, labels - self.first, PAD)


@dataclass(frozen=True)
class Descent:
    """A tree and the classifiers that lead down, and labels that stand beside the tree."""

    tree: Tree
    levels: list[Level]
    added: Added | None = None

    def check(self) -> None:
        """Every level of the tree has its classifiers."""
        agree("levels of the tree and of classifiers", self.tree.depth, len(self.levels))
        for at, level in enumerate(self.levels, 1):
            agree(f"nodes of level {at} and biases", self.tree.width(at), len(level.biases))
        if self.added is not None and (self.tree.labels >= self.added.first).any():
            raise Unsound("a label of the tree is numbered like one that was added")

    @property
    def beside(self) -> Added:
        """Labels beside the tree; where there are none, an empty level."""
        return self.added or Added.none(int(self.tree.labels.max(initial=-1)) + 1, len(self.levels[0].starts) - 1)

    @cached_property
    def compiled(self) -> tuple[kernels.Level, ...]:
        """The levels as compiled loops take them; clusters are called by their numbers, labels by their names."""
        names = [np.zeros(0, np.int32)] * (len(self.levels) - 1) + [self.tree.labels]
        added = self.beside
        beside = added.classifiers, np.array([0, len(added)]), added.first + np.arange(len(added))
        return tuple(_compiled(*parts) for parts in (*zip(self.levels, self.tree.starts, names), beside))

    def rank(self, features: sp.csr_array | Rows, k: int, beam: int, power: float, belief_weight: float) -> Ranking:
        """The best k labels in the clusters that each document's beam reaches."""
        rows = features if isinstance(features, tuple) else rows_of(features)
        check_rows(rows, len(self.levels[0].starts) - 1, "features of documents")
        n_documents, walk = len(rows[0]) - 1, kernels.Walk(beam, float(power), float(belief_weight))
        labels, scores = np.full((n_documents, k), PAD, np.int32), np.zeros((n_documents, k), np.float32)

        def part(start: int, stop: int) -> None:
            desk = self._desks.here or _Desk(self.compiled)
            desk.loop(walk, rows, start, stop, desk.path_for(beam), labels, scores)

        in_slices(part, n_documents, "ranking documents")
        return Ranking(labels, scores)

    @cached_property
    def _desks(self) -> PerThread[_Desk]:
        return PerThread(lambda: _Desk(self.compiled))

    def with_labels(self, directions: sp.csr_array, first: int) -> Descent:
        """Append labels numbered from `first`; see LENGTH."""
        before = self.added or Added.none(first, directions.shape[1])
        return replace(self, added=replace(before, classifiers=before.classifiers.with_more(directions * LENGTH, BIAS)))

    def without_labels(self, labels: np.ndarray) -> Descent:
        """Silence these labels: they are never suggested."""
        *upper, last = self.levels
        silenced = [*upper, last.silenced(np.flatnonzero(np.isin(self.tree.labels, labels)))]
        if self.added is None:
            return replace(self, levels=silenced)
        gone = self.added.places(labels)
        classifiers = self.added.classifiers.silenced(gone[gone != PAD])
        return replace(self, levels=silenced, added=replace(self.added, classifiers=classifiers))


class _Desk:
    """A thread's buffers for descending the tree, reused from call to call."""

    def __init__(self, levels: tuple[kernels.Level, ...]):
        self.loop, self._levels = kernels.rank_rows.bound(levels), levels
        self._beam, self._path = 0, kernels.path_for((), 0)

    def path_for(self, beam: int) -> kernels.Path:
        """Room for one document at a time."""
        if beam != self._beam:
            self._beam, self._path = beam, kernels.path_for(self._levels, beam)
        return self._path


# The classifier of an added label has its direction, this length and this bias.  Trained classifiers have margins of 1
# and more for their documents, of −1 and less for others; this one has BIAS to BIAS + LENGTH: a text says which
# documents a label may be for, and less surely for which it is.  Margins mean the same in every corpus; lengths of
# classifiers do not.  Chosen by `python -m benchmarks.new_labels --choose`.
LENGTH = np.float32(0.6)
BIAS = np.float32(-0.9)


def _compiled(level: Level, starts: np.ndarray, names: np.ndarray) -> kernels.Level:
    """Read-only arrays, whether mapped or not: to a compiler, levels of a tree must be of one type."""
    arrays = (level.starts, np.int64), (level.nodes, np.int32), (level.weights, np.float32), (level.biases, np.float32)
    return kernels.Level(*(frozen(*pair) for pair in (*arrays, (starts, np.int64), (names, np.int32))))


@dataclass(frozen=True)
class Linear:
    """Trees over the same features; a label's score is its mean belief."""

    bags: Bags
    descents: list[Descent]
    beam: Annotated[int, Number(1)]
    power: Annotated[float, Number(0)]
    belief_weight: Annotated[float, Number(0)]
    shares: Annotated[np.ndarray, Array("labels", np.float32)]  # the share of training documents that carry the label

    def check(self) -> None:
        """Every tree has all features and all labels."""
        if not self.descents:
            raise Unsound("there is no tree")
        for descent in self.descents:
            check_indices("labels of the tree", descent.tree.labels, self.n_labels)
            check_each_once("labels of the tree", descent.tree.labels)
            levels = [*descent.levels, descent.beside.classifiers]
            agree("features", self.bags.n_features, *(len(level.starts) - 1 for level in levels))
            if descent.added is not None:
                agree("labels, with added ones", self.n_labels, descent.added.first + len(descent.added))

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.shares)

    @cached_property
    def _answering(self) -> Answering | None:
        """Texts to labels without leaving compiled code, where there is one tree over words; never stored."""
        if self.bags.tfidf is None or len(self.descents) > 1:
            return None
        walk = kernels.Walk(self.beam, float(self.power), float(self.belief_weight))
        return Answering(self.bags.tfidf, self.descents[0].compiled, walk)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""
        if self._answering is not None and documents.texts is not None:
            ranking, lengths = self._answering.rank(documents.texts, k)
        else:
            rows = self.bags.plain_rows(documents)
            ranking, lengths = self._rank_rows(rows, k), np.diff(rows[0])
        return where_empty(lengths, self.shares, ranking)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """The mean margin of the trees' leaves, by words, and the nodes above them."""
        each = [explaining.reasons(documents, labels) for explaining in self._explaining]
        return average_of(each, [1 / len(each)] * len(each))

    @cached_property
    def _explaining(self) -> list[Explaining]:
        """What tells the reasons of every tree; never stored."""
        from longtail.methods.linear.explaining import Explaining

        ways = [(descent.compiled, descent.tree, descent.beside.first) for descent in self.descents]
        return [Explaining(self.bags, *way, float(self.power)) for way in ways]

    def _rank_rows(self, rows: Rows, k: int) -> Ranking:
        walk = self.beam, self.power, self.belief_weight
        if len(self.descents) == 1:
            return self.descents[0].rank(rows, k, *walk)
        return average([descent.rank(rows, max(k, POOL), *walk) for descent in self.descents], k=k)

    def with_labels(self, new: Described) -> Linear:
        """With new labels: classifiers of the words of their texts."""
        directions = new.directions(self.bags.rows(new.documents))
        descents = [descent.with_labels(directions, self.n_labels) for descent in self.descents]
        return replace(self, descents=descents, shares=np.append(self.shares, np.zeros(len(new), np.float32)))

    def without_labels(self, labels: np.ndarray) -> Linear:
        """With labels that are ranked behind all others, if at all."""
        descents = [descent.without_labels(labels) for descent in self.descents]
        return replace(self, descents=descents, shares=without(self.shares, labels))


# -- walking down ------------------------------------------------------------------------------------------------------

Beam = tuple[np.ndarray, np.ndarray]  # nodes and beliefs, (documents, width) each


def reach(tree: Tree, levels: list[Level], rows: Rows, beam: int, power: float) -> Beam:
    """The most believed nodes below `levels`, each opened only where its parent was among the most believed."""
    n_documents = len(rows[0]) - 1
    nodes, beliefs = np.zeros((n_documents, 1), np.int32), np.ones((n_documents, 1), np.float32)
    for at, level in enumerate(levels):
        n_nodes = tree.width(at + 1)
        names = np.arange(n_nodes, dtype=np.int32)
        nodes, beliefs = open_level(tree.starts[at], level, names, rows, (nodes, beliefs), min(beam, n_nodes), power)
    return nodes, beliefs


def open_level(
    starts: np.ndarray, level: Level, names: np.ndarray, rows: Rows, beam: Beam, k: int, power: float
) -> Beam:
    """The k most believed children, by name, of the nodes in the beam."""
    weights = (level.starts, level.nodes, level.weights)
    return open_nodes(rows, weights, level.biases, starts, names, beam, k, power)
