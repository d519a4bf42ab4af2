"""Candidates from a graph of clusters, each scored by its own classifier and by its path.

Gupta et al., NeurIPS 2022 (ELIAS), section 3.2:

    p_l = σ(w_l · φ + b_l) · ŷ_l        for the K labels with the best paths (index/graph.py has ŷ)

This module is for inference; learn/graphed.py is for training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from longtail.index.graph import GraphIndex
from longtail.invariants import Number, agree
from longtail.kernels.graph_ranking import GraphRanking
from longtail.rankers.label_rows import NEIGHBOURS, LabelRows
from longtail.ranking import Ranking
from longtail.reasons import Proposal
from longtail.shortlist import Shortlist

if TYPE_CHECKING:
    from longtail.features.described import Summary

NEAR_CLUSTERS, NEAR_LABELS = 20, 200  # among which the neighbours of a new label are looked for


@dataclass(frozen=True)
class Graphed:
    """A graph that proposes labels, and a classifier per label."""

    index: GraphIndex
    labels: LabelRows  # W_L
    belief_weight: Annotated[float, Number(0)] = 1.0  # score = σ(label) · ŷ^belief_weight

    def check(self) -> None:
        """Raise Unsound unless every label has a row of the clusters' dimension."""
        agree("labels and their rows", self.index.n_labels, len(self.labels))
        agree("rows of labels and of clusters", self.labels.dim, self.index.clusters.dim)

    def rank(self, vectors: np.ndarray, k: int) -> Ranking:
        """The k best labels by p_l, for document vectors (documents, dim)."""
        return Ranking(*self._ranking.rank(vectors, k))

    def proposals(self, vectors: np.ndarray, labels: np.ndarray) -> Callable[[int], list[Proposal]]:
        """Of each label the clusters that lead one document to it; these are known if it was ranked last."""
        known = self._ranking.opened(vectors)
        return self.index.proposals(vectors, labels, None if known is None else Shortlist(*known))

    @cached_property
    def _ranking(self) -> GraphRanking:
        """The graph and the classifiers as compiled loops take them; never stored."""
        index, ways = self.index, (self.index.add, self.index.alpha, self.belief_weight)
        tables = index.clusters.table, index.edges, self.labels.table
        return GraphRanking(*tables, index.beam, index.shortlist, ways)

    def with_labels(self, texts: Summary) -> Graphed:
        """With new labels, hanging on the clusters that their texts open first."""
        from longtail.kernels.fusion import weighed_top  # a model that only answers does without

        opened, inside = self.index.near(texts.means, NEAR_CLUSTERS, NEAR_LABELS)
        weighed = inside.labels, inside.belief**self.belief_weight
        near, _ = weighed_top(self.labels.table_for(texts.means), texts.means, *weighed, NEIGHBOURS)
        rows = self.labels.with_unseen(texts, near)
        return replace(self, index=self.index.with_labels(opened), labels=rows)

    def without_labels(self, labels: np.ndarray) -> Graphed:
        """With labels that score 0; their edges stay, for those of other labels have their weights beside them."""
        return replace(self, labels=self.labels.silenced(labels))
