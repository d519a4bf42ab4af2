"""Label rows: the classifiers of all labels, or of all clusters, of every method whose classifiers are dense.

    logit of label l = ⟨row_l, x⟩ + bias_l          score = σ(logit)

One class holds them wherever a method keeps a row a label, so that faster scoring, smaller storage, adding a label and
dividing rows over processes are each a change here.  What learns them is in learn/label_rows.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from longtail.errors import ConfigError
from longtail.index.clusters import Clusters
from longtail.invariants import Array, agree
from longtail.kernels import label_rows as kernels
from longtail.kernels.fusion import fused_top
from longtail.kernels.paths import opened
from longtail.ranking import Ranking
from longtail.shortlist import Shortlist


@dataclass(frozen=True)
class LabelRows:
    """A row and a bias for every label, in the order they lie in memory.

    With `clusters`, row i is that of label clusters.labels[i], so that the labels of a cluster are one run of memory.
    Without, row i is that of label i.
    """

    rows: Annotated[np.ndarray, Array("labels dim", np.float32)]
    biases: Annotated[np.ndarray, Array("labels", np.float32)]
    clusters: Clusters | None = None

    def check(self) -> None:
        """Clusters hold as many labels as there are rows."""
        if self.clusters is not None:
            agree("labels in clusters and rows", len(self.clusters.labels), len(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dim(self) -> int:
        """Length of a row."""
        return self.rows.shape[1]

    @property
    def places(self) -> np.ndarray:
        """Which row is that of each label, (labels,)."""
        return np.arange(len(self)) if self.clusters is None else np.argsort(self.clusters.labels)

    # -- scoring -------------------------------------------------------------------------------------------------------

    def logits(self, vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """⟨row, vector⟩ + bias of each document's own labels, (documents, width); anything at PAD."""
        self._fit(vectors)
        return kernels.shortlist_logits(vectors, self.rows, labels) + self.biases[labels]

    def top(self, vectors: np.ndarray, k: int) -> Shortlist:
        """The k labels with the largest scores, best first, and these scores: (documents, k) each."""
        self._fit(vectors)
        return Shortlist(*kernels.likeliest(vectors, self.rows, self.biases, k))

    def top_for_many(self, vectors: np.ndarray, k: int) -> np.ndarray:
        """The labels that `top` finds, for a training set: faster, and not to the last bit the same."""
        return kernels.likeliest_for_many(vectors, self.rows, self.biases, k)

    def top_by_softmax(self, vectors: np.ndarray, alpha: float, k: int) -> Shortlist:
        """The k labels with the largest min(1, α·softmax(logits)), and these: (documents, k) each."""
        self._fit(vectors)
        return Shortlist(*opened(vectors, self.rows, self.biases, alpha, k))

    def top_inside(self, vectors: np.ndarray, clusters: Shortlist, k: int) -> Ranking:
        """The k best labels of the clusters given, by σ(logit) · belief in the cluster."""
        self._fit(vectors)
        assert self.clusters is not None, "rows in no order of clusters"
        runs = self.clusters.starts, self.clusters.labels
        found = kernels.rank_members(vectors, self.rows, self.biases, *runs, clusters.labels, clusters.belief, k)
        return Ranking(*found)

    def top_fused(self, vectors: np.ndarray, shortlist: Shortlist, beta: float, k: int) -> Ranking:
        """The k best labels of a shortlist, by β·σ(logit) + (1 − β)·belief."""
        self._fit(vectors)
        return Ranking(*fused_top(vectors, self.rows, self.biases, shortlist.labels, shortlist.belief, beta, k))

    def _fit(self, vectors: np.ndarray) -> None:
        agree("document vectors and rows", vectors.shape[1], self.dim)

    # -- other rows ----------------------------------------------------------------------------------------------------

    def append(self, rows: np.ndarray, biases: np.ndarray, where: np.ndarray | None = None) -> LabelRows:
        """With more labels, numbered after those there are; `where` names the cluster that each goes to.

        >>> few = LabelRows(np.zeros((1, 2), np.float32), np.zeros(1, np.float32))
        >>> len(few.append(np.ones((3, 2), np.float32), np.ones(3, np.float32)))
        4
        """
        agree("rows, biases", len(rows), len(biases))
        agree("lengths of rows", self.dim, rows.shape[1])
        if self.clusters is None:
            at = np.full(len(rows), len(self))
        elif where is None or len(where) != len(rows):
            raise ConfigError(f"{len(rows)} new labels need a cluster each")
        else:
            at = self.clusters.starts[np.asarray(where) + 1]
        more = None if self.clusters is None else self.clusters.with_more(np.asarray(where), at)
        return replace(
            self,
            rows=np.insert(self.rows, at, rows, axis=0),
            biases=np.insert(self.biases, at, biases),
            clusters=more,
        )

    def silenced(self, labels: np.ndarray) -> LabelRows:
        """With labels that score 0 whatever the document; their indices stay."""
        rows, biases = np.array(self.rows), np.array(self.biases)
        at = labels if self.clusters is None else np.flatnonzero(np.isin(self.clusters.labels, labels))
        rows[at], biases[at] = 0, SILENT
        return replace(self, rows=rows, biases=biases)

    def part(self, number: int, parts: int) -> LabelRows:
        """Rows number/parts of the way through memory to (number + 1)/parts, as views: one process's share of them."""
        run = slice(len(self) * number // parts, len(self) * (number + 1) // parts)
        return LabelRows(self.rows[run], self.biases[run])


SILENT = np.float32(-1e4)  # a logit whose score is 0; finite, as all that is stored
