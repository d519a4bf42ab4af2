from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from longtail.config import build
from longtail.errors import ConfigError
from longtail.train.optim import Group, Optim, adamw, groups_of, rate


def rates(optim: Optim, steps: int) -> list[float]:
    return [rate(optim, step, steps) for step in range(steps)]


def test_a_constant_rate_stays():
    assert rates(Optim(schedule="constant"), 3) == [1, 1, 1]


def test_warm_up_climbs_to_the_peak_and_a_linear_rate_falls_towards_zero():
    expected = [0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]
    assert rates(Optim(schedule="linear", warmup=0.2), 10) == pytest.approx(expected)


def test_decaf_halves_its_rate_after_half_and_three_quarters():
    """20 epochs: after epoch 10 and 15 (authors' configuration of module I)."""
    assert rates(Optim(schedule="0.5,0.75"), 20) == [1] * 10 + [0.5] * 5 + [0.25] * 5


def test_lightdxml_halves_its_rate_at_epochs_14_21_and_25():
    halving = Optim(schedule=f"{14 / 26}, {21 / 26}, {25 / 26}")
    assert rates(halving, 26 * 3) == [1] * 42 + [0.5] * 21 + [0.25] * 12 + [0.125] * 3


def test_every_schedule_keeps_the_rate_above_zero():
    for schedule in ("constant", "linear", "0.5,0.75"):
        assert all(0 < value <= 1 for value in rates(Optim(schedule=schedule, warmup=0.1), 37))


def group(*parameters: nn.Parameter, lr: float = 1.0, accumulate: int = 1) -> Group:
    return Group("some", torch.optim.SGD(list(parameters), lr=lr), accumulate)


@pytest.mark.parametrize(("accumulate", "per_epoch"), [(1, 3), (4, 10), (3, 9), (7, 2)])
def test_a_group_counts_its_steps_and_an_epochs_last_batch_makes_one(accumulate, per_epoch):
    taken, expected = 0, [0]
    for batch in range(3 * per_epoch):
        at = batch % per_epoch + 1
        taken += at % accumulate == 0 or at == per_epoch
        expected.append(taken)
    some = group(nn.Parameter(torch.ones(1)), accumulate=accumulate)
    assert [some.steps(batches, per_epoch) for batches in range(3 * per_epoch + 1)] == expected


def test_a_step_moves_by_the_mean_gradient_at_its_share_of_the_rate():
    parameter = nn.Parameter(torch.tensor([10.0]))
    some = group(parameter, lr=2.0)
    (parameter * 3.0).sum().backward()
    (parameter * 6.0 * 0.5).sum().backward()  # a batch half as large
    some.gathered = 1.5
    some.step(rate=0.5)
    assert parameter.item() == pytest.approx(10 - 2.0 * 0.5 * (3 + 6 * 0.5) / 1.5)
    assert parameter.grad is None
    assert some.gathered == 0


def test_rates_start_from_the_peak_each_time():
    parameter = nn.Parameter(torch.zeros(1))
    some = group(parameter, lr=2.0)
    for share in (0.5, 0.25):
        parameter.grad, some.gathered = torch.ones(1), 1.0
        some.step(share)
    assert parameter.item() == -(1.0 + 0.5)


def test_sparse_gradients_of_many_batches_take_no_more_than_the_rows_they_touch():
    """Ten batches of 500 of 1,000 rows would be 5,000 entries unmerged; the sum is that of a dense table."""
    rng, dense = torch.Generator().manual_seed(0), torch.zeros(1000, 2)
    table = nn.Embedding(1000, 2, sparse=True)
    some = group(table.weight, accumulate=10)
    for _ in range(10):
        rows, weights = torch.randint(1000, (500,), generator=rng), torch.rand(500, 2, generator=rng)
        (table(rows) * weights).sum().backward()
        some.gather(1.0)
        dense.index_add_(0, rows, weights)
        assert table.weight.grad._nnz() <= 1000
    torch.testing.assert_close(table.weight.grad.to_dense(), dense)


def test_sparse_gradients_are_scaled_like_dense_ones():
    moved = []
    for sparse in (False, True):
        table = nn.Embedding(5, 2, sparse=sparse)
        nn.init.zeros_(table.weight)
        some = group(table.weight)
        (table(torch.tensor([1, 3, 3])) * torch.tensor([[3.0, 4.0], [1.0, 2.0], [5.0, 6.0]])).sum().backward()
        some.gathered = 2.0
        some.step(1.0)
        moved.append(table.weight.detach())
    assert torch.allclose(*moved)
    assert moved[0].flatten().tolist() == [0, 0, -1.5, -2, 0, 0, -3, -4, 0, 0]


def test_matrices_decay_and_biases_and_gains_do_not():
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    optimiser = adamw(model.parameters(), lr=0.1, weight_decay=0.5)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    shrunk = [torch.allclose(new, old * (1 - 0.1 * 0.5)) for new, old in zip(model.parameters(), before)]
    same = [torch.equal(new, old) for new, old in zip(model.parameters(), before)]
    assert shrunk[0] and not same[0]
    assert same[1:] == [True, True, True]


def test_frozen_weights_belong_to_no_group():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[0].requires_grad_(False)
    (only,) = groups_of(model, Optim())
    assert [id(each) for each in only.parameters] == [id(each) for each in model[1].parameters()]


class Chooses(nn.Module):
    def __init__(self, *names: str):
        super().__init__()
        self.names, self.first, self.second = names, nn.Linear(2, 2), nn.Linear(2, 2)

    def groups(self, optim: Optim) -> list[Group]:
        return [Group(str(at), adamw(getattr(self, name).parameters(), optim.lr)) for at, name in enumerate(self.names)]


def test_a_model_declares_its_groups():
    assert [each.name for each in groups_of(Chooses("first", "second"), Optim(lr=0.1))] == ["0", "1"]


def test_a_weight_that_nobody_moves_is_noticed():
    with pytest.raises(ValueError, match=r"second\.weight.*second\.bias"):
        groups_of(Chooses("first"), Optim(lr=0.1))


def test_a_weight_that_two_groups_move_is_noticed():
    with pytest.raises(ValueError, match=r"\['first\.weight', 'first\.bias'\]"):
        groups_of(Chooses("first", "second", "first"), Optim(lr=0.1))


@pytest.mark.parametrize(
    ("field", "value"),
    [("lr", 0), ("lr", math.nan), ("row_lr", 0), ("row_lr", math.inf), ("epochs", 0), ("batch_size", 0),
     ("warmup", 1.5), ("weight_decay", -0.1), ("average_every", -1), ("keep", "best"), ("schedule", "0.5,7"),
     ("schedule", "halving"), ("schedule", ""), ("schedule", "0.5,,0.7")],
)  # fmt: skip
def test_impossible_settings_are_refused_by_name(field, value):
    with pytest.raises(ConfigError, match=field):
        Optim(**{field: value})


def test_settings_come_from_text_as_on_the_command_line():
    settings = {"lr": "1e-4", "average_from": "4", "schedule": "0.5, 0.75,0.9"}
    assert build(Optim, settings) == Optim(lr=1e-4, average_from=4, schedule="0.5, 0.75,0.9")
    assert build(Optim, settings).halvings == (0.5, 0.75, 0.9) and Optim().halvings == ()
    with pytest.raises(ConfigError, match=r"schedule = '0\.5,x': write linear, constant, or shares"):
        build(Optim, {"schedule": "0.5,x"})
