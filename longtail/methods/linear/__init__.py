"""Linear: one sparse classifier a label, found by descending a tree of label clusters.

Parabel (Prabhu et al., WWW 2018), Bonsai (Khandagale et al., 2020) and XR-Linear (Yu et al., PECOS, JMLR 2022).
What differs on purpose, and why, is in docs/methods/linear.md.

    document --TF-IDF--> x --level 1--> beam of clusters --level 2--> ... --last level--> labels

    papers       here           meaning
    PIFA         centroids      a label as the normalised sum of its documents
    C            tree           which cluster a label hangs on
    M            shortlist      the documents a classifier is trained on: those that reach its parent
    W            weights        one classifier for every child of every cluster
    l3-hinge     belief         how a margin becomes a number in [0, 1]; beliefs multiply along a path
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import scipy.sparse as sp

from longtail.config import setting
from longtail.corpus import PAD, Corpus, Documents
from longtail.errors import ConfigError
from longtail.features.bags import Bags, features_expected, words_expected
from longtail.features.described import Described
from longtail.features.tfidf import TfidfOptions
from longtail.index.clusters import Clusters, Tree, tree_over
from longtail.invariants import Array, Number, Unsound, agree, check_each_once, check_indices, check_rising_in_runs
from longtail.judge.ensemble import average
from longtail.kernels.csr import Rows, rows_of
from longtail.kernels.sparse_scores import open_nodes
from longtail.kernels.threads import available_cores
from longtail.methods.shared.preparation import cluster_labels, refuse_unlabelled
from longtail.rankers import sparse_linear
from longtail.rankers.frequent import label_shares, where_silent, without
from longtail.rankers.label_rows import SILENT
from longtail.ranking import Ranking
from longtail.train.run import Need, Run

CPU_ONLY = True  # nothing here learns with torch


@dataclass(frozen=True)
class Config:
    """Defaults: PECOS' where its papers and ours agree; chosen on validation elsewhere."""

    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become features")
    trees: int = setting(1, "trees of different clusterings, whose beliefs are averaged", "Parabel uses 3")
    labels_per_cluster: int = setting(100, "labels a last cluster holds at most", "Parabel, PECOS")
    branching: int = setting(256, "smaller clusters in one larger cluster at most", "validation; Bonsai 100, PECOS 16")
    beam: int = setting(20, "clusters of a level that are opened", "PECOS")
    negatives: int = setting(
        10,
        "most believed clusters whose labels a training document counts against; 0: those of its labels",
        "validation",
    )
    cluster_weight: float = setting(
        0.4, "how much the clusters' beliefs count in a label's score; 0: they only find it, 1: PECOS", "validation"
    )
    belief: Literal["l3-hinge", "l2-hinge", "l1-hinge", "sigmoid"] = setting(
        "l3-hinge", "how a margin z becomes a belief: exp(-max(0, 1 - z)^p) or 1 / (1 + exp(-z))", "PECOS"
    )
    cost: float = setting(1.0, "weight of the loss against the squared weights", "Parabel, PECOS")
    tolerance: float = setting(0.3, "how exactly classifiers are solved; smaller is slower", "validation; PECOS 0.1")
    smallest_weight: float = setting(0.1, "smaller weights are dropped", "Parabel, PECOS")
    seed: int = setting(0, "draws the clusterings")

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if not getattr(self, name) >= least:
                raise ConfigError(f"{name} = {getattr(self, name)}: it must be at least {least}")
        if self.trees > MOST_TREES:
            raise ConfigError(f"trees = {self.trees}: at most {MOST_TREES}; after the first ten, more change little")
        if not (self.cost > 0 and self.tolerance > 0):
            raise ConfigError(f"cost = {self.cost}, tolerance = {self.tolerance}: both must be above 0")


LEAST = {"trees": 1, "labels_per_cluster": 1, "branching": 2, "beam": 1, "negatives": 0, "cluster_weight": 0,
         "smallest_weight": 0, "seed": 0}  # fmt: skip
MOST_TREES = 100  # every level of every tree keeps a file open, and a process may have about a thousand
POWERS = {"l3-hinge": 3.0, "l2-hinge": 2.0, "l1-hinge": 1.0, "sigmoid": 0.0}
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

    def rank(self, features: sp.csr_array, k: int, beam: int, power: float, cluster_weight: float) -> Ranking:
        """The best k labels in the clusters that each document's beam reaches."""
        *upper, last = self.levels
        rows = rows_of(features)
        clusters, beliefs = reach(self.tree, upper, rows, beam, power)
        path = clusters, beliefs**cluster_weight
        return Ranking(*open_level(self.tree.starts[-1], last, self.tree.labels, rows, path, k, power))

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


