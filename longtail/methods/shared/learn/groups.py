"""Parameter groups: the encoder at its own rate, tables with sparse updates."""

from __future__ import annotations

from torch import nn

from longtail.encoders.learn.encoder import LearningEncoder
from longtail.train.optim import Group, adamw
from longtail.train.row_adam import RowAdam
from longtail.train.settings import Optim


def encoder_groups(encoder: LearningEncoder, optim: Optim) -> list[Group]:
    """Groups of an encoder: its layers, and its word vectors."""
    own, words = encoder.rates(optim.lr, optim.row_lr)
    return [
        *dense_group("encoder", encoder.dense, own, optim),
        *table_group("words", encoder.tables, words, optim),
    ]


def dense_group(
    name: str, parameters: list[nn.Parameter], lr: float, optim: Optim, eps: float = 1e-8, accumulate: int = 1
) -> list[Group]:
    """A group of dense parameters; empty if there are none."""
    return [Group(name, adamw(parameters, lr, optim.weight_decay, eps), accumulate)] if parameters else []


def table_group(
    name: str, tables: list[nn.Parameter], lr: float, optim: Optim, accumulate: int = 1, average: bool = True
) -> list[Group]:
    """A group of tables with sparse updates; empty if there are none."""
    return [Group(name, RowAdam(tables, lr), accumulate, average)] if tables else []
