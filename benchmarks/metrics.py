"""How long metrics of a million rankings take, and how much memory: `python -m benchmarks.metrics`.

napkinXC, which loops in Python, computes the same seven metrics on a slice in the same run; its time is scaled up.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from napkinxc import metrics as napkinxc

from benchmarks.machine import save
from longtail.judge.frequencies import Frequencies, inverse_propensity
from longtail.judge.gains import METRICS
from longtail.judge.metrics import evaluate_ranking
from longtail.ranking import Ranking

DOCUMENTS, LENGTH, LABELS, TRUE_LABELS = 1_000_000, 100, 100_000, 5
SLICE = 10_000  # documents for napkinXC
K = 5

Result = TypeVar("Result")


def rankings(documents: int, rng: np.random.Generator) -> Ranking:
    """Rows of different labels: steps prime to the number of labels never meet."""
    steps = np.array([step for step in range(3, 2000) if np.gcd(step, LABELS) == 1])
    labels = np.empty((documents, LENGTH), np.int32)
    labels[:] = np.arange(LENGTH)
    labels *= rng.choice(steps, (documents, 1)).astype(np.int32)
    labels += rng.integers(0, LABELS, (documents, 1), dtype=np.int32)
    labels %= LABELS
    scores = np.linspace(1, 0, LENGTH, dtype=np.float32)
    return Ranking(labels, np.tile(scores, (documents, 1)))


def true_labels(ranking: Ranking, rng: np.random.Generator) -> sp.csr_array:
    """Three labels that are ranked, early more often than late, and two that need not be."""
    places = np.sort((rng.random((len(ranking), 1)) ** 2 * 60).astype(int) + np.array([0, 7, 30]), axis=1)
    ranked = np.take_along_axis(ranking.labels, places, axis=1)
    others = rng.integers(0, LABELS, (len(ranking), TRUE_LABELS - 3), dtype=np.int32)
    labels = np.hstack([ranked, others])
    starts = np.arange(0, labels.size + 1, TRUE_LABELS)
    truth = sp.csr_array((np.ones(labels.size, np.float32), labels.ravel(), starts), shape=(len(ranking), LABELS))
    truth.sum_duplicates()
    truth.data[:] = 1
    return truth


def timed(work: Callable[[], Result]) -> tuple[Result, dict[str, float]]:
    """Result and time; the processor's time is what neighbours on a shared machine cannot stretch."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    spent = {"seconds": time.perf_counter() - wall, "cpu seconds": time.process_time() - processor}
    return result, {name: round(value, 2) for name, value in spent.items()}


def peak_memory(work: Callable[[], object]) -> int:
    """Most bytes that were allocated at once while it ran."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def by_napkinxc(rows: list[list[int]], truth: list[list[int]], weights: np.ndarray) -> dict[str, float]:
    """The metrics of METRICS at K, and recall as deep as the rankings."""
    found = {
        "P": napkinxc.precision_at_k(truth, rows, K),
        "nDCG": napkinxc.ndcg_at_k(truth, rows, K),
        "R": napkinxc.recall_at_k(truth, rows, LENGTH),
        "PSP": napkinxc.psprecision_at_k(truth, rows, weights, K),
        "PSnDCG": napkinxc.psndcg_at_k(truth, rows, weights, K),
        "PSR": napkinxc.psrecall_at_k(truth, rows, weights, K),
        "coverage": napkinxc.coverage_at_k(truth, rows, K),
    }
    return {f"{name}@{K}": 100 * values[K - 1] for name, values in found.items()}


def main() -> None:
    rng = np.random.default_rng(0)
    ranking = rankings(DOCUMENTS, rng)
    truth = true_labels(ranking, rng)
    train = Frequencies(np.minimum(rng.zipf(1.3, LABELS), DOCUMENTS // 10), DOCUMENTS)
    few = Ranking(ranking.labels[:SLICE], ranking.scores[:SLICE])
    small = evaluate_ranking(few, truth[:SLICE], train=train).metrics  # also compiles

    _, ours = timed(lambda: evaluate_ranking(ranking, truth, train=train))
    given = sum(array.nbytes for array in (ranking.labels, ranking.scores, truth.data, truth.indices, truth.indptr))
    extra = peak_memory(lambda: evaluate_ranking(ranking, truth, train=train))

    rows, true = few.labels.tolist(), np.split(truth.indices[: truth.indptr[SLICE]], truth.indptr[1:SLICE])
    lists, weights = [labels.tolist() for labels in true], inverse_propensity(train, 0.55, 1.5)
    found, theirs = timed(lambda: by_napkinxc(rows, lists, weights))
    worst = max(abs(found[f"{name}@{K}"] - small[f"{name}@{K}"]) for name in METRICS)

    scaled = {name: round(value * DOCUMENTS / SLICE, 1) for name, value in theirs.items()}
    results = {
        "documents": DOCUMENTS, "length": LENGTH, "labels": LABELS, "true pairs": int(truth.nnz),
        "longtail": ours | {"input MB": round(given / 1e6), "extra MB": round(extra / 1e6, 1)},
        "napkinxc": theirs | {"documents": SLICE, "scaled to all": scaled},
        "times faster, cpu": round(scaled["cpu seconds"] / ours["cpu seconds"], 1),
        "largest difference, percentage points": float(f"{worst:.1e}"),
    }  # fmt: skip
    print(save("metrics", results).read_text())


if __name__ == "__main__":
    main()
