"""Candidates of a training batch: which labels its documents are scored against, and the loss.

together    all documents share the candidates of the batch: one matrix product, and the hard negatives of one
            document are easy negatives of the others
apart       each document is scored against its own shortlist only, as in the papers
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
from longtail.kernels.logistic import logistic
from longtail.rankers.learn.losses import masked_bce_per_document


@dataclass(frozen=True)
class Candidates:
    """The candidate labels of a batch."""

    labels: np.ndarray  # (candidates,) sorted, distinct
    targets: np.ndarray  # (documents, candidates or width) float32, 1 for true labels
    shortlist: np.ndarray | None = None  # (documents, width) int32 indices into `labels`, PAD; None: all


def together(true: sp.csr_array, drawn: np.ndarray) -> Candidates:
    """Shared candidates: the true labels of all documents of the batch, and the sampled ones (ignoring PAD)."""
    labels = in_order(np.append(true.indices, drawn[drawn != PAD]))
    if len(labels) < true.shape[1]:  # all labels are as many in every batch
        labels = of_few_sizes(labels, true.indices)
    targets = np.zeros((true.shape[0], len(labels)), np.float32)
    targets[row_of(true.indptr), np.searchsorted(labels, true.indices)] = 1
    return Candidates(labels, targets)


def of_few_sizes(labels: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Many labels without a few that are not true, so that their number is a multiple of SIZE.

    Libraries that multiply matrices compile code for every new shape, which takes longer than the product.
    """
    spare = len(labels) % SIZE
    if not spare or len(labels) < MANY * SIZE:
        return labels
    others = np.flatnonzero(~np.isin(labels, true))
    return np.delete(labels, others[:: max(len(others) // spare, 1)][:spare])


SIZE, MANY = 64, 16


def apart(true: sp.csr_array, starts: np.ndarray, shortlists: np.ndarray, with_true: bool) -> Candidates:
    """Separate candidates: shortlists[starts[i]:starts[i + 1]] of document i, plus its true labels if `with_true`."""
    n_labels = true.shape[1]
    # Pairs (document, label) encoded as one number each.
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
    """np.unique by sorting: ten times faster on the pairs of a batch than its hashing of integers."""
    values = np.sort(values)
    return values[np.diff(values, prepend=values[:1] - 1) > 0]


def row_of(starts: np.ndarray) -> np.ndarray:
    """The row of every entry of a CSR matrix."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


# -- as batches ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meeting:
    """The documents of a batch and the candidate labels they are scored against."""

    texts: Input  # of the documents, then of the candidates if label rows are computed from texts
    candidates: Tensor  # (candidates,) int64 labels, sorted, distinct
    targets: Tensor  # (documents, candidates or width)
    shortlist: Tensor | None  # (documents, width) int32 indices into `candidates`, PAD; None: all


def meeting(texts: ReadTexts, rows: np.ndarray, candidates: Candidates, read_labels: bool = False) -> Meeting:
    """The documents at `rows` and their candidates, with the candidates' texts if `read_labels`."""
    return Meeting(
        texts.batch(rows, candidates.labels if read_labels else None),
        torch.from_numpy(candidates.labels.astype(np.int64)), torch.from_numpy(candidates.targets),
        None if candidates.shortlist is None else torch.from_numpy(candidates.shortlist),
    )  # fmt: skip


# -- the loss ------------------------------------------------------------------------------------------------------


def meeting_loss(documents: Tensor, rows: Tensor, biases: Tensor, batch: Meeting) -> Tensor:
    """Binary cross-entropy, summed over the candidates of a document, mean over documents."""
    if batch.shortlist is not None:
        return shortlist_loss(documents, rows, biases, batch.shortlist, batch.targets)
    return table_loss(documents, rows, biases, batch.targets)


def table_loss(documents: Tensor, rows: Tensor, biases: Tensor, targets: Tensor) -> Tensor:
    """The same where all documents share the candidates: every row is scored, (documents, rows)."""
    if documents.device.type == "cpu":
        return _CompiledTableLoss.apply(documents, rows, biases, targets)
    return table_loss_plainly(documents, rows, biases, targets)


def table_loss_plainly(documents: Tensor, rows: Tensor, biases: Tensor, targets: Tensor) -> Tensor:
    """`table_loss` in plain torch: the reference, and the implementation for other devices."""
    logits = torch.addmm(biases, documents, rows.T).float()  # bfloat16 products, but the loss is summed in float32
    return F.binary_cross_entropy_with_logits(logits, targets, reduction="sum") / len(logits)


class _CompiledTableLoss(torch.autograd.Function):
    """Loss and gradient of the logits are found in one pass; autocast decides how the matrices are multiplied."""

    @staticmethod
    def forward(ctx, documents: Tensor, rows: Tensor, biases: Tensor, targets: Tensor) -> Tensor:  # type: ignore[no-untyped-def] # noqa: ANN001
        kind = torch.bfloat16 if torch.is_autocast_enabled("cpu") else torch.float32
        documents, rows = documents.detach().to(kind), rows.detach().to(kind)
        logits = bits(documents @ rows.T)
        loss, gradient, ctx.of_biases = logistic(logits, biases.detach().float().numpy(), targets.numpy())
        ctx.save_for_backward(documents, rows, torch.from_numpy(gradient).view(kind))
        return torch.tensor(loss / max(len(documents), 1))

    @staticmethod
    def backward(ctx, scale: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:  # type: ignore[no-untyped-def] # noqa: ANN001
        documents, rows, gradient = ctx.saved_tensors
        scale = scale / max(len(documents), 1)
        of_documents, of_rows = (gradient @ rows).float() * scale, (gradient.T @ documents).float() * scale
        return of_documents, of_rows, torch.from_numpy(ctx.of_biases) * scale, None


def bits(tensor: Tensor) -> np.ndarray:
    """A tensor as array; of bfloat16, which NumPy does not have, the bits as uint16."""
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def shortlist_loss(documents: Tensor, rows: Tensor, biases: Tensor, shortlist: Tensor, targets: Tensor) -> Tensor:
    """The same with separate candidates per document: `shortlist` are indices into `rows`, or PAD."""
    # F.embedding, not [ ]: the gradient of indexing is not deterministic.
    logits = shortlist_logits(documents, rows, shortlist) + F.embedding(shortlist.clamp(min=0), biases[:, None])[..., 0]
    return masked_bce_per_document(logits, targets, shortlist != PAD)


def table_rows(table: Tensor, rows: Tensor) -> Tensor:
    """table[rows] with a sparse gradient; `rows` are sorted and distinct, so that it is already coalesced."""
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

    `shortlist` are indices into `rows`.  No array of size documents × width × dim is allocated.
    """
    if documents.device.type == "cpu":
        return _CompiledShortlist.apply(documents, rows, shortlist)
    return shortlist_logits_plainly(documents, rows, shortlist)


def shortlist_logits_plainly(documents: Tensor, rows: Tensor, shortlist: Tensor) -> Tensor:
    """`shortlist_logits` in plain torch: the reference, and the implementation for other devices.

    Scores all rows and gathers the shortlist: on a GPU the product is cheaper than gathering documents × width × dim
    numbers, which for LightXML's shortlists would take gigabytes.
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
