"""ELIAS as labels grow, at a fixed beam: python -m benchmarks.elias_scaling.

Section 3.6 of the paper: with C, κ and K growing like √L, a document costs O(√L (2d + b)) beside its encoder.  Random
vectors and a random graph of that shape, so only times mean anything; the encoder, which knows no labels, is left out.
A step is loss, gradients and the row-wise update; a query is a document's hundred best labels.  Plots
results/elias_scaling.png.
"""

from __future__ import annotations

import math
import statistics
import time

import numpy as np
import torch

from benchmarks.contenders import THREADS
from benchmarks.machine import RESULTS, save
from longtail.index.graph import Graph
from longtail.methods.elias.learn.network import head_groups
from longtail.methods.elias.settings import Stage
from longtail.rankers.graphed import Graphed
from longtail.rankers.learn.graphed import GraphHeads, GraphRouter
from longtail.rankers.learn.label_rows import free_rows
from longtail.train.settings import Optim

COUNTS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
DIM, BATCH, BEAM, ALPHA, TRUE, BEST = 256, 128, 20, 10.0, 3, 100
WARM, STEPS = 3, 15


def shape(n_labels: int) -> dict[str, int]:
    """Clusters, edges and shortlist, all like √L: at a million labels what the paper has on corpora of that size."""
    root = math.sqrt(n_labels)
    clusters = round(8 * root)
    return {"clusters": clusters, "edges": round(10 * n_labels / clusters), "shortlist": round(2 * root)}


def heads(n_labels: int, rng: np.random.Generator) -> GraphHeads:
    size = shape(n_labels)
    table = size["clusters"], size["edges"]
    # A stride through all labels that is prime to their number: no label twice in a row.
    first, stride = rng.integers(n_labels, size=(table[0], 1)), 1 + 2 * 5 * rng.integers(n_labels // 20)
    stride += next(more for more in range(0, n_labels, 2) if math.gcd(int(stride) + more, n_labels) == 1)
    labels = (first + stride * np.arange(table[1])) % n_labels
    graph = Graph(labels.astype(np.int32), rng.random(table, np.float32))
    router = GraphRouter(DIM, graph, n_labels, BEAM, ALPHA, n_labels / table[0], size["shortlist"])
    return GraphHeads(router, free_rows(n_labels, DIM), shortlist_loss=1.0)


def step_ms(made: GraphHeads, rng: np.random.Generator) -> float:
    """One step of a batch, in the middle of several."""
    groups, hanging = head_groups(made, Stage(), Optim()), made.router.labels.ravel()
    seconds = []
    for _ in range(WARM + STEPS):
        documents = torch.from_numpy(rng.standard_normal((BATCH, DIM), np.float32)).requires_grad_()
        true = torch.from_numpy(np.sort(rng.choice(hanging, (BATCH, TRUE)).astype(np.int64), axis=1))
        began = time.perf_counter()
        made.loss(documents, true).backward()
        for group in groups:
            group.gathered = 1.0
            group.step(1.0)
        seconds.append(time.perf_counter() - began)
    return 1e3 * statistics.median(seconds[WARM:])


def query_ms(exported: Graphed, rng: np.random.Generator) -> float:
    """One document asked alone."""
    seconds = []
    for _ in range(WARM + 200):
        document = rng.standard_normal((1, DIM)).astype(np.float32)
        began = time.perf_counter()
        exported.rank(document, BEST)
        seconds.append(time.perf_counter() - began)
    return 1e3 * statistics.median(seconds[WARM:])


def exponent(times: dict[str, float]) -> float:
    """p of the line time ~ L^p through all points."""
    counts, values = np.log([int(count) for count in times]), np.log(list(times.values()))
    return round(float(np.polyfit(counts, values, 1)[0]), 2)


def plot(results: dict) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, row in results["ms"].items():
        counts, values = [int(count) for count in row], list(row.values())
        axes.plot(counts, values, marker="o", label=f"{name}: L^{results['exponent'][name]}")
        axes.plot(counts, [values[0] * (count / counts[0]) ** 0.5 for count in counts], color="grey", linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="labels, L", ylabel="ms", title="dotted: √L")
    axes.legend()
    figure.savefig(RESULTS / "elias_scaling.png", dpi=120)


def main() -> None:
    torch.set_num_threads(THREADS)
    times: dict[str, dict[str, float]] = {f"a step of {BATCH} documents": {}, "a query": {}}
    for n_labels in COUNTS:
        rng = np.random.default_rng(0)
        made = heads(n_labels, rng)
        for name, value in zip(times, (step_ms(made, rng), query_ms(made.export(), rng))):
            times[name][str(n_labels)] = round(value, 3)
        print(n_labels, shape(n_labels), [row[str(n_labels)] for row in times.values()], flush=True)
    results = {"threads": THREADS, "shape": {str(n): shape(n) for n in COUNTS}, "ms": times}
    results["exponent"] = {name: exponent(row) for name, row in times.items()}
    save("elias_scaling", results)
    plot(results)


if __name__ == "__main__":
    main()
