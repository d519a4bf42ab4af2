"""Stages of the linear method: trees over the labels, the classifiers of their nodes, and what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from longtail.corpus import PAD, Corpus
from longtail.features.bags import features_expected, words_expected
from longtail.features.labels import centroid_bytes
from longtail.index.balanced import tree_over
from longtail.index.clusters import Clusters, Tree
from longtail.kernels.threads import available_cores
from longtail.methods.linear.model import Descent, Level, reach
from longtail.methods.linear.settings import POWERS, Config
from longtail.methods.shared.preparation import cluster_labels
from longtail.rankers import sparse_linear
from longtail.sparse import rows_of, sp
from longtail.train.need import Need

if TYPE_CHECKING:
    from longtail.train.run import Run


def grow(features: sp.csr_array, labels: sp.csr_array, config: Config, run: Run, number: int) -> Descent:
    """One tree, trained from the root down."""
    shape = config.labels_per_cluster, config.branching, [config.seed, number]
    tree = run.stage(f"tree-{number}", grow_tree, features, labels, *shape)
    levels: list[Level] = []
    for level in range(1, tree.depth + 1):
        name = f"tree-{number}-level-{level}"
        levels.append(run.stage(name, train_level, tree, levels, features, labels, config))
    return Descent(tree, levels)


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
    training = 20 * parameters + available_cores() * block
    clustering = centroid_bytes(entries, len(corpus), corpus.labels.nnz)
    memory = PROGRAM + 24 * entries + max(training, clustering)
    return Need(parameters, memory, disk=10 * entries + 20 * parameters + 40 * words)
