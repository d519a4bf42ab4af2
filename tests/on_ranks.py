"""A program for torchrun: trains methods on planted documents, as few seconds as possible, and dies when told to.

    torchrun --nproc-per-node 2 --max-restarts 2 -m -- tests.on_ranks DIRECTORY decaf elias

`DEATHS=1:40,0:95`: at the first start rank 1 is killed at its 40th exchange with the others, at the second rank 0 at
its 95th.  Exchanges are in every step, between the phases of a checkpoint, and where ranks wait for a stage.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import longtail
from longtail.ranks import Ranks
from longtail.train.run import Run
from tests.planted import planted_splits

# fp32: where a processor multiplies bfloat16, its rounding differs by more than the bars of the tests.
SETTINGS: dict[str, dict[str, Any]] = {
    "decaf": {
        "optim": {"epochs": (1, 1, 2), "precision": "fp32", "average_from": 1},
        "bag": {"dim": 32},
    },
    "lightxml": {
        "encoder": "bag",
        "one_vs_all_up_to": 0,
        "labels_per_cluster": 4,
        "beam": 5,
        "label_dim": 16,
        "optim": {"epochs": 2, "average_from": 1, "precision": "fp32", "row_lr": 0.02},
        "bag": {"dim": 32},
    },
    # Batches of 25 out of 600 documents minus those held out end with one that has fewer documents than ranks.
    "lightxml on a transformer": {
        "one_vs_all_up_to": 0,
        "labels_per_cluster": 4,
        "beam": 5,
        "label_dim": 16,
        "valid_documents": 99,
        "optim": {"epochs": 1, "precision": "fp32", "row_lr": 0.02, "batch_size": 25},
        "transformer": {"max_tokens": 16},
    },
    "elias": {
        "optim": {"epochs": (1, 2), "precision": "fp32", "average_from": 1},
        "bag": {"dim": 32},
    },
}
# Every document is scored against its own shortlist, as in the papers.
SETTINGS["decaf apart"] = SETTINGS["decaf"] | {"negatives": 0}
SETTINGS["elias apart"] = SETTINGS["elias"] | {"negatives": 0, "walk": {"paths": "product"}}


def train(place: Path, methods: list[str]) -> None:
    """Train every method in a directory of its own; `ENCODER` is the directory of a transformer."""
    for name in methods:
        more = {"encoder": os.environ["ENCODER"]} if "transformer" in name else {}
        longtail.fit(name.split()[0], planted_splits().train, place / name, **SETTINGS[name], **more)


def die_when_told() -> None:
    """Kill this process at the exchange that `DEATHS` names for this start, if it names one."""
    deaths = [tuple(map(int, each.split(":"))) for each in os.environ.get("DEATHS", "").split(",") if each]
    start = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    if start >= len(deaths) or deaths[start][0] != int(os.environ["RANK"]):
        return
    left, exchange = deaths[start][1], Ranks.totals

    def counted(self: Ranks, *numbers: float) -> tuple[float, ...]:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return exchange(self, *numbers)

    Ranks.totals = counted  # type: ignore[method-assign]


if __name__ == "__main__":
    Run.checkpoint_every = float(os.environ.get("CHECKPOINT_EVERY", 300))
    die_when_told()
    train(Path(sys.argv[1]), sys.argv[2:])
