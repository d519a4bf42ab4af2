"""The settings of a training; a method's Config holds them, so they import nothing heavy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from longtail.config import setting
from longtail.errors import ConfigError

Precision = Literal["fp32", "bf16", "auto"]


@dataclass(frozen=True)
class Optim:
    """What a training is told.  A method that needs more, such as a second rate, has it in its own Config."""

    lr: float = setting(1e-3, "peak learning rate")
    epochs: int = setting(10, "times every document is read")
    batch_size: int = setting(32, "documents in a batch")
    schedule: Literal["constant", "linear", "halving"] = setting("constant", "how the rate falls after the warm-up")
    warmup: float = setting(0.0, "share of the steps over which the rate climbs to its peak")
    halve_at: tuple[float, ...] = setting((0.5, 0.75), "halving: shares of the training after which the rate halves")
    weight_decay: float = setting(0.0, "decoupled decay of matrices; biases, gains and gates never decay")
    clip: float = setting(0.0, "largest norm of a group's gradient; 0 clips nothing")
    accumulate: int = setting(1, "batches whose mean gradient makes one step")
    precision: Precision = setting(
        "fp32", "bf16 computes in bfloat16, weights stay float32; auto does where the processor has instructions for it"
    )
    average_from: int | None = setting(None, "epoch from which weights are averaged (SWA); none averages nothing")
    average_every: int = setting(0, "batches between two weights of the average; 0 takes one an epoch")
    metric: str = setting("nDCG@5", "what validation chooses by: P@k, nDCG@k or R@k")
    keep: Literal["best", "last"] = setting("best", "weights to end with, where there are validation documents")
    patience: int = setting(0, "validations without a new best before stopping; 0 never stops early")
    valid_every: float = setting(1.0, "epochs between validations")
    checkpoint_every: float = setting(300.0, "seconds between checkpoints")

    def __post_init__(self) -> None:
        at_least_one = ("epochs", "batch_size", "accumulate")
        positive = ("lr", "valid_every")
        not_negative = ("warmup", "weight_decay", "clip", "average_every", "patience", "checkpoint_every")
        _refuse(self, at_least_one, lambda value: value < 1, "at least 1")
        _refuse(self, positive, lambda value: not 0 < value < math.inf, "more than 0")
        _refuse(self, not_negative, lambda value: not 0 <= value < math.inf, "0 or more")
        if self.warmup >= 1 or any(not 0 < share < 1 for share in self.halve_at):
            raise ConfigError("warmup and halve_at are shares of the training: write 0.1 for a tenth")


def with_many_steps(optim: Optim, documents: int) -> Optim:
    """The same with smaller batches where an epoch would have few: rows move by steps, not by documents."""
    most = max(SMALLEST_BATCH, documents // STEPS_AN_EPOCH)
    return replace(optim, batch_size=min(optim.batch_size, most))


STEPS_AN_EPOCH, SMALLEST_BATCH = 40, 4


def _refuse(optim: Optim, names: Iterable[str], wrong: Callable[[float], bool], expected: str) -> None:
    for name in names:
        if wrong(getattr(optim, name)):
            raise ConfigError(f"{name} = {getattr(optim, name)}: it must be {expected}")
