"""How weights move: the settings of a training, groups of parameters that step together, learning rates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from longtail.config import setting
from longtail.errors import ConfigError


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
    precision: Literal["fp32", "bf16"] = setting("fp32", "bf16 computes in bfloat16; weights stay float32")
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


def _refuse(optim: Optim, names: Iterable[str], wrong: Callable[[float], bool], expected: str) -> None:
    for name in names:
        if wrong(getattr(optim, name)):
            raise ConfigError(f"{name} = {getattr(optim, name)}: it must be {expected}")


class Group:
    """Parameters that step together: every `accumulate` batches, with the mean of their gradients.

    A model that needs more than one declares `groups(optim) -> list[Group]`.  The optimiser may be any of
    torch's or one of ours with the same face; gradients may be sparse.

        def groups(self, optim):
            return [
                Group("encoder", adamw(self.encoder.parameters(), self.config.encoder_lr, optim.weight_decay)),
                Group("labels", torch.optim.SparseAdam([self.labels.weight], optim.lr), accumulate=10),
            ]
    """

    def __init__(self, name: str, optimiser: torch.optim.Optimizer, accumulate: int = 1, average: bool = True):
        self.name, self.optimiser, self.accumulate, self.average = name, optimiser, accumulate, average
        self.peaks = [part["lr"] for part in optimiser.param_groups]
        self.gathered = 0.0  # batches whose gradients wait for the next step, a short one as its share of a full one

    @property
    def parameters(self) -> list[nn.Parameter]:
        """Everything this group moves."""
        return [parameter for part in self.optimiser.param_groups for parameter in part["params"]]

    def steps(self, batches: int, per_epoch: int) -> int:
        """How often the group has stepped after so many batches: an epoch's last batch always makes a step."""
        epochs, rest = divmod(batches, per_epoch)
        return epochs * math.ceil(per_epoch / self.accumulate) + rest // self.accumulate

    def step(self, rate: float, clip: float) -> None:
        """Move by the mean gradient of what was gathered, at `rate` times the peak learning rate."""
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        scale = 1 / self.gathered
        if clip:
            scale *= min(1.0, clip / (scale * norm(gradients) + 1e-12))
        if scale != 1:
            for gradient in gradients:
                gradient.mul_(scale)
        for part, peak in zip(self.optimiser.param_groups, self.peaks):
            part["lr"] = peak * rate
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.gathered = 0.0


def norm(gradients: Iterable[Tensor]) -> float:
    """Euclidean length of all gradients taken as one vector; sparse ones count each row once."""
    values = (gradient.coalesce().values() if gradient.is_sparse else gradient for gradient in gradients)
    return math.sqrt(sum(float(value.square().sum()) for value in values))


def adamw(parameters: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0) -> torch.optim.AdamW:
    """AdamW that decays matrices and leaves biases, gains and gates, which have one dimension or none, alone."""
    moving = [parameter for parameter in parameters if parameter.requires_grad]
    parts = [
        {"params": [parameter for parameter in moving if parameter.ndim > 1], "weight_decay": weight_decay},
        {"params": [parameter for parameter in moving if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([part for part in parts if part["params"]], lr=lr, fused=True)


def groups_of(model: nn.Module, optim: Optim) -> list[Group]:
    """The model's own groups, or one AdamW over everything."""
    if not hasattr(model, "groups"):
        return [Group("all", adamw(model.parameters(), optim.lr, optim.weight_decay), optim.accumulate)]
    groups: list[Group] = model.groups(optim)  # type: ignore[operator]
    # A weight that nobody moves, or two move, trains without complaint and is found weeks later.
    owners = Counter(id(parameter) for group in groups for parameter in group.parameters)
    wrong = [name for name, each in model.named_parameters() if each.requires_grad and owners[id(each)] != 1]
    if wrong or len({group.name for group in groups}) != len(groups):
        raise ValueError(f"every weight that learns needs one group, each with its own name; look at {wrong or groups}")
    return groups


def rate(optim: Optim, step: int, steps: int) -> float:
    """The share of the peak learning rate at a group's step, counted from 0, out of `steps`."""
    warm = round(optim.warmup * steps)
    if step < warm:
        return (step + 1) / warm
    return SCHEDULES[optim.schedule](optim, (step - warm) / (steps - warm))


# How the rate falls as the share of the training behind the warm-up grows from 0 to 1.
SCHEDULES: dict[str, Callable[[Optim, float], float]] = {
    "constant": lambda optim, done: 1.0,
    "linear": lambda optim, done: 1 - done,
    "halving": lambda optim, done: 0.5 ** sum(done >= share for share in optim.halve_at),
}
