"""The smallest thing the training loop can train: points on planted directions, and one linear layer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail.ranking import Ranking
from longtail.train.optim import Group, Optim
from tests.unit.train.runs import opened

N_LABELS = 6


@dataclass(frozen=True)
class PointBatch:
    rows: Tensor
    points: Tensor
    targets: Tensor


@dataclass(frozen=True)
class Points:
    """Document i is a point near the direction of its label, i modulo the number of labels."""

    points: Tensor
    labels: sp.csr_array
    filtered: sp.csr_array | None = None

    @classmethod
    def planted(cls, documents: int, seed: int = 0) -> Points:
        truth = np.eye(N_LABELS, dtype=np.float32)[np.arange(documents) % N_LABELS]
        noise = np.random.default_rng(seed).normal(0, 0.2, truth.shape).astype(np.float32)
        return cls(torch.tensor(truth + noise), sp.csr_array(truth))

    @property
    def lengths(self) -> np.ndarray:
        return np.ones(len(self.points), np.int64)

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> PointBatch:
        targets = torch.tensor(self.labels[rows].toarray())
        return PointBatch(torch.tensor(rows), self.points[torch.tensor(rows)], targets)


class Tiny(nn.Module):
    """Dropout, so that randomness matters; a buffer that counts epochs; a diary of what the loop did."""

    def __init__(self, dropout: float = 0.2):
        super().__init__()
        self.linear = nn.Linear(N_LABELS, N_LABELS)
        with torch.no_grad():
            self.linear.weight.copy_(torch.linspace(-0.1, 0.1, N_LABELS**2).reshape(N_LABELS, N_LABELS))
            self.linear.bias.zero_()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("epoch", torch.tensor(-1))
        self.diary: list[tuple[str, object]] = []

    def start_epoch(self, epoch: int) -> None:
        self.epoch.fill_(epoch)
        self.diary.append(("epoch", epoch))

    def start_batch(self, done: float) -> None:
        self.diary.append(("done", done))

    def loss(self, batch: PointBatch) -> Tensor:
        self.diary.append(("batch", batch.rows.tolist()))
        return F.binary_cross_entropy_with_logits(self.linear(self.dropout(batch.points)), batch.targets)

    def rank(self, batch: PointBatch, k: int) -> Ranking:
        scores, labels = self.linear(batch.points).float().sigmoid().topk(min(k, N_LABELS))
        self.diary.append(("rank", self.linear.weight.detach().clone()))
        return Ranking.of_rows(zip(labels.numpy(), scores.numpy()), k)

    def told(self, event: str) -> list[object]:
        return [value for kind, value in self.diary if kind == event]


class Plain(Tiny):
    """Without dropout and with plain gradient descent, so that a step can be worked out by hand."""

    def __init__(self, accumulate: int = 1) -> None:
        super().__init__(dropout=0.0)
        self.accumulate = accumulate

    def groups(self, optim: Optim) -> list[Group]:
        return [Group("all", torch.optim.SGD(self.parameters(), lr=optim.lr), self.accumulate)]


def trained(directory: Path, model: Tiny, optim: Optim, documents: int = 48, **options: object) -> Tiny:
    """Train in a run of its own, from files to weights."""
    arguments = {"seed": 3} | options
    with opened(directory) as run:
        return run.train("tiny", model, Points.planted(documents), optim, **arguments)


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    mine, theirs = weights(one), weights(other)
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)
