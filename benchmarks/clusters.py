"""When two levels of rows pay: what share of all rows must be compared to find the exact top, and the time of both.

    python -m benchmarks.clusters [MODEL CORPUS]

MODEL is a trained DECAF, by default the demo's.  Its rows of clusters (top `beam`) and of labels (top 10 and 100) are
looked for by documents of the test split; coarse rows are fitted to documents of the training split.
"""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import replace

import numpy as np

import longtail
from benchmarks.machine import earlier, save
from longtail.index.clusters import Clusters, balanced_clusters
from longtail.precision import stored_as
from longtail.rankers import coarse
from longtail.rankers.label_rows import Coarse, LabelRows

FITTED, ASKED = 8000, 1000  # documents
SHARES = (0.95, 0.99)


def main(model: str = "runs/demo/model", corpus: str = "demo") -> None:
    opened, splits = longtail.open(model), longtail.load(corpus)
    one = opened.model.instances[0]  # type: ignore[attr-defined]
    read = [one.ranker.encoder.read(part.documents[:many])
            for part, many in ((splits.train, FITTED), (splits.test, ASKED))]  # fmt: skip
    found = {}
    for scorer, ks in ((one.shortlister, (10, one.beam)), (one.ranker, (10, 100))):
        rows, (fit, asked) = replace(scorer.rows, clusters=None), (scorer.vectors(bags) for bags in read)
        for k in ks:
            found[f"{len(rows)} rows, top {k}"] = compared(rows, fit, asked, k)
            print(f"{len(rows)} rows, top {k}", found[f"{len(rows)} rows, top {k}"], flush=True)
    print(save("clusters", earlier("clusters") | {opened.about.corpus["name"]: found}))


def compared(rows: LabelRows, fit: np.ndarray, asked: np.ndarray, k: int) -> dict:
    """By the mean of a cluster's rows and by ridge regression: rows compared at each recall; times of exact and two."""
    clusters = balanced_clusters(rows.rows, coarse.rows_a_cluster(len(rows)), 0)
    ordered = coarse._in_order(rows, clusters)
    sizes = np.diff(clusters.starts).astype(np.float32)[:, None]
    sums = np.add.reduceat(ordered.rows, clusters.starts[:-1]), np.add.reduceat(ordered.biases, clusters.starts[:-1])
    ways = {"mean": Coarse(sums[0] / sizes, sums[1] / sizes[:, 0], 1), "ridge": coarse._fitted(ordered, clusters, fit)}
    result = {}
    for way, level in ways.items():
        for share in SHARES:
            probes = needed(rows, clusters, level, asked, k, share)
            result[f"{way}, rows compared for {share:.0%}"] = round(
                probes / len(clusters) + len(clusters) / len(rows), 3
            )
    two = replace(ordered, clusters=clusters, coarse=replace(ways["ridge"], probes=probes))
    for precision in ("fp32", "int8"):
        times = {"exact": stored(rows, precision), "two levels": stored(two, precision)}
        result |= {f"{precision} {name} ms": one_by_one(table, asked[:300], k) for name, table in times.items()}
    return result


def needed(rows: LabelRows, clusters: Clusters, level: Coarse, vectors: np.ndarray, k: int, recall: float) -> int:
    """How many clusters must be opened so that this share of the exact top k is inside."""
    exact = rows.top(vectors, min(k, len(rows))).labels
    every = replace(level, probes=len(clusters)).opened(vectors)
    place = np.empty_like(every)
    np.put_along_axis(place, every, np.arange(len(clusters), dtype=every.dtype)[None], axis=1)
    found = np.take_along_axis(place, clusters.of_label[exact], axis=1)
    return math.floor(np.quantile(found, recall, method="higher")) + 1


def stored(rows: LabelRows, precision: str) -> LabelRows:
    numbers, scales = stored_as(precision, rows.rows)
    return replace(rows, rows=numbers, scales=scales)


def one_by_one(rows: LabelRows, vectors: np.ndarray, k: int) -> float:
    """Median milliseconds of one document on one core."""
    os.sched_setaffinity(0, {0})
    times = []
    for vector in vectors[:, None]:
        started = time.perf_counter()
        rows.top(vector, k)
        times.append(1000 * (time.perf_counter() - started))
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    return round(float(np.median(times)), 3)


if __name__ == "__main__":
    main(*sys.argv[1:])
