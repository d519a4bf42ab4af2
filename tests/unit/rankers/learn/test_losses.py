from __future__ import annotations

import math

import pytest
import torch

from longtail.rankers.learn.losses import masked_bce, masked_bce_per_document

# One document with two candidates, one with a single candidate.
LOGITS = torch.tensor([[0.0, math.log(3.0)], [-math.log(3.0), 7.0]])
TARGETS = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
MASK = torch.tensor([[True, True], [True, False]])
# -log σ(0) = log 2;  -log(1 - σ(log 3)) = log 4;  -log(1 - σ(-log 3)) = log 4/3.
FIRST, SECOND = math.log(2) + math.log(4), math.log(4 / 3)


def test_the_mean_is_over_what_the_mask_shows():
    assert masked_bce(LOGITS, TARGETS, MASK).item() == pytest.approx((FIRST + SECOND) / 3)


def test_per_document_sums_a_document_and_averages_documents():
    assert masked_bce_per_document(LOGITS, TARGETS, MASK).item() == pytest.approx((FIRST + SECOND) / 2)


@pytest.mark.parametrize("loss", [masked_bce, masked_bce_per_document])
@pytest.mark.parametrize("outside", [-math.inf, math.inf, math.nan, 1e30])
def test_what_the_mask_hides_moves_neither_loss_nor_gradient(loss, outside):
    logits = LOGITS.clone()
    logits[1, 1] = outside
    logits.requires_grad_()
    value = loss(logits, TARGETS, MASK)
    value.backward()
    assert value.item() == pytest.approx(loss(LOGITS, TARGETS, MASK).item())
    assert logits.grad[1, 1] == 0
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("loss", [masked_bce, masked_bce_per_document])
def test_the_gradient_is_the_derivative(loss):
    logits = LOGITS.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x, TARGETS, MASK), logits)


@pytest.mark.parametrize("loss", [masked_bce, masked_bce_per_document])
def test_nothing_to_judge_costs_nothing(loss):
    assert loss(LOGITS, TARGETS, torch.zeros_like(MASK)).item() == 0
