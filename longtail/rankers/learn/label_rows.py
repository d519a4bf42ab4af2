"""Training of label rows (see ../label_rows.py): a table, rows computed from label texts, or both.

Mittal et al., WSDM 2021 (DECAF), section 3, "1-vs-All Label Classifiers":

    w_l = σ(α_L) ⊙ ẑ¹_l + σ(β_L) ⊙ ẑ²_l,   ẑ¹_l = ℰ_L(z_l) from the label's text,   ẑ²_l its row of the table

A batch touches few rows of the table, so it has sparse gradients (train/row_adam.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from longtail.encoders.learn.bag import Block, Gates
from longtail.encoders.learn.exchange import drawn_rows, gathered, own_rows, own_slices, rows_in_all
from longtail.index.clusters import Clusters
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.learn.candidates import table_rows
from longtail.ranks import here

START_BIAS = -4.0  # most candidates are negatives; a rarely scored label must not start at 0.5


class LearningRows(nn.Module):
    """A row and a bias for every label, or every cluster.

    `table` holds the rows, or refinements of the rows that `read` computes from texts; at least one is given, whole or
    as this rank's part.
    `sums` returns the encoder's vectors of label texts before any block, if `forward` is called without them.
    Of several ranks each has its part of the rows, `own`; labels keep their numbers.  In a step every rank gets
    the rows of all candidates from the others.
    """

    def __init__(
        self, n_labels: int, table: Tensor | None, read: Block | None = None, bias: float = START_BIAS,
        sums: Callable[[Tensor], Tensor] | None = None,
    ):  # fmt: skip
        super().__init__()
        self.read, self.sums, self.n_labels, self.own = read, sums, n_labels, here().part(n_labels)
        self.table = None if table is None else own_rows(table, n_labels)
        self.gates = None if table is None or read is None else Gates(table.shape[1])
        self.biases = own_rows(torch.full((n_labels, 1), bias), n_labels)

    def forward(self, labels: Tensor, sums: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Rows (labels, dim) and biases (labels,) of sorted, distinct labels; without gradients, of own labels."""
        if sums is None and self.sums is not None:
            sums = self.sums(labels)
        return self._rows(labels, sums), self._of_all(self.biases, labels)[:, 0]

    def _rows(self, labels: Tensor, sums: Tensor | None) -> Tensor:
        if self.table is None:
            return self.read(sums)  # type: ignore[misc]
        refinement = self._of_all(self.table, labels)
        if self.read is None or self.gates is None:
            return refinement
        return self.gates(self.read(sums), refinement)

    def _of_all(self, table: Tensor, labels: Tensor) -> Tensor:
        """table[labels], of which each rank has its part; without gradients, of own labels."""
        if here().count == 1 or not torch.is_grad_enabled():
            return table_rows(table, labels if self.own.start == 0 else labels - self.own.start)
        bounds = np.searchsorted(labels.cpu().numpy(), here().bounds(self.n_labels)).tolist()
        own = labels[slice(*bounds[here().number : here().number + 2])] - self.own.start
        return gathered(table_rows(table, own), bounds)

    @property
    def tables(self) -> list[nn.Parameter]:
        """Parameters of which a batch touches few rows."""
        return [self.biases] if self.table is None else [self.table, self.biases]

    @property
    def dense(self) -> list[nn.Parameter]:
        """All other parameters: block and gates."""
        tables = {id(table) for table in self.tables}
        return [each for each in self.parameters() if id(each) not in tables]

    def export(self, sums: Tensor | None = None, clusters: Clusters | None = None) -> LabelRows:
        """Export all rows to NumPy for inference, without dropout; on one rank and a CPU, a table is a view."""
        if self.read is None and self.table is not None:
            return joined_rows(array_of(self.table), array_of(self.biases)[:, 0], self.n_labels, clusters)
        every = torch.arange(self.own.start, self.own.stop, device=self.biases.device)
        learning = self.training
        self.eval()
        with torch.no_grad():
            chunks = [chunk for part in own_slices(self.n_labels) for chunk in every[part].split(CHUNK)]
            parts = [self(labels, None if sums is None else sums[labels]) for labels in chunks]
        self.train(learning)
        rows, biases = (array_of(torch.cat(part)) for part in zip(*parts))
        return joined_rows(rows, biases, self.n_labels, clusters)


CHUNK = 16_384  # labels whose rows are computed at once


def free_rows(n_labels: int, dim: int) -> LearningRows:
    """Rows learned from documents only, randomly initialised."""
    return LearningRows(n_labels, drawn_rows(n_labels, dim, math.sqrt(6 / dim)))  # He et al. 2015


def text_rows(n_labels: int, of_labels: Callable[[Tensor], Tensor], dropout: float) -> LearningRows:
    """Rows computed from label texts by the document encoder, plus a refinement table.

    `of_labels` returns the vectors of label texts before any block, (labels, dim), the initial table: ẑ² = E z.
    """
    own = here().part(n_labels)
    with torch.no_grad():
        start = of_labels(torch.arange(own.start, own.stop)).clone()
    return LearningRows(n_labels, start, Block(start.shape[1], dropout), sums=of_labels)


def array_of(tensor: Tensor) -> np.ndarray:
    """A tensor as NumPy array; on a CPU, a view."""
    return tensor.detach().cpu().numpy()


def rows_of_layer(layer: nn.Linear) -> LabelRows:
    """A layer's weights as label rows; on one rank and a CPU, views of the parameters."""
    outputs = rows_in_all(layer.weight) or len(layer.weight)
    return joined_rows(array_of(layer.weight), array_of(layer.bias), outputs)


def joined_rows(rows: np.ndarray, biases: np.ndarray, n_labels: int, clusters: Clusters | None = None) -> LabelRows:
    """The rows of all ranks."""
    ranks = here()
    return LabelRows(ranks.joined(rows, n_labels), ranks.joined(biases, n_labels), clusters)
