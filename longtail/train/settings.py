"""The settings of a training; a method's Config holds them, so they import nothing heavy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from longtail.config import setting
from longtail.errors import ConfigError

Precision = Literal["fp32", "bf16", "auto"]


@dataclass(frozen=True)
class Pace:
    """How long one training takes, and how far a step goes.

    `lr` moves what every batch touches: the layers of a transformer, the block of a bag encoder.  `row_lr` moves rows,
    most of which a batch leaves alone: label rows, cluster rows, the token vectors of a bag.
    """

    epochs: int = setting(10, "times every document is read")
    lr: float | None = setting(
        None, "peak learning rate of the encoder's layers; none: 1e-4 for a transformer, a tenth of row_lr for a bag"
    )
    row_lr: float = setting(1e-2, "peak learning rate of label rows, cluster rows and a bag's token vectors")
    precision: Precision = setting(
        "fp32",
        "bf16 multiplies in bfloat16, weights stay float32; auto does where the processor has instructions for it",
    )

    def __post_init__(self) -> None:
        _refuse(self, ("epochs",), lambda value: value < 1, "at least 1")
        _refuse(self, ("lr", "row_lr"), lambda value: value is not None and not 0 < value < math.inf, "more than 0")


@dataclass(frozen=True)
class Steps:
    """How steps are taken, alike in all trainings of a method."""

    batch_size: int = setting(32, "documents in a batch")
    schedule: Literal["constant", "linear", "halving"] = setting("linear", "how rates fall after the warm-up")
    halve_at: tuple[float, ...] = setting((0.5, 0.75), "halving: shares of the training after which rates halve")
    warmup: float = setting(0.0, "share of the steps over which rates climb to their peaks")
    weight_decay: float = setting(0.0, "decoupled decay of dense matrices; token and label tables, biases never decay")
    accumulate: int = setting(1, "batches whose mean gradient makes one step")
    average_from: int | None = setting(None, "epoch from which weights are averaged (SWA); none averages nothing")
    average_every: int = setting(0, "batches between two weights of the average; 0 takes one an epoch")

    def __post_init__(self) -> None:
        _refuse(self, ("batch_size", "accumulate"), lambda value: value < 1, "at least 1")
        not_negative = ("warmup", "weight_decay", "average_every")
        _refuse(self, not_negative, lambda value: not 0 <= value < math.inf, "0 or more")
        if self.warmup >= 1 or any(not 0 < share < 1 for share in self.halve_at):
            raise ConfigError("warmup and halve_at are shares of the training: write 0.1 for a tenth")


@dataclass(frozen=True)
class Learning(Steps, Pace):
    """One training: its pace and its steps."""

    def __post_init__(self) -> None:
        Pace.__post_init__(self)
        Steps.__post_init__(self)


@dataclass(frozen=True)
class Optim(Learning):
    """What the training loop is told: one training, and which of its weights are kept."""

    keep: str = setting(
        "last", "weights to end with: the last, or the best on validation documents by a metric, as nDCG@5"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep != LAST and not METRIC.fullmatch(self.keep):
            raise ConfigError(f"keep = {self.keep!r}: write last, or a metric such as nDCG@5, P@1 or R@10")

    @classmethod
    def of(cls, *parts: Pace | Steps, keep: str = "last") -> Optim:
        """Put together from settings that a method has in several places."""
        known = {name for part in (Pace, Steps) for name in part.__dataclass_fields__}
        values = {name: value for part in parts for name, value in vars(part).items() if name in known}
        return cls(**values, keep=keep)

    @property
    def metric(self) -> str:
        """What validation reports and, unless the last weights are kept, chooses by."""
        return DEFAULT_METRIC if self.keep == LAST else self.keep


LAST, DEFAULT_METRIC = "last", "nDCG@5"
METRIC = re.compile(r"(P|nDCG|R)@[1-9][0-9]{0,3}")


def with_many_steps(optim: Optim, documents: int) -> Optim:
    """The same with smaller batches where an epoch would have few: rows move by steps, not by documents."""
    most = max(SMALLEST_BATCH, documents // STEPS_AN_EPOCH)
    return replace(optim, batch_size=min(optim.batch_size, most))


STEPS_AN_EPOCH, SMALLEST_BATCH = 40, 4


def _refuse(optim: Pace | Steps, names: Iterable[str], wrong: Callable[[Any], bool], expected: str) -> None:
    for name in names:
        if wrong(getattr(optim, name)):
            raise ConfigError(f"{name} = {getattr(optim, name)}: it must be {expected}")
