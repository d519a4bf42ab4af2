"""Two opinions about a shortlist as one: how far each label's classifier agrees with the index that proposed it.

Mishra et al., IJCNN 2023 (LightDXML), section IV-F:

    ŷ_l = β·σ(⟨w_l, x̂⟩ + b_l) + (1 − β)·belief_l

Gupta et al., NeurIPS 2022 (ELIAS++), section 3.5: a decision tree that asks about both opinions and how frequent the
label is, since opinions about rare labels are not worth what the same about frequent ones are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.errors import MissingExtraError
from longtail.invariants import Array, Number, Unsound
from longtail.kernels.score_tree import shares_at_leaves
from longtail.rankers.label_rows import LabelRows
from longtail.ranking import Ranking
from longtail.shortlist import Shortlist


@dataclass(frozen=True)
class Fusion:
    """A classifier a label, and β: 1 trusts the classifiers alone, 0 the index alone."""

    labels: LabelRows
    beta: Annotated[float, Number(0, 1)]

    def rank(self, documents: np.ndarray, shortlist: Shortlist, k: int) -> Ranking:
        """The k best labels of each shortlist, given document vectors (documents, dim)."""
        return self.labels.top_fused(documents, shortlist, self.beta, k)


ASKED = 3  # numbers that a tree can ask about: both opinions, and how frequent the label is


@dataclass(frozen=True)
class ScoreTree:
    """Questions "is this number at most that?", and at the end of each path the share of labels that were true."""

    # Which number a node asks about; LEAF where it asks nothing.
    columns: Annotated[np.ndarray, Array("nodes", np.int32, below=ASKED, pad=True)]
    thresholds: Annotated[np.ndarray, Array("nodes", np.float64)]
    # The node after a yes and after a no; at a leaf, the leaf itself.
    yes: Annotated[np.ndarray, Array("nodes", np.int32, below="nodes")]
    no: Annotated[np.ndarray, Array("nodes", np.int32, below="nodes")]
    shares: Annotated[np.ndarray, Array("nodes", np.float32, between=(0, 1))]
    depth: Annotated[int, Number(0)]

    def check(self) -> None:
        """There is a first question, and no path asks more than there are."""
        if not self.depth < len(self.columns):
            raise Unsound(f"a tree of {len(self.columns)} nodes cannot be {self.depth} deep")

    def probabilities(self, *columns: np.ndarray) -> np.ndarray:
        """How likely a label is true, given its numbers in arrays of any one shape."""
        asked = np.stack([np.asarray(column, np.float32).ravel() for column in columns])
        tree = self.columns, self.thresholds, self.yes, self.no, self.shares, self.depth
        return shares_at_leaves(*tree, asked).reshape(np.shape(columns[0]))


LEAF = -1


def fit_tree(columns: tuple[np.ndarray, ...], true: np.ndarray, depth: int) -> ScoreTree:
    """The tree of at most so many questions that tells true labels from others best; scikit-learn grows it."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise MissingExtraError("growing a tree of scores", "train") from None
    grown = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=SMALLEST_LEAF, random_state=0)
    tree = grown.fit(np.stack(columns, axis=1).astype(np.float32), np.asarray(true, bool)).tree_
    leaf, itself = tree.children_left == LEAF, np.arange(tree.node_count)
    yes, no = (np.where(leaf, itself, side).astype(np.int32) for side in (tree.children_left, tree.children_right))
    truth = np.flatnonzero(grown.classes_)  # one class alone if all were true, or none
    shares = tree.value[:, 0, truth].sum(axis=1).astype(np.float32)
    return ScoreTree(
        np.where(leaf, LEAF, tree.feature).astype(np.int32), tree.threshold, yes, no, shares, int(tree.max_depth)
    )


SMALLEST_LEAF = 20  # labels whose share can be told to a tenth
