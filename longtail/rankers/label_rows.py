"""Label rows: the classifiers of all labels, or of all clusters, of every method whose classifiers are dense.

    logit of label l = ⟨row_l, x⟩ + bias_l          score = σ(logit)

One class holds them wherever a method keeps a row a label, so that faster scoring, smaller storage, adding a label and
dividing rows over processes are each a change here.  What learns them is in learn/label_rows.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from longtail.errors import ConfigError
from longtail.index.clusters import Clusters
from longtail.invariants import Array, Number, agree
from longtail.kernels.opening import Opening, likeliest_in_levels
from longtail.kernels.tables import Members, Table, likeliest_of, own_products, rank_members
from longtail.precision import FP32, STORED, as_floats, precision_of, stored_as
from longtail.ranking import SILENT, Ranking
from longtail.shortlist import Shortlist

if TYPE_CHECKING:
    from longtail.features.described import Summary


@dataclass(frozen=True)
class Coarse:
    """A row for each cluster of rows, and how many clusters are opened for a document."""

    rows: Annotated[np.ndarray, Array("clusters dim", STORED, scales="scales")]
    biases: Annotated[np.ndarray, Array("clusters", np.float32)]
    probes: Annotated[int, Number(1)]
    scales: Annotated[np.ndarray | None, Array("clusters", np.float32, between=(0, np.inf))] = None

    @cached_property
    def table(self) -> Table:
        """The rows as compiled loops take them; made when they are first asked for, and never stored."""
        return Table(self.rows, self.biases, self.scales)

    def opened(self, vectors: np.ndarray) -> np.ndarray:
        """The clusters with the largest scores, (documents, probes or all there are)."""
        return likeliest_of(self.table, vectors, min(self.probes, len(self.rows)))[0]


@dataclass(frozen=True)
class LabelRows:
    """A row and a bias for every label, in the order they lie in memory.

    With `clusters`, row i is that of label clusters.labels[i], so that the labels of a cluster are one run of memory.
    Without, row i is that of label i.  Rows are fp32, fp16 or int8 (precision.py); biases are always fp32.

    `coarse` is for many rows: a row for each of the clusters, and how many of these are opened to find the top labels.
    """

    rows: Annotated[np.ndarray, Array("labels dim", STORED, scales="scales")]
    biases: Annotated[np.ndarray, Array("labels", np.float32)]
    clusters: Clusters | None = None
    scales: Annotated[np.ndarray | None, Array("labels", np.float32, between=(0, np.inf))] = None
    coarse: Coarse | None = None

    def check(self) -> None:
        """Clusters hold as many labels as there are rows, and where they have rows, one each."""
        if self.clusters is not None:
            agree("labels in clusters and rows", len(self.clusters.labels), len(self.rows))
        if self.coarse is not None:
            agree("clusters and their rows", -1 if self.clusters is None else len(self.clusters), len(self.coarse.rows))
            agree("lengths of rows and of clusters' rows", self.dim, self.coarse.rows.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dim(self) -> int:
        """Length of a row."""
        return self.rows.shape[1]

    @property
    def precision(self) -> str:
        """What the rows are stored as: fp32, fp16 or int8."""
        return precision_of(self.rows)

    # -- scoring -------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> Table:
        """The rows as compiled loops take them; made when they are first asked for, and never stored."""
        return Table(self.rows, self.biases, self.scales)

    def table_for(self, vectors: np.ndarray) -> Table:
        """The table, for a loop that compares these vectors with it."""
        agree("document vectors and rows", vectors.shape[1], self.dim)
        return self.table

    @cached_property
    def _members(self) -> Members:
        """The clusters in the form that compiled loops take."""
        assert self.clusters is not None, "rows in no order of clusters"
        return Members(self.clusters.starts, self.clusters.labels)

    def logits(self, vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """⟨row, vector⟩ + bias of each document's own labels, (documents, width); anything at PAD."""
        return own_products(self.table_for(vectors), vectors, labels)

    def top(self, vectors: np.ndarray, k: int) -> Shortlist:
        """The k labels with the largest scores, best first, and these scores: (documents, k) each.

        With `coarse` only rows of the best clusters are compared, so that now and then one of the k is missed.
        """
        table = self.table_for(vectors)
        if self.coarse is None:
            assert self.clusters is None, "rows in the order of clusters: use top_inside"
            return Shortlist(*likeliest_of(table, vectors, k))
        levels = table, self.coarse.table, self._members
        return Shortlist(*likeliest_in_levels(*levels, vectors, self.coarse.probes, k))

    def top_for_many(self, vectors: np.ndarray, k: int) -> np.ndarray:
        """The labels that `top` finds, for a training set: faster, and not to the last bit the same."""
        if self.coarse is not None or self.precision != FP32:
            return self.top(vectors, k).labels
        from longtail.kernels.label_rows import likeliest_for_many  # kernels of learning, and it is asked for then

        return likeliest_for_many(vectors, self.rows, self.biases, k)

    def top_inside(self, vectors: np.ndarray, clusters: Shortlist, k: int) -> Ranking:
        """The k best labels of the clusters given, by σ(logit) · belief in the cluster."""
        table = self.table_for(vectors)
        return Ranking(*rank_members(table, self._members, vectors, clusters.labels, clusters.belief, k))

    def opening(self, clusters: LabelRows, beam: int, weight: float) -> Opening | None:
        """What `top_inside` finds in the clusters of `clusters.top`, by their beliefs to the power of `weight`.

        None where `clusters.top` is more than a scan of its rows: in two levels, or while somebody watches it.
        """
        if clusters.coarse is not None or type(clusters) is not LabelRows:
            return None
        return Opening(clusters.table, self.table, self._members, beam, weight)

    def of(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (labels, dim) and biases (labels,) of these labels, whatever order they lie in."""
        at = labels if self.clusters is None else self.clusters.places[labels]
        return as_floats(self.rows[at], None if self.scales is None else self.scales[at]), self.biases[at]

    @cached_property
    def total(self) -> np.ndarray:
        """The sum of all rows, (dim,) float32; made when first asked for, and never stored."""
        if self.scales is None:
            return self.rows.sum(axis=0, dtype=np.float32)
        # A few rows at a time: as floats all of them are four times as large, and in no cache.
        parts = (slice(at, at + SUMMED) for at in range(0, len(self), SUMMED))
        return sum((self.scales[part] @ self.rows[part] for part in parts), np.zeros(self.dim, np.float32))

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
            at = None
        elif where is None or len(where) != len(rows):
            raise ConfigError(f"{len(rows)} new labels need a cluster each")
        else:
            at = self.clusters.starts[np.asarray(where) + 1]
        more = None if self.clusters is None or at is None else self.clusters.with_more(np.asarray(where), at)
        new, scales = stored_as(self.precision, np.asarray(rows, np.float32))
        return replace(
            self,
            rows=_inserted(self.rows, at, new),
            biases=_inserted(self.biases, at, np.asarray(biases, np.float32)),
            clusters=more,
            scales=None if self.scales is None or scales is None else _inserted(self.scales, at, scales),
        )

    def with_unseen(self, texts: Summary, near: np.ndarray, where: np.ndarray | None = None) -> LabelRows:
        """With labels that have texts and no documents; `near` (labels, any) are labels like each, or PAD."""
        from longtail.rankers.unseen import unseen_rows  # a model that only answers does without

        return self.append(*unseen_rows(self, texts, near), where)

    def with_unseen_inside(self, texts: Summary, opened: np.ndarray) -> LabelRows:
        """The same, each in the first of its clusters `opened` (labels, any), and like the best labels of all these."""
        near = self.top_inside(texts.means, Shortlist.alike(opened), NEIGHBOURS).labels
        return self.with_unseen(texts, near, opened[:, 0])

    def silenced(self, labels: np.ndarray) -> LabelRows:
        """Silence labels: they score 0 for every document and keep their indices."""
        rows, biases = np.array(self.rows), np.array(self.biases)
        at = labels if self.clusters is None else np.flatnonzero(np.isin(self.clusters.labels, labels))
        rows[at], biases[at] = 0, SILENT
        return replace(self, rows=rows, biases=biases)

    def part(self, number: int, parts: int) -> LabelRows:
        """Rows number/parts of the way through memory to (number + 1)/parts, as views: one process's share of them."""
        return self.some(slice(len(self) * number // parts, len(self) * (number + 1) // parts))

    def some(self, which: slice | np.ndarray) -> LabelRows:
        """Some of the rows, in no order of clusters."""
        scales = None if self.scales is None else self.scales[which]
        return LabelRows(self.rows[which], self.biases[which], scales=scales)


def _inserted(rows: np.ndarray, at: np.ndarray | None, new: np.ndarray) -> np.ndarray:
    """With new rows before those at these places; None: behind all, where they are put in a third of the time."""
    return np.concatenate([rows, new]) if at is None else np.insert(rows, at, new, axis=0)


SUMMED = 512  # rows
NEAR_CLUSTERS = 10  # clusters in which the neighbours of a label without documents are looked for
NEIGHBOURS = 5  # trained labels that its row is like
