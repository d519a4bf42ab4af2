"""Label classifiers that read: a label's row is what its text says, refined by what its documents taught.

Mittal et al., WSDM 2021 (DECAF), section 3, "1-vs-All Label Classifiers":

    w_l = σ(α_L) ⊙ ẑ¹_l + σ(β_L) ⊙ ẑ²_l,   ẑ¹_l = ℰ_L(z_l) from the label's text,   ẑ²_l its refinement vector
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from longtail.encoders.learn.bag import Block, Gates
from longtail.rankers.learn.candidates import table_rows


class LabelText(nn.Module):
    """Rows and biases of labels (or clusters) from the bags of their texts."""

    def __init__(self, n_labels: int, dim: int, dropout: float, bias: float, refinement: Tensor | None, text: bool):
        super().__init__()
        self.read = Block(dim, dropout) if text else None
        self.refinement = None if refinement is None else nn.Parameter(refinement)
        self.gates = Gates(dim) if text and refinement is not None else None
        self.biases = nn.Parameter(torch.full((n_labels, 1), bias))

    def forward(self, sums: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Rows (labels, dim) and biases (labels,), given the sums of the labels' token vectors."""
        return self.rows(sums, labels), table_rows(self.biases, labels)[:, 0]

    def rows(self, sums: Tensor, labels: Tensor) -> Tensor:
        """w_l of the labels named."""
        if self.refinement is None:
            return self.read(sums)  # type: ignore[misc]
        refinement = table_rows(self.refinement, labels)
        if self.read is None:
            return refinement
        return self.gates(self.read(sums), refinement)  # type: ignore[misc]

    def tables(self) -> list[nn.Parameter]:
        """What has a row for every label, and learns with sparse gradients."""
        return [self.biases] if self.refinement is None else [self.biases, self.refinement]
