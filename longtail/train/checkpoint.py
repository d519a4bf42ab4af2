"""Checkpoints without pickle: numbers in JSON, weights and optimiser state in safetensors.

    training/NAME/
    ├── last/     checkpoint to resume from: weights, optimisers, average, position
    ├── best/     the best weights on validation so far
    └── final/    the trained weights; replaces the other two

No random state is stored: it is a function of seed and position (see loop.py).
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from longtail import store
from longtail.errors import ModelError, RunError
from longtail.train.averaging import Average
from longtail.train.optim import Group

STATE, TENSORS = "state.json", "tensors.safetensors"
CHECKPOINT = store.Kind("a checkpoint", STATE, RunError, private=True)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, tied ones once."""
    named = dict(model.named_parameters()) | dict(model.named_buffers())
    lasting = model.state_dict().keys()
    return {name: tensor.detach() for name, tensor in named.items() if name in lasting}


def write(place: Path, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a checkpoint atomically."""
    with store.whole_directory(place, CHECKPOINT) as building:
        store.write_json(building / STATE, state)
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, building / TENSORS)


def read(place: Path, device: torch.device) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read state and tensors of a checkpoint."""
    try:
        store.verify(place)
    except ModelError as error:
        raise RunError(f"a checkpoint is damaged: {error}. Delete {place.parent} to train this part anew") from error
    with safe_open(place / TENSORS, "pt", device=str(device)) as file:
        # Copies: safe_open maps a file that the next checkpoint replaces.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 - not a dict
    return store.read_json(place / STATE), tensors


def put_weights(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Load the weights of a checkpoint into the model."""
    here = weights_of(model)
    unlike = {name for name in here.keys() & tensors.keys() if here[name].shape != tensors[name].shape}
    unlike |= here.keys() ^ tensors.keys()
    if unlike:
        raise RunError(
            f"the weights on disk are of a model with another shape ({', '.join(sorted(unlike)[:3])}), so the code "
            "changed since they were written. Use another run directory, or delete this one to start anew."
        )
    for name, tensor in tensors.items():
        here[name].copy_(tensor)


# -- an unfinished training ---------------------------------------------------------------------------------------


def pack(model: nn.Module, groups: Iterable[Group], average: Average) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """State of model, optimisers and average: numbers, and tensors with prefixed names."""
    tensors = {f"model/{name}": tensor for name, tensor in weights_of(model).items()}
    tensors |= {f"average/{name}": tensor for name, tensor in average.means.items()}
    numbers: dict[str, float] = {}
    for group in groups:
        for index, values in group.optimiser.state_dict()["state"].items():
            for key, value in values.items():
                (tensors if isinstance(value, Tensor) else numbers)[f"optimiser/{group.name}/{index}/{key}"] = value
    return {"optimisers": numbers, "averaged": average.count}, tensors


def unpack(
    state: dict[str, Any], tensors: dict[str, Tensor], model: nn.Module, groups: Iterable[Group], average: Average
) -> None:
    """The inverse of `pack`."""
    put_weights(model, _below("model/", tensors))
    average.count, average.means = state["averaged"], _below("average/", tensors)
    for group in groups:
        mine = f"optimiser/{group.name}/"
        found: dict[int, dict[str, Any]] = defaultdict(dict)
        for name, value in (_below(mine, tensors) | _below(mine, state["optimisers"])).items():
            index, _, key = name.partition("/")
            found[int(index)][key] = _laid_out_like(group.parameters[int(index)], value)
        group.optimiser.load_state_dict(group.optimiser.state_dict() | {"state": found})


def _laid_out_like(parameter: nn.Parameter, value: Any) -> Any:  # noqa: ANN401 - a tensor or a number
    # Fused optimisers need equal strides of parameter and state; files are row-major, a transposed parameter is not.
    if isinstance(value, Tensor) and value.shape == parameter.shape:
        return torch.empty_like(parameter, dtype=value.dtype).copy_(value)
    return value


def _below(prefix: str, named: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}


# -- a finished training ------------------------------------------------------------------------------------------


def mapped_weights(place: Path) -> dict[str, np.ndarray]:
    """The weights of a finished training, mapped: they take memory only while they are read."""
    return store.mapped_arrays(place / "final" / TENSORS)


def finish(place: Path, state: dict[str, Any], model: nn.Module) -> None:
    """Write the trained weights and delete the checkpoints."""
    write(place / "final", state, weights_of(model))
    shutil.rmtree(place / "last", ignore_errors=True)
    shutil.rmtree(place / "best", ignore_errors=True)
