"""Open one model of many labels and ask it, on one core: python -m benchmarks.contenders.million_measure DIR

DIR is one of runs/million: model, small (a model that brings in what is imported when first used), queries.json and
exact.npy, the exact top K of the first JUDGED queries.  Prints what it found as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import longtail
from longtail.corpus import Documents, Texts
from longtail.methods.decaf.model import Instance
from longtail.predict.export import found_of
from longtail.predict.predictor import Predictor

QUERIES, JUDGED = 3000, 500  # texts that are timed, and those whose exact answers are known
OPENED = 4  # times that the model is opened, of which the fastest counts; the first one may have to read the disk
K = 10
BEAMS, PROBES = (5, 10, 20, 30, 50, 100), (8, 16, 32, 64, 128)


def measured(place: Path) -> dict:
    texts = json.loads((place / "queries.json").read_text("utf-8"))
    longtail.open(place / "small").predict(texts[:2], K)
    before = anonymous()
    model, first = opened(place / "model")
    found = {"MB after opening": (anonymous() - before) / 1e6}
    again = [opened(place / "model")[1] for _ in range(OPENED - 1)]
    found |= {what: min(one[what] for one in [first, *again]) for what in first}
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    for text in texts[-200:]:
        model.predict([text], K)
    found = {name: round(value, 3) for name, value in found.items()} | latencies(model, texts)
    return found | recall(model, texts, np.load(place / "exact.npy"))


def opened(place: Path) -> tuple[Predictor, dict]:
    wall, cpu = time.perf_counter(), time.process_time()
    model = longtail.open(place)
    return model, {"open s": time.perf_counter() - wall, "open CPU s": time.process_time() - cpu}


def anonymous() -> int:
    """Bytes of memory that are not pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


# -- time --------------------------------------------------------------------------------------------------------------


def latencies(model: Predictor, texts: list[str]) -> dict:
    """Of one text at a time: wall time, and processor time, which other programs disturb less."""
    one = instance_of(model)
    bags = [one.ranker.encoder.read(Documents(Texts.of([text]))) for text in texts[:1000]]
    vectors = [one.ranker.vectors(bag) for bag in bags]
    shown = {
        "text to names": timed(lambda text: model.predict([text], K), texts),
        "bag to ranking": timed(lambda bag: one.rank(bag, K), bags),
        "bag to vector": timed(one.ranker.vectors, bags),
        "vector to clusters": timed(lambda vector: one.shortlister.rows.top(vector, one.beam), vectors),
        "text to ranking": timed(lambda text: model.rank(Documents.of([text]), K), texts[:1000]),
    }
    return {
        f"{what}, p{share} {kind} ms": round(float(np.percentile(times[:, at], share)), 3)
        for what, times in shown.items() for share in (50, 99) for at, kind in enumerate(("wall", "CPU"))
    }  # fmt: skip


def timed(work: Callable, asked: list) -> np.ndarray:
    """Milliseconds of each, (asked, 2): wall time and processor time."""
    times = np.empty((len(asked), 2))
    for at, one in enumerate(asked):
        wall, cpu = time.perf_counter(), time.thread_time()
        work(one)
        times[at] = time.perf_counter() - wall, time.thread_time() - cpu
    return 1000 * times


# -- what is found -----------------------------------------------------------------------------------------------------


def recall(model: Predictor, texts: list[str], exact: np.ndarray) -> dict:
    """The share of the exact top K that is found, by the model and by other beams and probes."""
    asked = Documents(Texts.of(texts[:JUDGED]))

    def share(other: Predictor) -> float:
        return round(100 * found_of(exact, other.rank(asked, K).labels), 2)

    answer: dict = {f"of the exact top {K}, %": share(model)}
    answer["by beam, clusters scanned, %"] = {beam: share(with_probes(with_beam(model, beam), None)) for beam in BEAMS}
    if instance_of(model).shortlister.rows.coarse is not None:
        answer["by probes, %"] = {probes: share(with_probes(model, probes)) for probes in PROBES}
    return answer


def instance_of(model: Predictor) -> Instance:
    """What answers in a drawn model."""
    return model.model.instances[0]  # type: ignore[attr-defined]


def with_beam(model: Predictor, beam: int) -> Predictor:
    """With so many clusters opened, or all there are."""
    one = instance_of(model)
    return _with(model, replace(one, beam=min(beam, len(one.shortlister.rows))))


def with_probes(model: Predictor, probes: int | None) -> Predictor:
    """With so many clusters of clusters opened, or all."""
    one = instance_of(model)
    rows = one.shortlister.rows
    if rows.coarse is None:
        return model
    coarse = replace(rows.coarse, probes=len(rows.coarse.rows) if probes is None else probes)
    return _with(model, replace(one, shortlister=replace(one.shortlister, rows=replace(rows, coarse=coarse))))


def _with(model: Predictor, one: Instance) -> Predictor:
    return replace(model, model=replace(model.model, instances=[one]))  # type: ignore[type-var]


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]))))
