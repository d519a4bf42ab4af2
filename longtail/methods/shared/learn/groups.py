"""Which parameters learn at which rate: the encoder at its own, rows where a batch touched them."""

from __future__ import annotations

from torch import nn

from longtail.encoders.learn.encoder import LearningEncoder
from longtail.train.optim import Group, adamw
from longtail.train.row_adam import RowAdam
from longtail.train.settings import Optim


def encoder_groups(encoder: LearningEncoder, optim: Optim) -> list[Group]:
    """The layers of an encoder, and the vectors of its words."""
    own, words = encoder.rates(optim.lr, optim.row_lr)
    return [
        *dense_group("encoder", encoder.dense, own, optim),
        *table_group("words", encoder.tables, words, optim.accumulate),
    ]


def dense_group(
    name: str, parameters: list[nn.Parameter], lr: float, optim: Optim, eps: float = 1e-8, accumulate: int | None = None
) -> list[Group]:
    """Parameters that every batch moves, if there are any."""
    every = optim.accumulate if accumulate is None else accumulate
    return [Group(name, adamw(parameters, lr, optim.weight_decay, eps), every)] if parameters else []


def table_group(name: str, tables: list[nn.Parameter], lr: float, accumulate: int, average: bool = True) -> list[Group]:
    """Tables of which a batch moves the rows that it touched, if there are any."""
    return [Group(name, RowAdam(tables, lr), accumulate, average)] if tables else []
