"""A training whose process is killed again and again: `python -m tests.unit.train.killed DIRECTORY KILLS`.

DIRECTORY/whole is never killed.  Every life of DIRECTORY/killed is a fork of this process, so that it costs no start.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch

from longtail.train.run import Run
from tests.unit.train.runs import opened
from tests.unit.train.test_loop import EVERYTHING, TwoAStep
from tests.unit.train.tiny import Points


def live(directory: Path, alive: int) -> None:
    class Breathes(TwoAStep):
        def loss(self, batch):
            os.write(alive, b".")
            return super().loss(batch)

    torch.set_num_threads(1)
    with opened(directory) as run:
        run.train("tiny", Breathes(), Points.planted(48), EVERYTHING, seed=3, valid=Points.planted(12))


def killed(directory: Path, chance: np.random.Generator) -> bool:
    """Whether the training was killed, some batches into its life, before it was done."""
    breath, alive = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            live(directory, alive)
        finally:
            os._exit(0)  # not into what its parent does
    os.close(alive)
    for _ in range(chance.integers(1, 6)):
        os.read(breath, 1)
    time.sleep(chance.uniform(0, 0.04))  # into the step, the validation or the checkpoint
    os.kill(child, signal.SIGKILL)
    os.close(breath)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


if __name__ == "__main__":
    Run.checkpoint_every = 0
    place, kills = Path(sys.argv[1]), int(sys.argv[2])
    live(place / "whole", os.open(os.devnull, os.O_WRONLY))
    print(sum(killed(place / "killed", np.random.default_rng()) for _ in range(kills)))  # noqa: T201
