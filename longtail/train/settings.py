"""Training settings; part of every method's Config, so this module imports nothing heavy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

from longtail.config import setting
from longtail.errors import ConfigError

Precision = Literal["fp32", "bf16", "auto"]
EPOCHS = "passes over the training documents"
LR = "peak learning rate of the encoder's layers; none: 1e-4 for a transformer, row_lr / 10 for a bag"
ROW_LR = "peak learning rate of label rows, cluster rows and a bag's token vectors"
PRECISION = "bf16: matrix products in bfloat16, weights in float32; auto: bf16 if the processor has instructions for it"
Value = TypeVar("Value")
EACH = "one value, or one for each stage"


@dataclass(frozen=True)
class Pace:
    """Epochs, learning rates and precision of one training.

    `lr` is for dense parameters: the layers of a transformer, the block of a bag encoder.  `row_lr` is for tables of
    which a batch touches few rows: label rows, cluster rows, the token vectors of a bag.
    """

    epochs: int = setting(10, EPOCHS)
    lr: float | None = setting(None, LR)
    row_lr: float = setting(1e-2, ROW_LR)
    precision: Precision = setting("fp32", PRECISION)

    def __post_init__(self) -> None:
        _refuse(self, ("epochs",), lambda value: value < 1, "at least 1")
        _refuse(self, ("lr", "row_lr"), lambda value: value is not None and not 0 < value < math.inf, "more than 0")


@dataclass(frozen=True)
class StagedPace:
    """The same for several trainings: one value for all of them, or one for each."""

    epochs: tuple[int, ...] = setting((10,), f"{EPOCHS}; {EACH}")
    lr: tuple[float, ...] | None = setting(None, f"{LR}; {EACH}")
    row_lr: tuple[float, ...] = setting((1e-2,), f"{ROW_LR}; {EACH}")
    precision: tuple[Precision, ...] = setting(("fp32",), f"{PRECISION}; {EACH}")


@dataclass(frozen=True)
class Steps:
    """Batches, schedule and averaging, shared by all trainings of a method."""

    batch_size: int = setting(32, "documents per batch")
    schedule: str = setting(
        "linear",
        "learning rates after the warm-up: linear (falling to 0), constant, or the shares of training at which they "
        "are halved, such as 0.5,0.75",
    )
    warmup: float = setting(0.0, "share of the steps over which rates rise linearly")
    weight_decay: float = setting(0.0, "decoupled weight decay of dense matrices, not of tables and biases")
    average_from: int | None = setting(None, "first epoch of weight averaging (SWA); none: no averaging")
    average_every: int = setting(0, "batches between two averaged snapshots; 0: one per epoch")

    def __post_init__(self) -> None:
        _refuse(self, ("batch_size",), lambda value: value < 1, "at least 1")
        not_negative = ("warmup", "weight_decay", "average_every")
        _refuse(self, not_negative, lambda value: not 0 <= value < math.inf, "0 or more")
        if self.warmup >= 1:
            raise ConfigError("warmup is a share of the training: write 0.1 for a tenth")
        if self.schedule not in SCHEDULES and not self.halvings:
            raise ConfigError(f"schedule = {self.schedule!r}: write {SCHEDULE_FORMS}")

    @property
    def halvings(self) -> tuple[float, ...]:
        """The shares of training at which rates are halved, where `schedule` has them."""
        try:
            shares = tuple(float(share) for share in self.schedule.split(","))
        except ValueError:
            return ()
        return shares if all(0 < share < 1 for share in shares) else ()


SCHEDULES = ("linear", "constant")
SCHEDULE_FORMS = "linear, constant, or shares of the training at which rates are halved, such as 0.5,0.75"


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
        check_kept(self.keep)

    @property
    def metric(self) -> str:
        """Metric that validation reports, and selects the weights by unless the last are kept."""
        return DEFAULT_METRIC if self.keep == LAST else self.keep


LAST, DEFAULT_METRIC = "last", "nDCG@5"
METRIC = re.compile(r"(P|nDCG|R)@[1-9][0-9]{0,3}")


def check_kept(keep: str) -> None:
    """Raise unless weights can be kept by this."""
    if keep != LAST and not METRIC.fullmatch(keep):
        raise ConfigError(f"keep = {keep!r}: write last, or a metric such as nDCG@5, P@1 or R@10")


@dataclass(frozen=True)
class StagedLearning(Steps, StagedPace):
    """All settings of several trainings but `keep`."""

    def check_stages(self, stages: int) -> None:
        """Raise unless there is one value for all stages or one for each, and all are valid."""
        for item in fields(self):
            check_number(f"optim.{item.name}", getattr(self, item.name), stages)
        for number in range(stages):
            self.stage(number)

    def stage(self, number: int, keep: str = LAST) -> Optim:
        """The settings of one training."""
        values: dict[str, Any] = {item.name: getattr(self, item.name) for item in fields(Steps)}
        values |= {item.name: of_stage(getattr(self, item.name) or (None,), number) for item in fields(StagedPace)}
        return Optim(**values, keep=keep)


def as_optim(learning: Learning) -> Optim:
    """The input of the training loop; without validation documents the last weights are kept."""
    return Optim(**vars(learning))


def of_stage(values: tuple[Value, ...], number: int) -> Value:
    """The value of a stage: the one for all, or its own."""
    return values[0] if len(values) == 1 else values[number]


def check_number(name: str, values: object, stages: int) -> None:
    """Raise if these are neither one value nor as many as there are stages."""
    if isinstance(values, tuple) and len(values) not in (1, stages):
        raise ConfigError(f"{name} has {len(values)} values: write one for all stages, or {stages}, one for each")


def with_many_steps(optim: Optim, documents: int) -> Optim:
    """The same with smaller batches if an epoch would have few: rows need many steps."""
    most = max(SMALLEST_BATCH, documents // STEPS_AN_EPOCH)
    return replace(optim, batch_size=min(optim.batch_size, most))


STEPS_AN_EPOCH, SMALLEST_BATCH = 40, 4


def _refuse(optim: Pace | Steps, names: Iterable[str], wrong: Callable[[Any], bool], expected: str) -> None:
    for name in names:
        if wrong(getattr(optim, name)):
            raise ConfigError(f"{name} = {getattr(optim, name)}: it must be {expected}")
