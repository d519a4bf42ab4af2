"""When two levels of rows pay: what share of all rows must be compared to find the exact top, and the time of both.

    python -m benchmarks.clusters [MODEL CORPUS]
    python -m benchmarks.clusters sizes            time of both against the number of rows, 512 numbers in int8

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
from longtail.index.balanced import balanced_clusters
from longtail.index.clusters import Clusters
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


SIZES, PROBES, BEAM = (1024, 2048, 4096, 8192, 16_384, 32_768, 131_072), (16, 32, 64), 20


def sizes() -> dict:
    """Processor microseconds of one document by the number of rows, in one level and in two; rows are random."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    rng, found = np.random.default_rng(0), {}
    vectors = rng.standard_normal((200, 1, 512), np.float32)
    for n_rows in SIZES:
        flat = LabelRows(
            rng.integers(-127, 128, (n_rows, 512), np.int8),
            np.zeros(n_rows, np.float32),
            scales=np.ones(n_rows, np.float32),
        )
        starts = np.unique(np.append(np.arange(0, n_rows, coarse.rows_a_cluster(n_rows)), n_rows))
        tops = flat.some(starts[:-1])
        level = Coarse(tops.rows, tops.biases, 1, tops.scales)
        two = replace(flat, clusters=Clusters(np.arange(n_rows, dtype=np.int32), starts), coarse=level)
        asked = {"one level": flat} | {f"{p} probes": replace(two, coarse=replace(level, probes=p)) for p in PROBES}
        found[n_rows] = {name: microseconds(rows, vectors) for name, rows in asked.items()} | {"coarse rows": len(tops)}
        print(n_rows, found[n_rows], flush=True)
    return found


def microseconds(rows: LabelRows, vectors: np.ndarray) -> int:
    """The median processor time of one document."""
    times = []
    for vector in vectors:
        started = time.thread_time()
        rows.top(vector, BEAM)
        times.append(time.thread_time() - started)
    return round(1e6 * float(np.median(times)))


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
    if sys.argv[1:] == ["sizes"]:
        print(save("clusters", earlier("clusters") | {"µs by the number of rows": sizes()}))
    else:
        main(*sys.argv[1:])
