"""A layer whose gradient stays in one place, against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from longtail.rankers.learn.wide import Wide


@pytest.fixture
def layers() -> tuple[Wide, nn.Linear]:
    torch.manual_seed(0)
    wide, plain = Wide(3, 7), nn.Linear(3, 7)
    plain.load_state_dict(wide.state_dict())
    return wide, plain


def learned(layer: nn.Linear, *parts: Tensor) -> list[Tensor]:
    """What each part, then weights and biases, have for gradients."""
    parts = tuple(part.clone().requires_grad_() for part in parts)
    for part in parts:
        layer(part).square().sum().backward()
    return [each.grad.clone() for each in (*parts, layer.weight, layer.bias)]


@pytest.mark.parametrize("readings", [1, 2])
def test_gradients_are_those_of_a_linear_layer(layers: tuple[Wide, nn.Linear], readings: int):
    parts = [torch.randn(4, 3) for _ in range(readings)]
    for ours, theirs in zip(*(learned(layer, *parts) for layer in layers)):
        torch.testing.assert_close(ours, theirs)


def test_a_loss_with_two_readings_adds_both(layers: tuple[Wide, nn.Linear]):
    one, other = torch.randn(4, 3), torch.randn(2, 3)
    for layer in layers:
        (layer(one).square().sum() + layer(other).sum()).backward()
    torch.testing.assert_close(layers[0].weight.grad, layers[1].weight.grad)


def test_after_a_step_the_gradient_starts_anew_in_the_same_place(layers: tuple[Wide, nn.Linear]):
    places = []
    for layer in layers:
        optimiser = torch.optim.AdamW(layer.parameters(), lr=0.1, fused=True)
        for _ in range(3):
            layer(torch.ones(2, 3)).square().sum().backward()
            places.append(layer.weight.grad.data_ptr())
            optimiser.step()
            optimiser.zero_grad()
    torch.testing.assert_close(layers[0].weight, layers[1].weight)
    assert len(set(places[:3])) == 1


def test_only_what_learns_goes_into_a_checkpoint(layers: tuple[Wide, nn.Linear]):
    layers[0](torch.ones(2, 3)).sum().backward()
    assert sorted(layers[0].state_dict()) == ["bias", "weight"]


def test_bfloat16_is_left_to_torch(layers: tuple[Wide, nn.Linear]):
    with torch.autocast("cpu", torch.bfloat16):
        said = [layer(torch.ones(2, 3)) for layer in layers]
    assert said[0].dtype == torch.bfloat16 and torch.equal(*said)
