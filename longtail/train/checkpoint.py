"""Checkpoints without pickle: numbers in JSON, weights and optimiser state in safetensors.

    training/NAME/
    ├── last/           checkpoint to resume from: weights, optimisers, average, position
    ├── last-STEP/R/    label rows of rank R, if there are several (ranks.py); `last` names the step
    ├── best/           the best weights on validation so far
    └── final/          the trained weights; replaces the other two

No random state is stored: it is a function of seed and position (see loop.py).
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from longtail import store
from longtail.encoders.learn.exchange import rows_in_all
from longtail.errors import ModelError, RunError
from longtail.ranks import Ranks, here
from longtail.train.averaging import Average
from longtail.train.optim import Group

STATE, TENSORS = "state.json", "tensors.safetensors"
CHECKPOINT = store.Kind("a checkpoint", STATE, RunError, private=True)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, tied ones once."""
    named = dict(model.named_parameters()) | dict(model.named_buffers())
    lasting = model.state_dict().keys()
    return {name: tensor.detach() for name, tensor in named.items() if name in lasting}


Divided = Mapping[str, int]  # names of tensors whose rows are divided among ranks, and their rows in all
NONE: Divided = MappingProxyType({})


def write(
    place: Path,
    state: dict[str, Any],
    tensors: dict[str, Tensor],
    step: int = 0,
    divided: Divided = NONE,
) -> None:
    """Write a checkpoint atomically.

    With several ranks, all but the leader first write their rows of `divided` tensors (see `divided`) beside it; a
    checkpoint names the directory of these, so it is valid only when all of them are on disk.
    """
    ranks, beside = here(), f"{place.name}-{step}"
    if not ranks.leads:
        own = {name: tensor for name, tensor in tensors.items() if rows_of(name, tensor.shape, divided) is not None}
        _write(place.with_name(beside) / str(ranks.number), {}, own)
    ranks.wait()
    if ranks.leads:
        more = {} if ranks.count == 1 else {"ranks": ranks.count, "beside": beside}
        _write(place, state | more, tensors)
        _forget_parts(place, but=beside if more else "")
    ranks.wait()


def _write(place: Path, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    with store.whole_directory(place, CHECKPOINT) as building:
        store.write_json(building / STATE, state)
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, building / TENSORS)


def read(place: Path, device: torch.device, divided: Divided = NONE) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """State and tensors of a checkpoint of any number of ranks; of `divided` tensors, the rows of this rank."""
    _verify(place)
    state = store.read_json(place / STATE)
    before = state.get("ranks", 1)
    parts = [place, *(place.with_name(state["beside"]) / str(rank) for rank in range(1, before))]
    tensors: dict[str, Tensor] = {}
    with ExitStack() as stack:
        files = [stack.enter_context(safe_open(part / TENSORS, "pt", device=str(device))) for part in parts]
        for name in files[0].keys():  # noqa: SIM118 - not a dict
            rows = rows_of(name, files[0].get_slice(name).get_shape(), divided)
            if rows is not None and max(before, here().count) > 1:
                tensors[name] = _own_rows(files, name, rows)
            else:  # copies: safe_open maps a file that the next checkpoint replaces
                tensors[name] = files[0].get_tensor(name).clone()
    return state, tensors


def _own_rows(files: list[Any], name: str, n_rows: int) -> Tensor:
    """This rank's rows of a divided tensor, from the files of the ranks that wrote it."""
    own, found = here().part(n_rows), []
    for rank, file in enumerate(files):
        there = Ranks(rank, len(files)).part(n_rows)
        start, stop = max(own.start, there.start), min(own.stop, there.stop)
        if start < stop:
            found.append(file.get_slice(name)[start - there.start : stop - there.start])
    return torch.cat(found) if found else files[0].get_slice(name)[:0].clone()


def _verify(place: Path) -> None:
    try:
        store.verify(place)
    except ModelError as error:
        raise RunError(f"a checkpoint is damaged: {error}. Delete {place.parent} to train this part anew") from error


def _forget_parts(place: Path, but: str = "") -> None:
    """Delete what other ranks wrote beside a checkpoint, except for the directory it names."""
    for parts in place.parent.glob(f"{place.name}-*"):
        if parts.name != but:
            shutil.rmtree(parts, ignore_errors=True)


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


def divided(model: nn.Module, groups: Iterable[Group]) -> dict[str, int]:
    """Which tensors of `weights_of` and `pack` have rows divided among ranks, and how many rows they have in all.

    Of an optimiser's state there are the names up to the parameter: its tensors with rows are divided, too.
    """
    rows = {id(each): rows_in_all(each) for each in model.parameters()}
    named = {name: rows[id(each)] for name, each in model.named_parameters()}
    found = {f"{kind}{name}": count for name, count in named.items() for kind in ("", "model/", "average/")}
    for group in groups:
        found |= {f"optimiser/{group.name}/{at}": rows[id(each)] for at, each in enumerate(group.parameters)}
    return {name: count for name, count in found.items() if count is not None}


def rows_of(name: str, shape: Sequence[int], divided: Divided) -> int | None:
    """How many rows a tensor has on all ranks; None if each rank has the whole of it."""
    return divided.get(name, divided.get(name.rpartition("/")[0])) if len(shape) else None


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


def finish(place: Path, state: dict[str, Any], model: nn.Module, step: int = 0, divided: Divided = NONE) -> None:
    """Write the trained weights and delete the checkpoints."""
    write(place / "final", state, weights_of(model), step, divided)
    if here().leads:
        for name in ("last", "best"):
            shutil.rmtree(place / name, ignore_errors=True)
            _forget_parts(place / name)
