"""A training to be killed: `python -m tests.unit.train.killed DIRECTORY` writes a line for every batch."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from tests.unit.train.runs import opened
from tests.unit.train.test_loop import EVERYTHING
from tests.unit.train.tiny import Points, Tiny


class Talks(Tiny):
    def loss(self, batch):
        print("batch", flush=True)  # noqa: T201
        return super().loss(batch)


if __name__ == "__main__":
    torch.set_num_threads(1)
    with opened(Path(sys.argv[1])) as run:
        run.train("tiny", Talks(), Points.planted(48), EVERYTHING, seed=3, valid=Points.planted(12))
