"""A training step, compiled against torch's own words, and as labels grow: python -m benchmarks.steps.

Random documents and labels of the usual size, so only times mean anything; steps of both kinds take turns in one run.
"together" is our default (a batch shares its candidates), "apart" the papers' way (each document its own shortlist of
800).  DECAF reads the text of every candidate, LightDXML has a row for each.  Plots results/steps.png.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.contenders import THREADS
from benchmarks.machine import RESULTS, save
from longtail.encoders.bag import BLOCKS, BlockKind, TokenBag
from longtail.encoders.label_texts import TextRows
from longtail.encoders.learn.bag import LearningBag, bag_plainly
from longtail.encoders.learn.batches import BagTexts
from longtail.encoders.learn.encoder import BagSource
from longtail.features.bags import Bags, Reader
from longtail.methods.decaf.learn import Data, Meetings, first_pool, started
from longtail.methods.decaf.settings import Config
from longtail.methods.lightdxml import learn as lightdxml_steps
from longtail.rankers.learn.candidates import shortlist_logits_plainly
from longtail.rankers.learn.label_rows import LearningRows
from longtail.sparse import rows_of
from longtail.train.optim import Group, Optim, groups_of

TOKENS, LENGTH, DIM, BATCH, BEAM, FAN_OUT, TRUE = 50_000, 20, 256, 128, 200, 4, 3
WARM, STEPS = 5, 40
DOCUMENTS = BATCH * (WARM + STEPS)


def bags(count: int, rng: np.random.Generator) -> sp.csr_array:
    """Texts of LENGTH tokens, frequent ones often."""
    tokens = (TOKENS * rng.random((count, LENGTH)) ** 3).astype(np.int32)
    weights, starts = np.full(count * LENGTH, LENGTH**-0.5, np.float32), np.arange(count + 1) * LENGTH
    return sp.csr_array((weights, tokens.ravel(), starts), shape=(count, TOKENS))


def truth(n_labels: int, rng: np.random.Generator) -> sp.csr_array:
    true = np.sort(rng.integers(n_labels, size=(DOCUMENTS, TRUE)), axis=1).ravel()
    entries = np.ones(len(true), np.float32), true, np.arange(DOCUMENTS + 1) * TRUE
    return sp.csr_array(entries, shape=(DOCUMENTS, n_labels))


def decaf(n_labels: int, negatives: int) -> tuple[nn.Module, Meetings]:
    rng = np.random.default_rng(0)
    starts = np.arange(n_labels // FAN_OUT + 1) * FAN_OUT
    opened = rng.integers(len(starts) - 1, size=(DOCUMENTS, BEAM)).astype(np.int32)
    pool = first_pool(starts, opened, rng) if negatives else None
    texts, first = bags(n_labels, rng), start("gated")
    documents, rows = bags(DOCUMENTS, rng), TextRows.one_each(np.arange(n_labels))
    data = Data(BagSource(first, documents, documents[:0], texts), truth(n_labels, rng))
    met = Meetings(data.source.with_labels(rows), data.labels, rows, negatives, starts, opened, pool)
    return started(data, met, first, "both", 0.0, Config()), met


def lightdxml(n_labels: int, negatives: int) -> tuple[nn.Module, lightdxml_steps.Meetings]:
    rng = np.random.default_rng(0)
    shortlists = rng.integers(n_labels, size=(DOCUMENTS, BEAM * FAN_OUT)).astype(np.int32)
    texts = BagTexts(rows_of(bags(DOCUMENTS, rng)))
    rows = rng.standard_normal((n_labels, DIM)).astype(np.float32) / DIM**0.5
    labels = LearningRows(n_labels, torch.from_numpy(rows))
    network = lightdxml_steps.Network(LearningBag(start("residual"), 0.0), labels)
    return network, lightdxml_steps.Meetings(texts, truth(n_labels, rng), shortlists, negatives)


def start(block: BlockKind) -> TokenBag:
    """Token vectors, in a space without names."""
    vectors = np.random.default_rng(1).standard_normal((TOKENS, DIM)).astype(np.float32) / DIM**0.5
    return TokenBag(Reader(Bags(TOKENS, None), None), vectors, BLOCKS[block].first(DIM))


KINDS = {
    "DECAF, together": (decaf, 10),
    "DECAF, apart": (decaf, 0),
    "LightDXML, together": (lightdxml, 40),
    "LightDXML, apart": (lightdxml, 0),
}


class Stepping:
    """A network on its way, one step at a time."""

    def __init__(self, kind: str, n_labels: int, plain: bool):
        make, negatives = KINDS[kind]
        self.network, self.met = make(n_labels, negatives)
        self.network.train()
        self.plain = plain
        groups = groups_of(self.network, Optim(row_lr=0.01))
        self.groups = plain_groups(groups) if plain else groups
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
                group.step(1.0)
            self.seconds.append(time.perf_counter() - began)
        self.losses.append(float(loss.detach()))

    @property
    def milliseconds(self) -> float:
        return 1e3 * statistics.median(self.seconds[WARM:])


@contextmanager
def plainly() -> Iterator[None]:
    """Within, everything compiled is done in torch's own words."""
    embedded = lambda table, rows: F.embedding(rows, table, sparse=True)  # noqa: E731
    mixed = lambda gates, one, other: gates.alpha.sigmoid() * one + gates.beta.sigmoid() * other  # noqa: E731
    with (
        patch("longtail.encoders.learn.bag.Gates.forward", mixed),
        patch("longtail.encoders.learn.bag.bag", bag_plainly),
        patch("longtail.rankers.learn.candidates.shortlist_logits", shortlist_logits_plainly),
        patch("longtail.rankers.learn.label_rows.table_rows", embedded),
    ):
        yield


def plain_groups(groups: list[Group]) -> list[Group]:
    """torch's SparseAdam in the place of ours."""
    return [
        Group(each.name, torch.optim.SparseAdam(each.parameters, 0.01)) if each.name in ("words", "labels") else each
        for each in groups
    ]


def against_torch(kind: str) -> dict:
    """Both ways from the same start, turn about."""
    ours, theirs = (Stepping(kind, 30_000, plain) for plain in (False, True))
    for at in range(WARM + STEPS):
        ours.step(at)
        theirs.step(at)
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
    times: dict[str, dict[str, float]] = {kind: {} for kind in KINDS}
    for n_labels in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        for kind in KINDS:
            stepping = Stepping(kind, n_labels, plain=False)
            for at in range(WARM + STEPS // 2):
                stepping.step(at)
            times[kind][str(n_labels)] = round(stepping.milliseconds, 1)
            print(n_labels, kind, times[kind][str(n_labels)], flush=True)
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
    torch.set_num_threads(THREADS)
    results: dict = {"threads": THREADS}
    for kind in KINDS:
        results[kind] = against_torch(kind)
        print(kind, results[kind], flush=True)
    results["ms by label count"] = by_label_count()
    plot(results["ms by label count"])
    save("steps", results)


if __name__ == "__main__":
    main()
