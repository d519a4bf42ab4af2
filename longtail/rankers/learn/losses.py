"""Losses as small pure functions; where the papers write sums and their code takes means, the name says which."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def masked_bce(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy, the mean over the entries where `mask` is true.

    All are (documents, width).  What stands outside the mask, infinities included, moves neither the loss
    nor a gradient.
    """
    return _bce(logits, targets, mask).sum() / mask.sum().clamp(min=1)


def masked_bce_per_document(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy, summed over a document's entries, then the mean over documents.

    Differs from `masked_bce` in that a document with a long shortlist weighs more than one with a short one,
    and the gradient of one label does not shrink as shortlists grow.
    """
    return _bce(logits, targets, mask).sum() / max(len(logits), 1)


def product_bce_per_document(logits: Tensor, log_beliefs: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy of p = σ(logit) · belief, summed over a document's entries, then the mean over documents.

        −log p       = softplus(−z) − log belief
        −log(1 − p)  = softplus(z) − softplus(z + log(1 − belief))

    Differs from torch's on p in that nothing is rounded to 0 or 1 before its logarithm is taken: where p is 0 or 1
    and wrong, loss and gradient are large, finite, and point the right way.
    """
    logits, log_beliefs = logits.masked_fill(~mask, 0.0), log_beliefs.masked_fill(~mask, 0.0)
    log_doubts = torch.log((-torch.expm1(log_beliefs)).clamp(min=SMALLEST_DOUBT))
    missed = F.softplus(-logits) - log_beliefs
    wrong = F.softplus(logits) - F.softplus(logits + log_doubts)
    return (torch.where(targets.bool(), missed, wrong) * mask).sum() / max(len(logits), 1)


SMALLEST_DOUBT = 1e-30  # in a belief of 1, whose logarithm must be finite; the logits decide there


def _bce(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    # Filled before the loss, not only zeroed after it: 0 · inf is NaN, in the gradient too.
    inside = logits.masked_fill(~mask, 0.0)
    return F.binary_cross_entropy_with_logits(inside, targets.to(inside.dtype), reduction="none") * mask
