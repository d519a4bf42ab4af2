"""Training settings; part of every method's Config, so this module imports nothing heavy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from longtail.config import setting
from longtail.errors import ConfigError

Precision = Literal["fp32", "bf16", "auto"]
Moments = Literal["entry", "row"]


@dataclass(frozen=True)
class Pace:
    """Epochs, learning rates and precision of one training.

    `lr` is for dense parameters: the layers of a transformer, the block of a bag encoder.  `row_lr` is for tables of
    which a batch touches few rows: label rows, cluster rows, the token vectors of a bag.
    """

    epochs: int = setting(10, "passes over the training documents")
    lr: float | None = setting(
        None, "peak learning rate of the encoder's layers; none: 1e-4 for a transformer, row_lr / 10 for a bag"
    )
    row_lr: float = setting(1e-2, "peak learning rate of label rows, cluster rows and a bag's token vectors")
    precision: Precision = setting(
        "fp32",
        "bf16: matrix products in bfloat16, weights in float32; auto: bf16 if the processor has instructions for it",
    )

    def __post_init__(self) -> None:
        _refuse(self, ("epochs",), lambda value: value < 1, "at least 1")
        _refuse(self, ("lr", "row_lr"), lambda value: value is not None and not 0 < value < math.inf, "more than 0")


@dataclass(frozen=True)
class Steps:
    """Batches, schedule and averaging, shared by all trainings of a method."""

    batch_size: int = setting(32, "documents per batch")
    schedule: Literal["constant", "linear", "halving"] = setting("linear", "learning-rate schedule after the warm-up")
    halve_at: tuple[float, ...] = setting((0.5, 0.75), "halving: shares of training at which rates are halved")
    warmup: float = setting(0.0, "share of the steps over which rates rise linearly")
    weight_decay: float = setting(0.0, "decoupled weight decay of dense matrices, not of tables and biases")
    accumulate: int = setting(1, "batches per optimiser step (gradient accumulation)")
    average_from: int | None = setting(None, "first epoch of weight averaging (SWA); none: no averaging")
    moments: Moments = setting(
        "entry",
        "second moments of Adam on tables (row_lr): of every entry, or one of a row; "
        "row also keeps first moments in bfloat16, in all a quarter of the memory",
    )
    average_every: int = setting(0, "batches between two averaged snapshots; 0: one per epoch")

    def __post_init__(self) -> None:
        _refuse(self, ("batch_size", "accumulate"), lambda value: value < 1, "at least 1")
        not_negative = ("warmup", "weight_decay", "average_every")
        _refuse(self, not_negative, lambda value: not 0 <= value < math.inf, "0 or more")
        if self.warmup >= 1 or any(not 0 < share < 1 for share in self.halve_at):
            raise ConfigError("warmup and halve_at are shares of the training: write 0.1 for a tenth")


@dataclass(frozen=True)
class Learning(Steps, Pace):
    """All settings of one training but `keep`."""

    def __post_init__(self) -> None:
        Pace.__post_init__(self)
        Steps.__post_init__(self)


@dataclass(frozen=True)
class Optim(Learning):
    """Input of the training loop: the settings of one training, and which weights are kept."""

    keep: str = setting("last", "final weights: last, or a metric such as nDCG@5 for the best on validation documents")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep != LAST and not METRIC.fullmatch(self.keep):
            raise ConfigError(f"keep = {self.keep!r}: write last, or a metric such as nDCG@5, P@1 or R@10")

    @classmethod
    def of(cls, *parts: Pace | Steps, keep: str = "last") -> Optim:
        """Combine settings that a method keeps in several places."""
        known = {name for part in (Pace, Steps) for name in part.__dataclass_fields__}
        values = {name: value for part in parts for name, value in vars(part).items() if name in known}
        return cls(**values, keep=keep)

    @property
    def metric(self) -> str:
        """Metric that validation reports, and selects the weights by unless the last are kept."""
        return DEFAULT_METRIC if self.keep == LAST else self.keep


LAST, DEFAULT_METRIC = "last", "nDCG@5"
METRIC = re.compile(r"(P|nDCG|R)@[1-9][0-9]{0,3}")


def with_many_steps(optim: Optim, documents: int) -> Optim:
    """The same with smaller batches if an epoch would have few: rows need many steps."""
    most = max(SMALLEST_BATCH, documents // STEPS_AN_EPOCH)
    return replace(optim, batch_size=min(optim.batch_size, most))


STEPS_AN_EPOCH, SMALLEST_BATCH = 40, 4


def _refuse(optim: Pace | Steps, names: Iterable[str], wrong: Callable[[Any], bool], expected: str) -> None:
    for name in names:
        if wrong(getattr(optim, name)):
            raise ConfigError(f"{name} = {getattr(optim, name)}: it must be {expected}")
