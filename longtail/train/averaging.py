"""Stochastic weight averaging (Izmailov et al. 2018): the mean of late weights generalises better."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """The running mean of some parameters after batch `start`, `start + every`, `start + 2 * every`, …

    Buffers are not averaged: the mean of counts, tables and directions is meaningless.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], start: float, every: int):
        self.parameters, self.start, self.every = parameters, start, every
        self.count = 0
        self.means: dict[str, Tensor] = {}

    def take(self, batches: int) -> None:
        """Add the weights after `batches` batches to the mean, if due."""
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
        """Give the model the mean weights inside the block; no effect before the first snapshot."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def apply(self) -> None:
        """Replace the weights of the model by the mean."""
        with torch.no_grad():
            for name, mean in self.means.items():
                self.parameters[name].copy_(mean)

    def _swap(self) -> None:
        for name, mean in self.means.items():
            parameter = self.parameters[name]
            self.means[name], parameter.data = parameter.data, mean
