"""A model of a million labels: file size, memory, time to open, time of one text, and what the shortcuts miss.

    python -m benchmarks.million [LABELS]          1,300,000 labels of 512 numbers in int8 unless told
    python -m benchmarks.million curve             10³ … 3·10⁶ labels
    python -m benchmarks.million pecos             PECOS at 10³ … 10⁵ labels
    python -m benchmarks.million drawn             how far drawn labels are like trained ones
    python -m benchmarks.million plot              the plot of all of them

The model is a trained DECAF with more rows drawn around its own (benchmarks/drawn.py); queries are test documents.

Exact means: all clusters opened, so all labels scored, by the same int8 rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.drawn import Trained, drawn_model, nearness, with_beam, with_fitted_clusters
from benchmarks.machine import earlier, save
from benchmarks.million_plot import PECOS_SIZES, pecos_of, plot
from longtail.corpus import Documents, Texts
from longtail.methods.decaf.model import Instance
from longtail.predict.export import found_of, in_two_levels
from longtail.predict.predictor import Predictor

BEAM = 20  # clusters opened
QUERIES, JUDGED = 3000, 200  # texts that are timed, and those that are also answered exactly
K = 10
BEAMS, PROBES = (5, 10, 20, 30, 50, 100), (8, 16, 32, 64, 128)
CURVE = (1_000, 10_000, 100_000, 1_000_000, 3_000_000)


# -- measuring, in a process of its own --------------------------------------------------------------------------------


def measured(place: Path) -> dict:
    """Open the model there and ask it, on one core; run as a program, so that memory is this model's alone."""
    import longtail

    texts = json.loads((place / "queries.json").read_text("utf-8"))
    longtail.open(place / "small").predict(texts[:2], K)  # compiles, and brings in what is imported when first used
    before, started, used = anonymous(), time.perf_counter(), time.process_time()
    model = longtail.open(place / "model")
    opened = {"open s": time.perf_counter() - started, "open CPU s": time.process_time() - used}
    opened |= {"MB after opening": (anonymous() - before) / 1e6}
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    for text in texts[-200:]:
        model.predict([text], K)
    return {name: round(value, 3) for name, value in opened.items()} | latencies(model, texts) | recall(model, texts)


def instance_of(model: Predictor) -> Instance:
    """What answers in a drawn model."""
    return model.model.instances[0]  # type: ignore[attr-defined]


