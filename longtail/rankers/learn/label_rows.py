"""Classifiers of labels while they learn: rows that know nothing at first, or rows that read the labels' texts.

forward(labels) -> rows, biases    of the labels named, which are in order and none twice: (labels, dim), (labels,)
tables, dense                      parameters of which a batch touches few rows, and all others
settled() -> LabelRows                what all rows have come to
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from longtail.kernels.csr import Rows, take
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.learn.candidates import table_rows
from longtail.rankers.learn.clustered import START_BIAS, array_of
from longtail.rankers.learn.label_text import LabelText


class FreeRows(nn.Module):
    """A row and a bias for every label, which its documents alone teach."""

    def __init__(self, n_labels: int, dim: int):
        super().__init__()
        self.rows = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(n_labels, dim)))
        self.biases = nn.Parameter(torch.full((n_labels, 1), START_BIAS))

    def forward(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and biases of some labels."""
        return table_rows(self.rows, labels), table_rows(self.biases, labels)[:, 0]

    @property
    def tables(self) -> list[nn.Parameter]:
        """Everything."""
        return [self.rows, self.biases]

    @property
    def dense(self) -> list[nn.Parameter]:
        """Nothing."""
        return []

    def settled(self) -> LabelRows:
        """On a CPU, views of what learns."""
        return LabelRows(array_of(self.rows), array_of(self.biases)[:, 0])


class ReadRows(nn.Module):
    """A label's row is what its text says, refined by what its documents taught (label_text.py).

    Texts are read with the token vectors of whoever reads the documents: `sums` adds them up, (texts, dim).
    """

    def __init__(self, texts: Rows, sums: Callable[[Rows], Tensor], dropout: float):
        super().__init__()
        self.texts, self.sums = texts, sums
        with torch.no_grad():
            start = sums(take(texts, np.arange(len(texts[0]) - 1)))  # ẑ² = E z
        self.text = LabelText(len(start), start.shape[1], dropout, START_BIAS, start, text=True)

    def forward(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and biases of some labels."""
        return self.text(self.sums(take(self.texts, array_of(labels))), labels)

    @property
    def tables(self) -> list[nn.Parameter]:
        """Refinement vectors and biases."""
        return self.text.tables()

    @property
    def dense(self) -> list[nn.Parameter]:
        """The block that reads, and gates."""
        tables = {id(table) for table in self.tables}
        return [each for each in self.parameters() if id(each) not in tables]

    def settled(self) -> LabelRows:
        """Every text read once more, with nothing dropped."""
        learning = self.training
        self.eval()
        biases = self.text.biases
        with torch.no_grad():
            parts = [self(labels) for labels in torch.arange(len(biases), device=biases.device).split(CHUNK)]
        self.train(learning)
        every = [torch.cat(part).cpu().numpy() for part in zip(*parts)]
        return LabelRows(every[0], every[1])


CHUNK = 16_384  # labels whose rows are computed at once

Classifiers = FreeRows | ReadRows
