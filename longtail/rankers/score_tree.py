"""A decision tree on the scores of a ranker and of what proposed the labels.

Gupta et al., NeurIPS 2022 (ELIAS++), section 3.5: a tree on both scores and the label frequency, since equal scores
mean different probabilities for rare and for frequent labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.errors import MissingExtraError
from longtail.invariants import Array, Number, Unsound
from longtail.kernels.reranking import Tree
from longtail.kernels.score_tree import shares_at_leaves

ASKED = 3  # features of the tree: both scores, and the label frequency


@dataclass(frozen=True)
class ScoreTree:
    """Decision tree with tests "feature ≤ threshold", and the share of true labels at each leaf."""

    # Feature tested at a node, or LEAF.
    columns: Annotated[np.ndarray, Array("nodes", np.int32, below=ASKED, pad=True)]
    thresholds: Annotated[np.ndarray, Array("nodes", np.float64)]
    # Next node if the test is true and if it is false; a leaf points to itself.
    yes: Annotated[np.ndarray, Array("nodes", np.int32, below="nodes")]
    no: Annotated[np.ndarray, Array("nodes", np.int32, below="nodes")]
    shares: Annotated[np.ndarray, Array("nodes", np.float32, between=(0, 1))]
    depth: Annotated[int, Number(0)]

    def check(self) -> None:
        """Raise Unsound unless the tree has a root and its depth is below the number of nodes."""
        if not self.depth < len(self.columns):
            raise Unsound(f"a tree of {len(self.columns)} nodes cannot be {self.depth} deep")

    def probabilities(self, *columns: np.ndarray) -> np.ndarray:
        """Probabilities that labels are true, from their features, arrays of equal shape."""
        asked = np.stack([np.asarray(column, np.float32).ravel() for column in columns])
        return shares_at_leaves(*self.compiled, asked).reshape(np.shape(columns[0]))

    @property
    def compiled(self) -> Tree:
        """The parts in the form that compiled loops take."""
        return Tree(self.columns, self.thresholds, self.yes, self.no, self.shares, self.depth)


LEAF = -1


def fit_tree(columns: tuple[np.ndarray, ...], true: np.ndarray, depth: int) -> ScoreTree:
    """Fit a decision tree of at most this depth with scikit-learn."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise MissingExtraError("growing a tree of scores", "train") from None
    grown = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=SMALLEST_LEAF, random_state=0)
    tree = grown.fit(np.stack(columns, axis=1).astype(np.float32), np.asarray(true, bool)).tree_
    leaf, itself = tree.children_left == LEAF, np.arange(tree.node_count)
    yes, no = (np.where(leaf, itself, side).astype(np.int32) for side in (tree.children_left, tree.children_right))
    truth = np.flatnonzero(grown.classes_)  # empty or a single class if all labels are equal
    shares = tree.value[:, 0, truth].sum(axis=1).astype(np.float32)
    return ScoreTree(
        np.where(leaf, LEAF, tree.feature).astype(np.int32), tree.threshold, yes, no, shares, int(tree.max_depth)
    )


SMALLEST_LEAF = 20  # labels: enough to estimate a share to about 0.1
