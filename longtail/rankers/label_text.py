"""Label classifiers that read: a label's row is what its text says, refined by what its documents taught.

Mittal et al., WSDM 2021 (DECAF), section 3, "1-vs-All Label Classifiers":

    w_l = σ(α_L) ⊙ ẑ¹_l + σ(β_L) ⊙ ẑ²_l,   ẑ¹_l = ℰ_L(z_l) from the label's text,   ẑ²_l its refinement vector
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.corpus import PAD
from longtail.encoders.block import Block, Gates
from longtail.kernels import label_rows

Parts = Literal["both", "text", "refinement"]


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
        return self.rows(sums, labels), _rows_at(self.biases, labels)[:, 0]

    def rows(self, sums: Tensor, labels: Tensor) -> Tensor:
        """w_l of the labels named."""
        if self.refinement is None:
            return self.read(sums)  # type: ignore[misc]
        refinement = _rows_at(self.refinement, labels)
        if self.read is None:
            return refinement
        return self.gates(self.read(sums), refinement)  # type: ignore[misc]

    def tables(self) -> list[nn.Parameter]:
        """What has a row for every label, and learns with sparse gradients."""
        return [self.biases] if self.refinement is None else [self.biases, self.refinement]


def _rows_at(table: Tensor, rows: Tensor) -> Tensor:
    return F.embedding(rows, table, sparse=True)


# -- each document against its own shortlist ----------------------------------------------------------------------


def shortlist_logits(documents: Tensor, rows: Tensor, shortlist: Tensor) -> Tensor:
    """⟨document, row⟩ of each document's own candidates, (documents, width), 0 at PAD.

    `shortlist` names rows of `rows`.  Nothing of size documents × width × dim is ever made on a CPU.
    """
    if documents.device.type == "cpu":
        return _CompiledShortlist.apply(documents, rows, shortlist)
    return shortlist_logits_plainly(documents, rows, shortlist)


def shortlist_logits_plainly(documents: Tensor, rows: Tensor, shortlist: Tensor) -> Tensor:
    """The same in torch's own words: the reference, and the way on other devices."""
    logits = torch.einsum("bd,bwd->bw", documents, rows[shortlist.clamp(min=0)])
    return logits.masked_fill(shortlist == PAD, 0.0)


class _CompiledShortlist(torch.autograd.Function):
    @staticmethod
    def forward(ctx, documents: Tensor, rows: Tensor, shortlist: Tensor) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.save_for_backward(documents, rows, shortlist)
        arrays = (tensor.detach().contiguous().numpy() for tensor in (documents, rows, shortlist))
        return torch.from_numpy(label_rows.shortlist_logits(*arrays))

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        arrays = (tensor.detach().contiguous().numpy() for tensor in (*ctx.saved_tensors, gradient))
        of_documents, of_rows = label_rows.shortlist_gradients(*arrays)
        return torch.from_numpy(of_documents), torch.from_numpy(of_rows), None
