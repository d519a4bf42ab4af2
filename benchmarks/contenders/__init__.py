"""Linear tree methods on the same features, each in a process of its own: python -m benchmarks.contenders.NAME DIR.

DIR holds trn_X.npz, trn_Y.npz and tst_X.npz (rows of unit length, indices in order).  A contender writes ranking.npz
(labels and scores of the test documents) and about.json (what it cost).  Nothing here imports longtail, because
libpecos needs an environment with NumPy 1.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

DEPTH = 120  # labels ranked: R@100 after filtered pairs have left
THREADS = min(2, len(os.sched_getaffinity(0)))  # all get the same: one where only one core is allowed (taskset)
ONE_BY_ONE = 300  # documents asked about alone


def place() -> Path:
    return Path(sys.argv[1])


def load(name: str) -> sp.csr_matrix:
    matrix = sp.csr_matrix(sp.load_npz(place() / f"{name}.npz")).astype(np.float32)
    matrix.sort_indices()
    return matrix


def timed(work, *inputs):
    """What `work` returns, with its wall and processor seconds."""
    before, clock = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    result = work(*inputs)
    after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - clock
    return result, {"seconds": seconds, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def report(train: dict, batch: dict, alone: dict, documents: int, ranking: tuple, size: int, settings: str) -> None:
    about = {
        "settings": settings,
        "train seconds": round(train["seconds"], 1),
        "train cpu seconds": round(train["cpu"], 1),
        "model MB": round(size / 1e6, 1),
        "batch cpu ms/document": round(1e3 * batch["cpu"] / documents, 3),
        "batch ms/document": round(1e3 * batch["seconds"] / documents, 3),
        "alone ms/document": round(1e3 * alone["seconds"] / min(ONE_BY_ONE, documents), 3),
        "peak memory MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    }
    np.savez(place() / "ranking.npz", labels=ranking[0].astype(np.int32), scores=ranking[1].astype(np.float32))
    (place() / "about.json").write_text(json.dumps(about))


def size_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def arrays_of(scores: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """A sparse score matrix as (documents, DEPTH) labels and scores, best first, -1 where a row is shorter."""
    labels = np.full((scores.shape[0], DEPTH), -1)
    values = np.zeros((scores.shape[0], DEPTH))
    for row in range(scores.shape[0]):
        at = slice(scores.indptr[row], scores.indptr[row + 1])
        order = np.lexsort((scores.indices[at], -scores.data[at]))[:DEPTH]
        labels[row, : len(order)], values[row, : len(order)] = scores.indices[at][order], scores.data[at][order]
    return labels, values
