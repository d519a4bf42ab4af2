"""Stochastic weight averaging (Izmailov et al. 2018): the mean of a training's late weights generalises better."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """The running mean of some parameters after batch `start`, `start + every`, `start + 2 * every`, …

    Buffers are not averaged: they hold counts, tables and directions, whose mean is none of these.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], start: float, every: int):
        self.parameters, self.start, self.every = parameters, start, every
        self.count = 0
        self.means: dict[str, Tensor] = {}

    def take(self, batches: int) -> None:
        """Count in the weights after so many batches, if it is their turn."""
        late = batches - self.start
        if late < 0 or late % self.every:
            return
        self.count += 1
        for name, parameter in self.parameters.items():
            weights = parameter.detach()
            if name in self.means:
                self.means[name].lerp_(weights, 1 / self.count)
            else:
                self.means[name] = weights.clone()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within the block the model has the mean weights; it changes nothing before the first are taken."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def apply(self) -> None:
        """The model takes the mean weights for good."""
        with torch.no_grad():
            for name, mean in self.means.items():
                self.parameters[name].copy_(mean)

    def _swap(self) -> None:
        for name, mean in self.means.items():
            parameter = self.parameters[name]
            self.means[name], parameter.data = parameter.data, mean
