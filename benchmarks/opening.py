"""What checking a model's meaning costs when it is opened, beside hashing and mapping its files.

    python -m benchmarks.opening [LABELS]        300,000 unless told

The model is a DECAF of random numbers with vectors of length 300, so that opening is all there is to measure.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.machine import save
from longtail import open as open_model
from longtail import store
from longtail.corpus import LabelSet
from longtail.encoders.bag import GatedBlock, TokenBag
from longtail.features.bags import Bags, Reader
from longtail.index.clusters import Clusters
from longtail.methods.decaf.model import Decaf, Instance, Scorer
from longtail.predict.labels import LabelFile
from longtail.predict.predictor import About, Predictor
from longtail.rankers.label_rows import LabelRows

CLUSTERS, TOKENS, DIM = 4096, 60_000, 300
TIMES = 15


def main(labels: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "model"
        random_model(labels).save(model)
        opened, files = fastest(lambda: open_model(model), lambda: only_files(model))
        size = sum(path.stat().st_size for path in model.iterdir())
    result = {"labels": labels, "MB": round(size / 1e6), "open s": opened, "hash and map s": files}
    print(result | {"ratio": round(opened / files, 3)})
    print(save("opening", result | {"ratio": round(opened / files, 3)}))


def only_files(model: Path) -> None:
    """What opening did before it looked at the numbers."""
    store.verify(model)
    store.read_json(model / "model.json")
    store.mapped_arrays(model / "weights.safetensors")
    np.load(model / "label_counts.npy")
    LabelFile(model)


def fastest(*works: Callable[[], object]) -> list[float]:
    """Seconds of each, by turns, so that other work on the machine slows all of them; the fastest of several."""
    times = [[_timed(work) for work in works] for _ in range(TIMES)]
    return np.min(times, axis=0).round(4).tolist()


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def random_model(labels: int) -> Predictor:
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> np.ndarray:
        return 0.1 * rng.standard_normal(shape, np.float32)

    reader = Reader(Bags(TOKENS, None), None)

    def scorer(rows: int) -> Scorer:
        encoder = TokenBag(reader, numbers(TOKENS, DIM), GatedBlock(numbers(DIM, DIM), numbers(DIM), numbers(DIM)))
        return Scorer(encoder, LabelRows(numbers(rows, DIM), numbers(rows)))

    starts = np.linspace(0, labels, CLUSTERS + 1).astype(np.int64)
    clusters = Clusters(rng.permutation(labels).astype(np.int32), starts)
    ranker = scorer(labels)
    in_order = replace(ranker, rows=replace(ranker.rows, clusters=clusters))
    model = Decaf([Instance(scorer(CLUSTERS), in_order, 20, 1.0)])
    about = About("decaf", {}, {"name": "random", "fingerprint": "none", "documents": 1, "labels": labels})
    names = LabelSet.of(f"label {number}" for number in range(labels))
    return Predictor(model, names, np.ones(labels, np.int64), about)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300_000)
