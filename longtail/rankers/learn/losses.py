"""Losses as small pure functions; names distinguish sums from means, which the papers and their code mix."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def masked_bce(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy, mean over the entries where `mask` is true.

    All are (documents, width).  Entries outside the mask, even infinite ones, affect neither loss nor gradient.
    """
    return _bce(logits, targets, mask).sum() / mask.sum().clamp(min=1)


def masked_bce_per_document(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy, summed over a document's entries, mean over documents.

    Unlike in `masked_bce`, a document with a longer shortlist weighs more, and the gradient of one label does not
    shrink as shortlists grow.
    """
    return _bce(logits, targets, mask).sum() / max(len(logits), 1)


def product_bce_per_document(logits: Tensor, log_beliefs: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy of p = σ(logit) · belief, summed over a document's entries, mean over documents.

        −log p       = softplus(−z) − log belief
        −log(1 − p)  = softplus(z) − softplus(z + log(1 − belief))

    Unlike torch's loss on p, nothing is rounded to 0 or 1 before the logarithm: where p is 0 or 1 and wrong, loss and
    gradient are large but finite, with the right sign.
    """
    logits, log_beliefs = logits.masked_fill(~mask, 0.0), log_beliefs.masked_fill(~mask, 0.0)
    log_doubts = torch.log((-torch.expm1(log_beliefs)).clamp(min=SMALLEST_DOUBT))
    missed = F.softplus(-logits) - log_beliefs
    wrong = F.softplus(logits) - F.softplus(logits + log_doubts)
    return (torch.where(targets.bool(), missed, wrong) * mask).sum() / max(len(logits), 1)


SMALLEST_DOUBT = 1e-30  # lower bound of 1 − belief, to keep its logarithm finite


def _bce(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    # Filled before the loss, not only zeroed after it: 0 · inf is NaN, also in the gradient.
    inside = logits.masked_fill(~mask, 0.0)
    return F.binary_cross_entropy_with_logits(inside, targets.to(inside.dtype), reduction="none") * mask
