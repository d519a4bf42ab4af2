"""Optimiser steps: groups of parameters that step together, and learning rates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import torch
from torch import nn

from longtail.encoders.learn.exchange import agree
from longtail.train.row_adam import RowAdam
from longtail.train.settings import Optim


class Group:
    """Parameters that step together: every `accumulate` batches, with the mean of their gradients.

    A model that needs more than one declares `groups(optim) -> list[Group]`.  The optimiser may be any of
    torch's or one of ours with the same interface; gradients may be sparse.

        def groups(self, optim):
            return [
                Group("encoder", adamw(self.encoder.parameters(), optim.lr, optim.weight_decay)),
                Group("labels", torch.optim.SparseAdam([self.labels.weight], optim.row_lr), accumulate=10),
            ]
    """

    def __init__(self, name: str, optimiser: torch.optim.Optimizer, accumulate: int = 1, average: bool = True):
        self.name, self.optimiser, self.accumulate, self.average = name, optimiser, accumulate, average
        self.peaks = [part["lr"] for part in optimiser.param_groups]
        self.gathered = 0.0  # batches accumulated for the next step; a short batch counts as a fraction

    @property
    def parameters(self) -> list[nn.Parameter]:
        """All parameters of this group."""
        return [parameter for part in self.optimiser.param_groups for parameter in part["params"]]

    def steps(self, batches: int, per_epoch: int) -> int:
        """Number of steps after `batches` batches; the last batch of an epoch always makes a step."""
        epochs, rest = divmod(batches, per_epoch)
        return epochs * math.ceil(per_epoch / self.accumulate) + rest // self.accumulate

    def gather(self, share: float) -> None:
        """Count a batch whose gradients were just added; sparse ones are merged, or they would grow batch by batch."""
        self.gathered += share
        if self.accumulate > 1:
            for parameter in self.parameters:
                if parameter.grad is not None and parameter.grad.is_sparse:
                    parameter.grad = parameter.grad.coalesce()

    def step(self, rate: float) -> None:
        """Step by the mean of the accumulated gradients, at `rate` times the peak learning rate."""
        agree(self.parameters, sparse=isinstance(self.optimiser, RowAdam))
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        scale = 1 / self.gathered
        if scale != 1:
            for gradient in gradients:
                gradient.mul_(scale)
        for part, peak in zip(self.optimiser.param_groups, self.peaks):
            part["lr"] = peak * rate
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.gathered = 0.0


def adamw(
    parameters: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0, eps: float = 1e-8
) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices only, not on biases, gains and gates (at most one dimension)."""
    moving = [parameter for parameter in parameters if parameter.requires_grad]
    parts = [
        {"params": [parameter for parameter in moving if parameter.ndim > 1], "weight_decay": weight_decay},
        {"params": [parameter for parameter in moving if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([part for part in parts if part["params"]], lr=lr, eps=eps, fused=True)


def groups_of(model: nn.Module, optim: Optim) -> list[Group]:
    """The model's own groups, or one AdamW over everything."""
    if not hasattr(model, "groups"):
        return [Group("all", adamw(model.parameters(), optim.lr or optim.row_lr, optim.weight_decay))]
    groups: list[Group] = model.groups(optim)  # type: ignore[operator]
    # A parameter in no group, or in two, would train silently wrong.
    owners = Counter(id(parameter) for group in groups for parameter in group.parameters)
    wrong = [name for name, each in model.named_parameters() if each.requires_grad and owners[id(each)] != 1]
    if wrong or len({group.name for group in groups}) != len(groups):
        raise ValueError(f"every weight that learns needs one group, each with its own name; look at {wrong or groups}")
    return groups


def rate(optim: Optim, step: int, steps: int) -> float:
    """Learning rate at a step (from 0) out of `steps`, as a share of the peak."""
    warm = round(optim.warmup * steps)
    if step < warm:
        return (step + 1) / warm
    done = (step - warm) / (steps - warm)  # share of training since the warm-up
    if optim.halvings:
        return 0.5 ** sum(done >= share for share in optim.halvings)
    return 1 - done if optim.schedule == "linear" else 1.0