def latencies(model: Predictor, texts: list[str]) -> dict:
    """Of one text at a time: wall time, and processor time, which other programs disturb less."""
    one = instance_of(model)
    bags = [one.ranker.encoder.read(Documents(Texts.of([text]))) for text in texts[:1000]]
    vectors = [one.ranker.vectors(bag) for bag in bags]
    shown = {
        "text to names": timed(lambda text: model.predict([text], K), texts),
        "bag to ranking": timed(lambda bag: one.rank(bag, K), bags),
        "vector to clusters": timed(lambda vector: one.shortlister.rows.top(vector, one.beam), vectors),
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


def recall(model: Predictor, texts: list[str]) -> dict:
    """The share of the exact top K that is found, in all and by other beams and probes."""
    asked, one = Documents(Texts.of(texts[:JUDGED])), instance_of(model)
    everything = with_probes(with_beam(model, len(one.shortlister.rows)), None)
    exact = everything.rank(asked, K).labels

    def share(other: Predictor) -> float:
        return round(100 * found_of(exact, other.rank(asked, K).labels), 2)

    answer: dict = {f"of the exact top {K}, %": share(model)}
    answer["by beam, clusters scanned, %"] = {beam: share(with_probes(with_beam(model, beam), None)) for beam in BEAMS}
    if one.shortlister.rows.coarse is not None:
        answer["by probes, %"] = {probes: share(with_probes(model, probes)) for probes in PROBES}
    return answer


def with_probes(model: Predictor, probes: int | None) -> Predictor:
    """With so many clusters of clusters opened, or all."""
    one = instance_of(model)
    rows = one.shortlister.rows
    if rows.coarse is None:
        return model
    coarse = replace(rows.coarse, probes=len(rows.coarse.rows) if probes is None else probes)
    levels = replace(one.shortlister, rows=replace(rows, coarse=coarse))
    return replace(model, model=replace(model.model, instances=[replace(one, shortlister=levels)]))  # type: ignore[type-var]


def anonymous() -> int:
    """Bytes of memory that are not pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


# -- our models --------------------------------------------------------------------------------------------------------


def one_size(labels: int) -> dict:
    with tempfile.TemporaryDirectory(dir=place_for_models()) as place:
        about = made(labels, Path(place))
        asked = [sys.executable, "-m", "benchmarks.million", "measure", place]
        return about | json.loads(subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout)


def place_for_models() -> Path:
    """A directory for models that are deleted after they were measured."""
    place = Path("runs/million")
    place.mkdir(parents=True, exist_ok=True)
    return place


def made(labels: int, place: Path) -> dict:
    """Save a model of so many labels, a small one, and queries; returns what is known of the model."""
    trained = Trained()
    drawn_model(trained, 2000, BEAM).save(place / "small")
    model = in_two_levels(drawn_model(trained, labels, BEAM), trained.corpus.train.documents)
    model.save(place / "model")
    (place / "queries.json").write_text(json.dumps(trained.queries(QUERIES)), "utf-8")
    files = {path.name: path.stat().st_size for path in (place / "model").iterdir()}
    heads = instance_of(model).shortlister.rows
    return {
        "labels": len(model.labels),
        "clusters": len(heads),
        "tokens": len(trained.encoder.vectors),
        "weights MB": round(files["weights.safetensors"] / 1e6, 1),
        "directory MB": round(sum(files.values()) / 1e6, 1),
        "beam": instance_of(model).beam,
        "coarse rows": None if heads.coarse is None else len(heads.coarse.rows),
        "probes": None if heads.coarse is None else heads.coarse.probes,
    }


def drawn_beside_trained() -> dict:
    """How much of the exact top K a beam finds: with trained cluster rows, with fitted ones, and among drawn labels."""
    trained = Trained()
    asked = Documents(Texts.of(trained.queries(JUDGED)))
    models = {"trained": trained.model, "trained labels, fitted clusters": with_fitted_clusters(trained)}
    models |= {f"drawn, {labels} labels": drawn_model(trained, labels, BEAM) for labels in (19_000, 76_000)}
    found: dict = {"distance to the nearest row, and its power": [round(x, 3) for x in nearness(trained)]}
    for name, model in models.items():
        exact = with_beam(model, len(instance_of(model).shortlister.rows)).rank(asked, K).labels
        answers = {beam: with_beam(model, beam).rank(asked, K).labels for beam in BEAMS}
        found[name] = {"clusters": len(instance_of(model).shortlister.rows)}
        found[name] |= {f"beam {beam}, %": round(100 * found_of(exact, one), 1) for beam, one in answers.items()}
        print(name, found[name], flush=True)
    return found


# -- the program -------------------------------------------------------------------------------------------------------


def main(words: list[str]) -> None:
    if words[:1] == ["measure"]:
        print(json.dumps(measured(Path(words[1]))))
        return
    results = earlier("million")
    if words == ["plot"]:
        print(plot(results))
    elif words == ["drawn"]:
        results["drawn beside trained"] = drawn_beside_trained()
    elif words[:1] == ["pecos"]:
        for labels in map(int, words[1:] or PECOS_SIZES):
            results["pecos"] = results.get("pecos", {}) | {str(labels): pecos_of(labels, place_for_models())}
            print(results["pecos"][str(labels)], save("million", results), flush=True)
    else:
        for labels in CURVE if words == ["curve"] else [int(words[0]) if words else 1_300_000]:
            results[str(labels)] = one_size(labels)
            print(results[str(labels)], save("million", results), flush=True)
    print(save("million", results))


if __name__ == "__main__":
    main(sys.argv[1:])
