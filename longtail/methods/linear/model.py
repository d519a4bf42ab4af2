"""What answers: trees of sparse classifiers, descended from the root to the labels.  NumPy and compiled loops alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from longtail.corpus import PAD, Documents
from longtail.features.bags import Bags
from longtail.features.described import Described
from longtail.features.spans import ReadText
from longtail.index.clusters import Tree
from longtail.invariants import Array, Number, Unsound, agree, check_each_once, check_indices, check_rising_in_runs
from longtail.judge.ensemble import average
from longtail.kernels import descent as kernels
from longtail.kernels.borders import check_rows
from longtail.kernels.csr import Rows, frozen, rows_of
from longtail.kernels.entries import entries
from longtail.kernels.sparse_scores import open_nodes
from longtail.kernels.threads import in_slices
from longtail.methods.linear.answering import Answering
from longtail.rankers.frequent import where_empty, without
from longtail.rankers.label_rows import SILENT
from longtail.ranking import Ranking
from longtail.reasons import NAMED, Proposal, Reasons, average_of
from longtail.sparse import sp

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

    def of(self, features: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (nodes, features) and biases (nodes,) of some nodes; 0 at PAD."""
        found = entries((self.starts, self.nodes, self.weights), features, nodes).T
        return found, np.where(nodes == PAD, np.float32(0), self.biases[nodes])

    def typical(self) -> tuple[np.float32, np.float32]:
        """Length and bias that half of the classifiers stay below."""
        squares = np.bincount(self.nodes, np.square(self.weights, dtype=np.float64), len(self.biases))
        return np.float32(np.sqrt(np.median(squares))), np.float32(np.median(self.biases))

    def with_more(self, rows: sp.csr_array, bias: np.float32, nodes: np.ndarray) -> Level:
        """With more classifiers, (new, features), which become these `nodes`; the others move up behind them."""
        width = len(self.biases) + len(nodes)
        old = np.delete(np.arange(width, dtype=np.int32), nodes)
        new = rows.tocoo()
        columns, added = new.coords[1].astype(np.int64), nodes[new.coords[0]]
        # Feature by feature and in each by node: where the new weights belong among the old ones.
        feature = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        order = np.argsort(columns * width + added)
        at = np.searchsorted(feature * width + old[self.nodes], (columns * width + added)[order])
        grown = np.append(0, np.cumsum(np.bincount(columns, minlength=len(self.starts) - 1)))
        biases = np.full(width, bias)
        biases[old] = self.biases
        return Level(
            self.starts + grown,
            np.insert(old[self.nodes], at, added[order]),
            np.insert(self.weights, at, new.data[order]),
            biases,
        )

    def silenced(self, nodes: np.ndarray) -> Level:
        """With nodes that nobody believes."""
        biases = np.array(self.biases)
        biases[nodes] = SILENT
        return replace(self, biases=biases)


@dataclass(frozen=True)
class Descent:
    """A tree and the classifiers that lead down."""

    tree: Tree
    levels: list[Level]

    def check(self) -> None:
        """Every level of the tree has its classifiers."""
        agree("levels of the tree and of classifiers", self.tree.depth, len(self.levels))
        for at, level in enumerate(self.levels, 1):
            agree(f"nodes of level {at} and biases", self.tree.width(at), len(level.biases))

    @cached_property
    def compiled(self) -> tuple[kernels.Level, ...]:
        """The levels as compiled loops take them; clusters are called by their numbers, labels by their names."""
        names = [np.zeros(0, np.int32)] * (len(self.levels) - 1) + [self.tree.labels]
        return tuple(_compiled(*parts) for parts in zip(self.levels, self.tree.starts, names))

    def rank(self, features: sp.csr_array | Rows, k: int, beam: int, power: float, belief_weight: float) -> Ranking:
        """The best k labels in the clusters that each document's beam reaches."""
        rows = features if isinstance(features, tuple) else rows_of(features)
        check_rows(rows, len(self.levels[0].starts) - 1, "features of documents")
        n_documents, walk = len(rows[0]) - 1, kernels.Walk(beam, float(power), float(belief_weight))
        labels, scores = np.full((n_documents, k), PAD, np.int32), np.zeros((n_documents, k), np.float32)

        def part(start: int, stop: int) -> None:
            path = kernels.path_for(self.compiled, beam)
            kernels.rank_rows(self.compiled, walk, rows, start, stop, path, labels, scores)

        in_slices(part, n_documents, "ranking documents")
        return Ranking(labels, scores)

    def reasons(self, read: ReadText, labels: np.ndarray, power: float) -> Reasons:
        """What words add to the margins of the labels' leaves, and the nodes above these with their beliefs.

        A label that hangs nowhere has no classifier: nothing adds to a margin of 0.
        """
        leaves = self.tree.leaves(labels)
        words = read.explained(*self.levels[-1].of(read.columns, leaves))
        proposals: list[list[Proposal]] = [[] for _ in labels]
        beliefs, paths = np.ones(len(labels)), self.tree.above(leaves)
        for at, (level, nodes) in enumerate(zip(self.levels, paths), 1):
            beliefs = beliefs * belief_of(read.margins(*level.of(read.columns, nodes)), power)
            for found, node, belief in zip(proposals, nodes.tolist(), beliefs.tolist()):
                if node != PAD:
                    found.append(Proposal(node, belief, self.tree.under(at, node)[:NAMED]))
        return Reasons(words, proposals)

    def with_labels(self, directions: sp.csr_array, first: int, beam: int, power: float) -> Descent:
        """With labels numbered from `first`, each in the last cluster that its direction is most believed to be in."""
        *upper, last = self.levels
        clusters, _ = reach(self.tree, upper, rows_of(directions), beam, power)
        tree, nodes = self.tree.with_more(first + np.arange(directions.shape[0]), clusters[:, 0])
        length, bias = last.typical()
        return Descent(tree, [*upper, last.with_more(directions * length, bias, nodes)])

    def without_labels(self, labels: np.ndarray) -> Descent:
        """With labels that nobody believes."""
        *upper, last = self.levels
        return Descent(self.tree, [*upper, last.silenced(np.flatnonzero(np.isin(self.tree.labels, labels)))])


def belief_of(margins: np.ndarray, power: float) -> np.ndarray:
    """exp(-max(0, 1 - z)^power), or 1 / (1 + exp(-z)) where the power is 0: what kernels/sparse_scores.py computes."""
    return 1 / (1 + np.exp(-margins)) if power == 0 else np.exp(-(np.maximum(0, 1 - margins) ** power))


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
            agree("features", self.bags.n_features, *(len(level.starts) - 1 for level in descent.levels))

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
        read = ReadText.of(self.bags, documents)
        each = [descent.reasons(read, labels, self.power) for descent in self.descents]
        return average_of(each, [1 / len(each)] * len(each))

    def _rank_rows(self, rows: Rows, k: int) -> Ranking:
        walk = self.beam, self.power, self.belief_weight
        if len(self.descents) == 1:
            return self.descents[0].rank(rows, k, *walk)
        return average([descent.rank(rows, max(k, POOL), *walk) for descent in self.descents], k=k)

    def with_labels(self, new: Described) -> Linear:
        """With new labels: the words of their texts, weighed as much as a trained classifier weighs its own."""
        directions = new.directions(self.bags.rows(new.documents))
        walk = self.n_labels, self.beam, self.power
        descents = [descent.with_labels(directions, *walk) for descent in self.descents]
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
