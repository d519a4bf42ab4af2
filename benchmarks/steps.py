"""A training step of DECAF, compiled against torch's own words, and as labels grow: python -m benchmarks.steps.

Random documents and labels of DECAF's usual size, so only times mean anything; steps of both kinds take turns in one
run.  "together" is our default (a batch shares its candidates), "apart" the paper's way (each document its own
shortlist).  Plots results/steps.png.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.machine import RESULTS, save
from longtail.encoders.block import bag_plainly
from longtail.kernels.csr import Rows
from longtail.methods.decaf import Config, Learning
from longtail.methods.decaf_modules import BLOCK_RATE, Meetings, Network, first_pool, started
from longtail.rankers.meeting import shortlist_logits_plainly
from longtail.train.optim import Group, Optim, groups_of

TOKENS, LENGTH, DIM, BATCH, BEAM, FAN_OUT, TRUE = 50_000, 20, 256, 128, 200, 4, 3
WARM, STEPS = 5, 40


def bags(count: int, rng: np.random.Generator) -> Rows:
    """Texts of LENGTH tokens, frequent ones often."""
    tokens = (TOKENS * rng.random((count, LENGTH)) ** 3).astype(np.int32)
    return np.arange(count + 1) * LENGTH, tokens.ravel(), np.full(count * LENGTH, LENGTH**-0.5, np.float32)


def meetings(n_labels: int, negatives: int) -> Meetings:
    import scipy.sparse as sp

    rng, documents = np.random.default_rng(0), BATCH * (WARM + STEPS)
    true = np.sort(rng.integers(n_labels, size=(documents, TRUE)), axis=1).ravel()
    labels = sp.csr_array(
        (np.ones(len(true), np.float32), true, np.arange(documents + 1) * TRUE), (documents, n_labels)
    )
    starts = np.arange(n_labels // FAN_OUT + 1) * FAN_OUT
    opened = rng.integers(len(starts) - 1, size=(documents, BEAM)).astype(np.int32)
    pool = first_pool(starts, opened, rng) if negatives else None
    return Meetings(bags(documents, rng), labels, bags(n_labels, rng), negatives, starts, opened, pool)


class Stepping:
    """A network on its way, one step at a time."""

    def __init__(self, met: Meetings, plain: bool):
        config = Config(dim=DIM, ranker=Learning(dropout=0.0))
        vectors = np.random.default_rng(1).standard_normal((TOKENS, DIM)).astype(np.float32) / DIM**0.5
        self.met, self.plain = met, plain
        self.network: Network = started(vectors, met, config, config.ranker).train()
        self.groups = plain_groups(self.network) if plain else groups_of(self.network, Optim(lr=0.01))
        self.losses: list[float] = []
        self.seconds: list[float] = []

    def step(self, at: int) -> None:
        batch = self.met.batch(np.arange(at * BATCH, (at + 1) * BATCH), np.random.default_rng(at))
        with plainly() if self.plain else nullcontext():
            began = time.perf_counter()
            loss = self.network.loss(batch)
            loss.backward()
            for group in self.groups:
                group.gathered = 1.0
                group.step(1.0, 0.0)
            self.seconds.append(time.perf_counter() - began)
        self.losses.append(float(loss.detach()))

    @property
    def milliseconds(self) -> float:
        return 1e3 * statistics.median(self.seconds[WARM:])


@contextmanager
def plainly() -> Iterator[None]:
    """Within, everything compiled is done in torch's own words."""
    with (
        patch("longtail.methods.decaf_modules.bag", bag_plainly),
        patch("longtail.rankers.meeting.shortlist_logits", shortlist_logits_plainly),
        patch("longtail.rankers.label_text.table_rows", lambda table, rows: F.embedding(rows, table, sparse=True)),
    ):
        yield


def plain_groups(network: Network) -> list[Group]:
    tables = [network.vectors, *network.labels.tables()]
    blocks = [each for each in network.parameters() if all(each is not table for table in tables)]
    rates = torch.optim.SparseAdam(tables, 0.01), torch.optim.Adam(blocks, BLOCK_RATE * 0.01)
    return [Group(name, optimiser) for name, optimiser in zip(("tables", "blocks"), rates)]


def against_torch(negatives: int) -> dict:
    """Both kinds from the same start, turn about."""
    both = [Stepping(meetings(30_000, negatives), plain) for plain in (False, True)]
    for at in range(WARM + STEPS):
        for each in both:
            each.step(at)
    ours, theirs = both
    apart = max(abs(a - b) / abs(b) for a, b in zip(ours.losses, theirs.losses))
    return {
        "compiled ms": round(ours.milliseconds, 1),
        "torch ms": round(theirs.milliseconds, 1),
        "times as fast": round(theirs.milliseconds / ours.milliseconds, 2),
        "largest relative difference of the losses": float(f"{apart:.1g}"),
        "first and last loss": [round(ours.losses[0], 2), round(ours.losses[-1], 2)],
    }


def by_label_count() -> dict:
    """Milliseconds of a step at a fixed shortlist."""
    times = {}
    for n_labels in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        for name, negatives in (("together", 10), ("apart", 0)):
            stepping = Stepping(meetings(n_labels, negatives), plain=False)
            for at in range(WARM + STEPS // 2):
                stepping.step(at)
            times.setdefault(name, {})[str(n_labels)] = round(stepping.milliseconds, 1)
            print(n_labels, name, times[name][str(n_labels)], flush=True)
    return times


def plot(times: dict) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, row in times.items():
        axes.plot([int(count) for count in row], list(row.values()), marker="o", label=name)
    axes.set(xscale="log", xlabel="labels", ylabel="ms a step of 128 documents", ylim=(0, None))
    axes.legend()
    figure.savefig(RESULTS / "steps.png", dpi=120)


def main() -> None:
    torch.set_num_threads(2)
    results = {name: against_torch(negatives) for name, negatives in (("together", 10), ("apart", 0))}
    print(results, flush=True)
    results["ms by label count"] = by_label_count()
    plot(results["ms by label count"])
    save("steps", results)


if __name__ == "__main__":
    main()
