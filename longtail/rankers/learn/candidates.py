"""Who meets whom: the documents of a batch, the labels they are scored against, and what they learn from it.

together    candidates are gathered from all documents of the batch and every document meets all of them:
            one matrix product, and what is hard for one document is easy for the others
apart       each document meets its own shortlist and nothing else, as the papers have it
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from longtail.corpus import PAD
from longtail.encoders.learn.batches import Input, ReadTexts
from longtail.kernels import label_rows
from longtail.rankers.learn.losses import masked_bce_per_document


@dataclass(frozen=True)
class Candidates:
    """The labels that a batch looks at."""

    labels: np.ndarray  # (candidates,) in order, none twice
    targets: np.ndarray  # (documents, candidates or width) float32, 1 where a label is true
    shortlist: np.ndarray | None = None  # (documents, width) int32 places in `labels`, PAD; None: all meet all


def together(true: sp.csr_array, drawn: np.ndarray) -> Candidates:
    """Every document meets all labels that are true for one of the batch, and all that were drawn (PAD is none)."""
    labels = np.union1d(true.indices, drawn[drawn != PAD])
    targets = np.zeros((true.shape[0], len(labels)), np.float32)
    targets[row_of(true.indptr), np.searchsorted(labels, true.indices)] = 1
    return Candidates(labels, targets)


def apart(true: sp.csr_array, starts: np.ndarray, shortlists: np.ndarray, with_true: bool) -> Candidates:
    """Document i meets shortlists[starts[i]:starts[i + 1]], and `with_true` its true labels in any case."""
    n_labels = true.shape[1]
    # A pair (document, label) as one number, so that sets of pairs are sets of numbers.
    truth = row_of(true.indptr) * n_labels + true.indices
    met = row_of(starts) * n_labels + shortlists
    pairs = in_order(np.append(truth, met) if with_true else met)
    rows, names = np.divmod(pairs, n_labels)
    labels, place = in_order(names), np.empty(n_labels, np.int32)
    place[labels] = np.arange(len(labels))
    widths = np.bincount(rows, minlength=true.shape[0])
    inside = np.arange(widths.max(initial=0)) < widths[:, None]
    shortlist, targets = np.full(inside.shape, PAD, np.int32), np.zeros(inside.shape, np.float32)
    shortlist[inside], targets[inside] = place[names], np.isin(pairs, truth, assume_unique=True)
    return Candidates(labels, targets, shortlist)


def in_order(values: np.ndarray) -> np.ndarray:
    """np.unique, which hashes whole numbers, by sorting: ten times faster on a batch's pairs."""
    values = np.sort(values)
    return values[np.diff(values, prepend=values[:1] - 1) > 0]


def row_of(starts: np.ndarray) -> np.ndarray:
    """The row of every entry of sparse rows."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


# -- as batches ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meeting:
    """A few documents and their candidates, for a network."""

    texts: Input  # of the documents, then of the candidates where label rows are read from texts
    candidates: Tensor  # (candidates,) int64 labels, in order, none twice
    targets: Tensor  # (documents, candidates or width)
    shortlist: Tensor | None  # (documents, width) int32 places in `candidates`, PAD; None: all meet all


def meeting(texts: ReadTexts, rows: np.ndarray, candidates: Candidates, read_labels: bool = False) -> Meeting:
    """The documents at `rows` and their candidates, with the candidates' texts if these are read."""
    return Meeting(
        texts.batch(rows, candidates.labels if read_labels else None),
        torch.from_numpy(candidates.labels.astype(np.int64)), torch.from_numpy(candidates.targets),
        None if candidates.shortlist is None else torch.from_numpy(candidates.shortlist),
    )  # fmt: skip


# -- the loss ------------------------------------------------------------------------------------------------------


def meeting_loss(documents: Tensor, rows: Tensor, biases: Tensor, batch: Meeting) -> Tensor:
    """Binary cross-entropy of all pairs that meet, summed over a document's, the mean over documents."""
    if batch.shortlist is None:
        logits = torch.addmm(biases, documents, rows.T).float()  # a product in bfloat16 is no sum in bfloat16
        return F.binary_cross_entropy_with_logits(logits, batch.targets, reduction="sum") / len(logits)
    return shortlist_loss(documents, rows, biases, batch.shortlist, batch.targets)


def shortlist_loss(documents: Tensor, rows: Tensor, biases: Tensor, shortlist: Tensor, targets: Tensor) -> Tensor:
    """The same where each document meets its own candidates: `shortlist` names rows of `rows`, PAD is none."""
    # F.embedding, not [ ]: the gradient of indexing is summed in whatever order threads come.
    logits = shortlist_logits(documents, rows, shortlist) + F.embedding(shortlist.clamp(min=0), biases[:, None])[..., 0]
    return masked_bce_per_document(logits, targets, shortlist != PAD)


def table_rows(table: Tensor, rows: Tensor) -> Tensor:
    """table[rows] with a sparse gradient; `rows` are in order and none comes twice, so that nothing is added up."""
    return _TableRows.apply(table, rows)


class _TableRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table: Tensor, rows: Tensor) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        ctx.save_for_backward(rows)
        ctx.shape = table.shape
        return table.index_select(0, rows)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        (rows,) = ctx.saved_tensors
        return torch.sparse_coo_tensor(rows[None], gradient, ctx.shape, is_coalesced=True, check_invariants=False), None


def shortlist_logits(documents: Tensor, rows: Tensor, shortlist: Tensor) -> Tensor:
    """⟨document, row⟩ of each document's own candidates, (documents, width), 0 at PAD.

    `shortlist` names rows of `rows`.  Nothing of size documents × width × dim is ever made.
    """
    if documents.device.type == "cpu":
        return _CompiledShortlist.apply(documents, rows, shortlist)
    return shortlist_logits_plainly(documents, rows, shortlist)


def shortlist_logits_plainly(documents: Tensor, rows: Tensor, shortlist: Tensor) -> Tensor:
    """The same in torch's own words: the reference, and the way on other devices.

    Every document meets every row, of which it wants a part: on a GPU the product is cheaper than gathering
    documents × width × dim numbers, which for LightXML's shortlists would take gigabytes.
    """
    logits = (documents @ rows.T).gather(1, shortlist.clamp(min=0).long())
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
