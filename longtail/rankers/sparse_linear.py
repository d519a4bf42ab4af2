"""One sparse linear classifier a label, trained only where the label is a candidate.

With as many labels as there are documents, every document is a negative example of nearly every label.  A label
learns from the documents for which it was shortlisted, which are those it must be told apart from, and from its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from longtail.corpus import Documents
from longtail.features.bags import Bags
from longtail.features.spans import ReadText
from longtail.invariants import Array, agree
from longtail.kernels.borders import check_rows
from longtail.kernels.dual import Block, Problem, train_block
from longtail.kernels.reasons import weights_of
from longtail.kernels.sparse_scores import OneDocument, score_candidates
from longtail.kernels.threads import PerThread, each_in_threads
from longtail.progress import counting
from longtail.ranking import SILENT
from longtail.reasons import Contributions
from longtail.shortlist import Shortlist
from longtail.sparse import Rows, rows_of, sp

USUAL = 128  # candidates of a document for which every thread keeps arrays
TOGETHER = 64  # labels solved side by side when they share one list of documents
APART = 16  # when each has its own, and most documents of the block mean nothing to most of its labels


@dataclass(frozen=True)
class SparseLinear:
    """w·x + b for every label; most weights are absent."""

    weights: sp.csr_array  # (labels, features) float32
    biases: Annotated[np.ndarray, Array("labels", np.float32)]

    def check(self) -> None:
        """Every label has weights and a bias."""
        agree("rows of weights and biases", self.weights.shape[0], len(self.biases))

    def margins(self, features: sp.csr_array | Rows, shortlist: Shortlist) -> np.ndarray:
        """w·x + b of each document's candidates, (documents, width); 0 at PAD."""
        n_features = self.weights.shape[1]
        if not isinstance(features, tuple):
            agree("features and weights", features.shape[1], n_features)
            features = rows_of(features)
        desk = self._desks.here if len(shortlist.labels) == 1 else None
        return score_candidates(features, self._rows, self.biases, shortlist.labels, n_features, desk=desk)

    @cached_property
    def _desks(self) -> PerThread[OneDocument]:
        return PerThread(lambda: OneDocument(self._rows, self.biases, self.weights.shape[1], USUAL))

    @cached_property
    def _rows(self) -> Rows:
        """The weights as compiled loops take them: their starts are as many as labels, and are converted once."""
        return rows_of(self.weights)

    def explained(self, bags: Bags, documents: Documents, labels: np.ndarray, first: int = 0) -> Contributions:
        """What the words of one document add to w·x + b of some labels; words have the columns from `first`."""
        read = ReadText.of(bags, documents)
        return read.explained(weights_of(self._rows, labels, read.columns + first), self.biases[labels])

    def with_more(self, directions: sp.csr_array) -> SparseLinear:
        """With more classifiers, of length 1 in `directions`, (new, features), made as long and biased as is usual."""
        squares = self.weights.multiply(self.weights).sum(axis=1)
        length, bias = np.float32(np.sqrt(np.median(squares))), np.float32(np.median(self.biases))
        weights = sp.csr_array(sp.vstack([self.weights, directions * length], format="csr"))
        return SparseLinear(weights, np.append(self.biases, np.full(directions.shape[0], bias)))

    def silenced(self, labels: np.ndarray) -> SparseLinear:
        """Silence labels: margins far below all others."""
        biases = np.array(self.biases)
        biases[labels] = SILENT
        return replace(self, biases=biases)


def train(
    features: sp.csr_array,
    labels: sp.csr_array,
    shortlist: sp.csr_array,
    lists: np.ndarray | None = None,
    *,
    cost: float = 1.0,
    bias: float = 1.0,
    tolerance: float = 0.1,
    max_passes: int = 100,
    threshold: float = 0.1,
    seed: int = 0,
) -> SparseLinear:
    """Train label l on the documents that shortlist it and on those that carry it.

    `features` (documents, features), `labels` (documents, labels).  The stored entries of `shortlist` say which
    documents shortlist what: labels, or groups of labels when lists[l] names the column of label l.

    Solver and defaults are LIBLINEAR's as PECOS uses it; see longtail.kernels.dual.
    """
    rows, positives, shortlists = rows_of(features), _by_column(labels), _by_column(shortlist)
    check_rows(rows, features.shape[1], "features of documents")
    problem = Problem(float(cost), float(bias), float(tolerance), max_passes, seed)
    n_labels, n_features = labels.shape[1], features.shape[1]
    column = np.arange(n_labels, dtype=np.int32) if lists is None else np.asarray(lists, np.int32)

    def solve(members: np.ndarray) -> Block:
        lists = column[members]
        block = train_block(rows, positives, shortlists, members, lists, n_features, problem, float(threshold))
        done(len(members))
        return block

    groups = column // APART if lists is None else column
    counts = np.diff(positives[0])
    blocks = _blocks(groups, counts)
    with counting(n_labels, "solving classifiers") as done:
        solved = each_in_threads(solve, blocks)
    trained = _joined(solved, np.concatenate(blocks), n_features)
    # Where nobody says yes the answer is no, even to a document like none that said so.
    return replace(trained, biases=np.where(counts > 0, trained.biases, np.float32(-1)))


def _by_column(matrix: sp.csr_array) -> Rows:
    """The documents of every column, in order."""
    return rows_of(matrix.T.tocsr())


def _blocks(groups: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Labels to be solved side by side: of one group, no more than TOGETHER, and about equally frequent.

    Frequent labels need more passes, and a block takes as many as the slowest of its labels.
    """
    order = np.lexsort((counts, groups)).astype(np.int32)
    runs = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    return [block for run in runs for block in np.array_split(run, math.ceil(len(run) / TOGETHER))]


def _joined(blocks: list[Block], order: np.ndarray, n_features: int) -> SparseLinear:
    """The classifiers of all blocks, label 0 first."""
    lengths = np.concatenate([np.diff(block.starts) for block in blocks])
    weights = np.concatenate([block.weights for block in blocks])
    features = np.concatenate([block.features for block in blocks])
    biases = np.concatenate([block.biases for block in blocks])
    by_label = np.argsort(order)
    joined = sp.csr_array((weights, features, np.append(0, np.cumsum(lengths))), shape=(len(order), n_features))
    return SparseLinear(joined[by_label], biases[by_label])
