"""What methods take as labels grow: trained, opened and asked on planted corpora; called by benchmarks.scale.

One document a label, 20,000 at least; methods that train in epochs run one of each module, so their accuracy says
little.  Processor time, because other programs may run; PECOS gets our features, and its query starts from them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.contenders.scale_measure import QUERIES, WARM
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.million_plot import _asked_of_pecos as asked_of_pecos
from benchmarks.scale_corpus import Planted, make
from longtail.data.load import load
from longtail.features.tfidf import Tfidf, TfidfOptions

KEPT = Path("runs/scale")
FEWEST = 20_000  # documents
GROWING = ("train CPU s", "epoch CPU s", "step CPU ms", "peak MB", "model MB", "query p50 CPU ms")


def corpus_of(labels: int, documents: int | None) -> Path:
    """The corpus of this size, made if it is not there."""
    planted = Planted(labels, documents or max(FEWEST, labels))
    place = KEPT / f"corpus-{planted.labels}-{planted.documents}"
    return place if (place / "planted.json").is_file() else make(planted, place)


def measure_all(methods: list[str], sizes: list[int], documents: int | None = None) -> None:
    """Every method at every size that was not measured before; the small ones first."""
    for labels in sorted(sizes):
        for method in methods:
            results = earlier("scale")
            if str(labels) in results.get(method, {}):
                continue
            measure = measured_pecos if method == "pecos" else measured
            found = measure(method, labels, corpus_of(labels, documents))
            results = earlier("scale")  # another process may have measured meanwhile
            results.setdefault(method, {})[str(labels)] = found
            results["exponents"] = {name: exponents(results[name]) for name in results if name != "exponents"}
            print(method, labels, found, save("scale", results), flush=True)
    print(plot(earlier("scale")), written(earlier("scale")))


def written(results: dict) -> Path:
    """A table of everything that was measured."""
    columns = ("documents", *GROWING[:4], "announced MB", *GROWING[4:], "query p99 CPU ms", "P@1", "P@5", "PSP@5")
    lines = ["| method | labels | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for method in sorted(results.keys() - {"exponents"}):
        for labels, point in sorted(results[method].items(), key=lambda pair: int(pair[0])):
            cells = [f"{point[name]:,}" if point.get(name) is not None else "–" for name in columns]
            lines.append(f"| `{method}` | {int(labels):,} | " + " | ".join(cells) + " |")
        powers = results["exponents"][method]
        cells = [f"L^{powers[name]}" if name in powers else "" for name in columns]
        lines.append(f"| `{method}` | exponent | " + " | ".join(cells) + " |")
    text = (
        "# Methods as labels grow\n\nMade by `python -m benchmarks.scale curve`; [what it is](../../docs/scale.md).\n\n"
    )
    (RESULTS / "scale.md").write_text(text + "\n".join(lines) + "\n", "utf-8")
    return RESULTS / "scale.md"


def measured(method: str, labels: int, corpus: Path) -> dict:
    run = KEPT / f"{method}-{labels}"
    shutil.rmtree(run, ignore_errors=True)  # half a training would be measured as a whole one
    command = [sys.executable, "-m", "benchmarks.contenders.scale_measure", method, str(corpus), str(run)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(said.splitlines()[-1])


def measured_pecos(_: str, labels: int, corpus: Path) -> dict:
    place, splits = KEPT / f"pecos-{labels}", load(corpus)
    place.mkdir(parents=True, exist_ok=True)
    assert splits.test is not None
    tfidf = Tfidf.fit(splits.train.texts, TfidfOptions(sublinear=True))
    asked = splits.test.texts[: QUERIES + WARM]
    parts = {"features": tfidf.transform(splits.train.texts), "labels": splits.train.labels}
    for name, part in (parts | {"queries": tfidf.transform(asked)}).items():
        sp.save_npz(place / f"{name}.npz", sp.csr_matrix(part, dtype=np.float32), compressed=False)
    trained, queried = (asked_of_pecos(place, what) for what in ("train", "measure"))
    return {
        "documents": len(splits.train),
        "train CPU s": trained["train CPU s"],
        "peak MB": trained["train MB"],
        "model MB": trained["directory MB"],
        "query p50 CPU ms": queried["features to ranking, p50 CPU ms"],
        "query p99 CPU ms": queried["features to ranking, p99 CPU ms"],
    }


def exponents(points: dict[str, dict]) -> dict[str, float]:
    """p of the line value ~ labels^p through all points, for what grows."""
    found = {}
    for name in GROWING:
        there = {int(labels): point[name] for labels, point in points.items() if point.get(name)}
        if len(there) > 1:
            found[name] = round(float(np.polyfit(np.log(list(there)), np.log(list(there.values())), 1)[0]), 2)
    return found


def plot(results: dict) -> Path:
    """Six panels against the number of labels, both logarithmic; the exponents are in the legend."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    for axes, name in zip(figure.subplots(2, 3).ravel(), GROWING):
        for method in sorted(results.keys() - {"exponents"}):
            points = {int(labels): point[name] for labels, point in results[method].items() if point.get(name)}
            if points:
                power = results["exponents"][method].get(name)
                legend = method if power is None else f"{method}: L^{power}"
                axes.plot(sorted(points), [points[at] for at in sorted(points)], marker="o", label=legend)
        axes.set(xscale="log", yscale="log", xlabel="labels, L", title=name)
        if axes.has_data():
            axes.legend(fontsize=8)
    figure.savefig(RESULTS / "scale.png", dpi=110)
    return RESULTS / "scale.png"
