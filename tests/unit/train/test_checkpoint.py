from __future__ import annotations

import json

import pytest
import torch
from torch import nn

from longtail import store
from longtail.errors import RunError
from longtail.train import checkpoint
from longtail.train.averaging import Average
from longtail.train.optim import Group, adamw

CPU = torch.device("cpu")


class Mixed(nn.Module):
    """Tied weights, a buffer that lasts, one that does not, rows with sparse gradients, a transposed weight."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(6, 3, sparse=True)
        self.dense = nn.Linear(3, 6)
        self.tied = self.dense
        self.turned = nn.Parameter(torch.randn(3, 2).T)
        self.register_buffer("table", torch.arange(4))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)

    def groups(self) -> list[Group]:
        dense = adamw([*self.dense.parameters(), self.turned], 0.1)
        return [Group("rows", torch.optim.SparseAdam([self.rows.weight], lr=0.1)), Group("dense", dense)]


def stepped(model: Mixed, groups: list[Group], average: Average, steps: int) -> None:
    for step in range(steps):
        hidden = model.rows(torch.tensor([step % 6, 1]))
        (model.tied(hidden).square().mean() + (model.turned - step).square().mean()).backward()
        for group in groups:
            group.gathered = 1.0
            group.step(1.0)
        average.take(step)


def made() -> tuple[Mixed, list[Group], Average]:
    model = Mixed()
    return model, model.groups(), Average(dict(model.named_parameters()), 0, 1)


def test_what_was_packed_goes_on_to_the_same_bits(tmp_path):
    one, other = made(), made()
    stepped(*one, steps=3)
    checkpoint.write(tmp_path / "last", *checkpoint.pack(*one))
    checkpoint.unpack(*checkpoint.read(tmp_path / "last", CPU), *other)
    assert other[2].count == 3
    for model, groups, average in (one, other):
        stepped(model, groups, average, steps=4)
    for name, value in one[0].state_dict().items():
        assert torch.equal(value, other[0].state_dict()[name]), name
    assert all(torch.equal(one[2].means[name], other[2].means[name]) for name in one[2].means)


def test_tied_weights_are_stored_once_and_passing_buffers_never():
    names = checkpoint.weights_of(Mixed()).keys()
    assert names == {"rows.weight", "dense.weight", "dense.bias", "turned", "table"}


def test_the_files_are_json_and_safetensors(tmp_path):
    training = made()
    stepped(*training, steps=1)
    checkpoint.write(tmp_path / "last", *checkpoint.pack(*training))
    assert {path.name for path in (tmp_path / "last").iterdir()} == {
        "state.json", "tensors.safetensors", "manifest.json",
    }  # fmt: skip
    state = json.loads((tmp_path / "last" / "state.json").read_text())
    assert state["optimisers"]["optimiser/rows/0/step"] == 1
    assert "optimiser/dense/0/exp_avg" in store.mapped_arrays(tmp_path / "last" / "tensors.safetensors")


def test_a_later_checkpoint_does_not_reach_into_what_an_earlier_one_gave(tmp_path):
    training = made()
    stepped(*training, steps=1)
    checkpoint.write(tmp_path / "last", *checkpoint.pack(*training))
    read = checkpoint.read(tmp_path / "last", CPU)[1]
    before = {name: tensor.clone() for name, tensor in read.items()}
    stepped(*training, steps=2)
    checkpoint.write(tmp_path / "last", *checkpoint.pack(*training))
    assert all(torch.equal(before[name], read[name]) for name in before)


def test_damage_is_noticed(tmp_path):
    checkpoint.write(tmp_path / "last", *checkpoint.pack(*made()))
    file = tmp_path / "last" / "tensors.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(RunError, match=r"tensors\.safetensors: its bytes changed"):
        checkpoint.read(tmp_path / "last", CPU)


@pytest.mark.parametrize("other", [nn.Linear(3, 5), nn.Linear(3, 6, bias=False)])
def test_weights_of_another_model_are_refused_by_name(other):
    with pytest.raises(RunError, match=r"another shape .*bias"):
        checkpoint.put_weights(other, checkpoint.weights_of(nn.Linear(3, 6)))


def test_finishing_leaves_the_final_weights_alone(tmp_path):
    for name in ("last", "best"):
        checkpoint.write(tmp_path / name, {}, {"weight": torch.ones(1)})
    model = nn.Linear(2, 2)
    checkpoint.finish(tmp_path, {"step": 7}, model)
    assert [path.name for path in tmp_path.iterdir()] == ["final"]
    state, tensors = checkpoint.read(tmp_path / "final", CPU)
    assert state == {"step": 7}
    assert torch.equal(tensors["weight"], model.weight)
