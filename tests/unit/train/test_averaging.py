from __future__ import annotations

import pytest
import torch
from torch import nn

from longtail.train.averaging import Average


def averaged(values: list[float], start: float, every: int) -> tuple[nn.Linear, Average]:
    """A weight that is values[i] after i + 1 batches."""
    model = nn.Linear(1, 1)
    average = Average(dict(model.named_parameters()), start, every)
    for batches, value in enumerate(values, 1):
        model.weight.data.fill_(value)
        model.bias.data.fill_(-value)
        average.take(batches)
    return model, average


def test_the_mean_is_of_every_third_weight_from_the_start_on():
    model, average = averaged([1, 2, 4, 8, 16, 32, 64, 128], start=2, every=3)
    average.apply()
    assert average.count == 3
    assert model.weight.item() == pytest.approx((2 + 16 + 128) / 3)
    assert model.bias.item() == pytest.approx(-(2 + 16 + 128) / 3)


def test_within_the_block_the_model_has_the_mean_and_behind_it_its_own_weights():
    model, average = averaged([1, 3], start=1, every=1)
    before = model.weight
    with average.in_place():
        assert model(torch.ones(1, 1)).item() == 0  # 2 · 1 - 2
        assert model.weight.item() == 2
    assert model.weight is before
    assert model.weight.item() == 3
    assert average.means["weight"].item() == 2


def test_the_models_weights_come_back_when_the_block_fails():
    model, average = averaged([1, 3], start=1, every=1)
    with pytest.raises(ZeroDivisionError), average.in_place():
        raise ZeroDivisionError
    assert model.weight.item() == 3


def test_learning_goes_on_from_the_models_own_weights():
    model, average = averaged([1, 3], start=1, every=1)
    optimiser = torch.optim.SGD(model.parameters(), lr=1)
    with average.in_place():
        pass
    model(torch.ones(1, 1)).sum().backward()
    optimiser.step()
    assert model.weight.item() == 2
    assert average.means["weight"].item() == 2


def test_before_its_start_an_average_changes_nothing():
    model, average = averaged([1, 2], start=float("inf"), every=1)
    with average.in_place():
        assert model.weight.item() == 2
    average.apply()
    assert model.weight.item() == 2


def test_the_mean_agrees_with_torchs_own():
    model = nn.Linear(4, 4)
    theirs = torch.optim.swa_utils.AveragedModel(model)
    ours = Average(dict(model.named_parameters()), start=0, every=1)
    for batches in range(7):
        nn.init.normal_(model.weight)
        theirs.update_parameters(model)
        ours.take(batches)
    assert torch.allclose(ours.means["weight"], theirs.module.weight, atol=1e-6)