@dataclass(frozen=True)
class Linear:
    """Trees over the same features; a label's score is its mean belief."""

    bags: Bags
    descents: list[Descent]
    beam: Annotated[int, Number(1)]
    power: Annotated[float, Number(0)]
    cluster_weight: Annotated[float, Number(0)]
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

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""
        features, walk = self.bags.rows(documents), (self.beam, self.power, self.cluster_weight)
        if len(self.descents) == 1:
            ranking = self.descents[0].rank(features, k, *walk)
        else:
            ranking = average([descent.rank(features, max(k, POOL), *walk) for descent in self.descents], k=k)
        return where_silent(features, self.shares, ranking)

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


def fit(corpus: Corpus, config: Config, run: Run) -> Linear:
    """Words, features, and for every tree its clusters and one set of classifiers a level."""
    refuse_unlabelled(corpus)
    bags = run.stage("words", Bags.fit, corpus.documents, config.words)
    features = run.stage("features", bags.rows, corpus.documents)
    descents = [grow(features, corpus.labels, config, run, number) for number in range(1, config.trees + 1)]
    walk = config.beam, POWERS[config.belief], config.cluster_weight
    return Linear(bags, descents, *walk, label_shares(corpus.labels))


def grow(features: sp.csr_array, labels: sp.csr_array, config: Config, run: Run, number: int) -> Descent:
    """One tree, trained from the root down."""
    shape = config.labels_per_cluster, config.branching, [config.seed, number]
    tree = run.stage(f"tree-{number}", grow_tree, features, labels, *shape)
    levels: list[Level] = []
    for level in range(1, tree.depth + 1):
        name = f"tree-{number}-level-{level}"
        levels.append(run.stage(name, train_level, tree, levels, features, labels, config))
    return Descent(tree, levels)


# -- stages ------------------------------------------------------------------------------------------------------------


def grow_tree(features: sp.csr_array, labels: sp.csr_array, size: int, branching: int, seed: list[int]) -> Tree:
    """A tree over the labels that have documents; the others cannot be learned and hang nowhere."""
    used = np.unique(labels.indices)
    clusters = cluster_labels(features, labels[:, used], None, size, seed)
    return tree_over(Clusters(used[clusters.labels].astype(np.int32), clusters.starts), branching)


def train_level(tree: Tree, above: list[Level], features: sp.csr_array, labels: sp.csr_array, config: Config) -> Level:
    """Classifiers of the nodes on the level after those `above`, each trained on documents that reach its parent."""
    at = len(above) + 1
    shortlist = nodes_of(tree, at - 1, labels)
    if config.negatives:
        shortlist = shortlist + nodes_reached(tree, above, features, config)
    trained = sparse_linear.train(
        features,
        nodes_of(tree, at, labels),
        shortlist,
        tree.parents(at),
        cost=config.cost,
        tolerance=config.tolerance,
        threshold=config.smallest_weight,
        seed=config.seed,
    )
    return Level(*rows_of(trained.weights.T.tocsr()), trained.biases)


def nodes_of(tree: Tree, level: int, labels: sp.csr_array) -> sp.csr_array:
    """The nodes of a level that the labels of each document lie under, (documents, nodes)."""
    node = np.zeros(labels.shape[1], np.int32)
    node[tree.labels] = tree.above_labels(level)
    entries = np.ones(labels.nnz, np.float32), node[labels.indices], labels.indptr.copy()
    matrix = sp.csr_array(entries, shape=(labels.shape[0], tree.width(level)))
    matrix.sum_duplicates()
    return matrix


def nodes_reached(tree: Tree, levels: list[Level], features: sp.csr_array, config: Config) -> sp.csr_array:
    """The nodes below `levels` that a document is most likely to be led to, rightly or not, (documents, nodes)."""
    nodes, _ = reach(tree, levels, rows_of(features), config.beam, POWERS[config.belief])
    nodes = nodes[:, : config.negatives]
    reached = nodes != PAD
    starts = np.append(0, np.cumsum(reached.sum(axis=1)))
    shape = features.shape[0], tree.width(len(levels))
    return sp.csr_array((np.ones(starts[-1], np.float32), nodes[reached], starts), shape=shape)


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


# -- what it takes -----------------------------------------------------------------------------------------------------


PROGRAM = 250_000_000  # bytes before any document is read: interpreter, libraries, compiled code
KEPT = 800  # weights above the threshold that a label keeps, however long its documents are


def need(corpus: Corpus, config: Config) -> Need:
    """Estimates from counts alone, checked against measured runs."""
    entries, words = features_expected(corpus.documents, config.words), words_expected(corpus.documents, config.words)
    n_used = max(1, len(np.unique(corpus.labels.indices)))
    entries_per_label = entries / len(corpus) * corpus.labels.nnz / n_used
    parameters = 1 + int(config.trees * n_used * min(2 * entries_per_label, KEPT))
    # The widest level is trained on all documents: a dual variable and a sign a document, a weight a word.
    block = sparse_linear.TOGETHER * (5 * len(corpus) + 4 * words)
    memory = PROGRAM + 24 * entries + 20 * parameters + available_cores() * block
    return Need(parameters, memory, disk=10 * entries + 20 * parameters + 40 * words)
