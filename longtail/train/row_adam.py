"""Optimiser for tables of which a batch touches few rows: tokens, labels."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from longtail.kernels.row_adam import move_rows


class RowAdam(torch.optim.Optimizer):
    """Adam for parameters with sparse gradients, compiled on a CPU: several times faster than torch's SparseAdam.

    Unlike in Adam, rows without a gradient do not move and their moments do not decay.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float):
        super().__init__([each for each in parameters if each.requires_grad], {"lr": lr})

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
            state |= {"step": 0, "first": torch.zeros_like(parameter), "second": torch.zeros_like(parameter)}
        state["step"] += 1
        rows, values = _each_row_once(parameter.grad)  # type: ignore[arg-type]
        move = _on_cpu if parameter.device.type == "cpu" else move_rows_plainly
        move(parameter.data, (state["first"], state["second"]), rows, values, state["step"], lr)


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
    first, second = (_table(moment) for moment in moments)
    move_rows(_table(table), (first, second), rows.numpy(), _table(gradients), step, lr)


def _table(tensor: Tensor) -> np.ndarray:
    """(rows, width) view; a vector is a table of single numbers."""
    return tensor.numpy().reshape(len(tensor), math.prod(tensor.shape[1:]))  # reshape(-1) fails for no rows


def move_rows_plainly(
    table: Tensor, moments: tuple[Tensor, Tensor], rows: Tensor, gradients: Tensor, step: int, lr: float
) -> None:
    """`kernels.row_adam.move_rows` in torch: the reference, and the implementation for other devices."""
    first, second = moments
    m = 0.9 * first[rows] + 0.1 * gradients
    v = 0.999 * second[rows] + 0.001 * gradients**2
    first[rows], second[rows] = m, v
    table[rows] -= lr / (1 - 0.9**step) * m / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
