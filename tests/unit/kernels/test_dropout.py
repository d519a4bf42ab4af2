"""Entries dropped by chance."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from longtail.encoders.learn.bag import Dropout
from longtail.kernels.dropout import dropped

ONES = np.ones((400, 5000), np.float32)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_about_the_share_is_dropped_and_the_rest_makes_up_for_it(share: float):
    values = dropped(ONES, share, 7)
    assert set(np.unique(values).tolist()) <= {0.0, float(np.float32(1 / (1 - share)))}
    assert abs((values == 0).mean() - share) < 5 * np.sqrt(share * (1 - share) / ONES.size) + 1e-9


def test_rows_columns_and_seeds_are_dropped_independently():
    masks = [dropped(ONES, 0.2, seed) == 0 for seed in (1, 2)]
    # Shares of rows and columns scatter as those of coins do: with the square root of 0.2 · 0.8 / n.
    assert masks[0].mean(axis=0).std() == pytest.approx(np.sqrt(0.16 / 400), rel=0.1)
    assert masks[0].mean(axis=1).std() == pytest.approx(np.sqrt(0.16 / 5000), rel=0.2)
    for one, other in ((masks[0], masks[1]), (masks[0][:, 1:], masks[0][:, :-1]), (masks[0][1:], masks[0][:-1])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.005


def test_a_gradient_is_dropped_where_the_value_was():
    torch.manual_seed(0)
    values, dropout = torch.ones(50, 40, requires_grad=True), Dropout(0.4)
    result = dropout(values)
    result.sum().backward()
    assert torch.equal(result.detach(), values.grad) and 0 < int((result == 0).sum()) < result.numel()


def test_torchs_seed_decides_and_nothing_is_dropped_after_learning():
    values, dropout = torch.ones(20, 20), Dropout(0.5)
    results = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        results.append(dropout(values))
    assert torch.equal(results[0], results[1]) and not torch.equal(results[0], results[2])
    assert torch.equal(dropout.eval()(values), values)
