"""Optimiser for tables of which a batch touches few rows: tokens, labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from longtail.kernels.row_adam import move_rows
from longtail.train.settings import Moments


class RowAdam(torch.optim.Optimizer):
    """Adam for parameters with sparse gradients, compiled on a CPU: several times faster than torch's SparseAdam.

    Unlike in Adam, rows without a gradient do not move and their moments do not decay.  Moments of "row" are compact
    (kernels/row_adam.py): the first in bfloat16, the second one number a row.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, moments: Moments = "entry"):
        super().__init__([each for each in parameters if each.requires_grad], {"lr": lr})
        self.moments = moments

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every row that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group["lr"])

    def _move(self, parameter: nn.Parameter, lr: float) -> None:
        state = self.state[parameter]
        if not state:
            state |= {"step": 0} | self._no_moments(parameter)
        state["step"] += 1
        rows, values = _each_row_once(parameter.grad)  # type: ignore[arg-type]
        move = _on_cpu if parameter.device.type == "cpu" else move_rows_plainly
        move(parameter.data, (state["first"], state["second"]), rows, values, state["step"], lr)

    def _no_moments(self, parameter: nn.Parameter) -> dict[str, Tensor]:
        if self._is_compact(parameter):
            second = torch.zeros(len(parameter), device=parameter.device)
            return {"first": torch.zeros_like(parameter, dtype=torch.bfloat16), "second": second}
        return {"first": torch.zeros_like(parameter), "second": torch.zeros_like(parameter)}

    def _is_compact(self, parameter: Tensor) -> bool:
        return self.moments == "row" and math.prod(parameter.shape[1:]) > 1

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load, and give first moments their type back: torch's own makes all of them float32."""
        super().load_state_dict(state_dict)
        for parameter, state in self.state.items():
            if state and self._is_compact(parameter):
                state["first"] = state["first"].to(torch.bfloat16)


def _each_row_once(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The sorted rows with a gradient, and their gradients."""
    rows, values = gradient._indices()[0], gradient._values()
    # Autograd drops the is_coalesced flag, and coalescing needlessly takes as long as the step.
    if len(rows) == 0 or bool((rows[1:] > rows[:-1]).all()):
        return rows, values
    together = gradient.coalesce()
    return together.indices()[0], together.values()


def _on_cpu(
    table: Tensor, moments: tuple[Tensor, Tensor], rows: Tensor, gradients: Tensor, step: int, lr: float
) -> None:
    first, second = moments
    if first.dtype == torch.bfloat16:
        arrays = first.view(torch.uint16).numpy(), second.numpy()
    else:
        arrays = _table(first), _table(second)
    move_rows(_table(table), arrays, rows.numpy(), _table(gradients), step, lr)


def _table(tensor: Tensor) -> np.ndarray:
    """(rows, width) view; a vector is a table of single numbers."""
    return tensor.numpy().reshape(len(tensor), math.prod(tensor.shape[1:]))  # reshape(-1) fails for no rows


def move_rows_plainly(
    table: Tensor, moments: tuple[Tensor, Tensor], rows: Tensor, gradients: Tensor, step: int, lr: float
) -> None:
    """`kernels.row_adam.move_rows` in torch: the reference, and the implementation for other devices."""
    first, second = moments
    compact = first.dtype == torch.bfloat16
    m = 0.9 * first[rows].float() + 0.1 * gradients
    v = (
        0.999 * second[rows] + 0.001 * (gradients**2).mean(1)
        if compact
        else 0.999 * second[rows] + 0.001 * gradients**2
    )
    first[rows], second[rows] = m.to(first.dtype), v
    root = (v / (1 - 0.999**step)).sqrt() + 1e-8
    table[rows] -= lr / (1 - 0.9**step) * m / (root[:, None] if compact else root)
