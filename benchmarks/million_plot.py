"""PECOS at many sizes, and the plot of it and of ours against the number of labels; called by benchmarks.million."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.machine import RESULTS
from benchmarks.side_by_side import PECOS
from longtail.data.load import load
from longtail.features.tfidf import Tfidf, TfidfOptions

PECOS_SIZES = (1_000, 10_000, 100_000, 1_000_000)
A_LABEL, KEPT = 2, 0.7  # documents a label, and the share of words that each has of a text
QUERIES = 500


def trained_pecos(labels: int, place: Path) -> Path:
    """XR-Linear trained on texts of the demo, kept in a directory: every label has a text, and its documents most of
    the words of it."""
    if not (place / "trained.json").is_file():
        place.mkdir(parents=True, exist_ok=True)
        texts = load("demo").train.texts
        rows = Tfidf.fit(texts, TfidfOptions(sublinear=True)).transform(texts)
        rng = np.random.default_rng(labels)
        of_label = rng.permutation(max(labels, rows.shape[0]))[:labels] % rows.shape[0]
        documents = thinned(rows[np.tile(of_label, A_LABEL)], rng)
        answers = sp.vstack([sp.eye(labels, dtype=np.float32)] * A_LABEL)
        asked = thinned(rows[of_label[rng.integers(0, labels, QUERIES)]], rng)
        parts = {"features": documents, "labels": answers, "queries": asked}
        for name, part in parts.items():
            sp.save_npz(place / f"{name}.npz", sp.csr_matrix(part), compressed=False)
        (place / "trained.json").write_text(json.dumps(_asked_of_pecos(place, "train")), "utf-8")
    return place


def measured_pecos(labels: int, place: Path) -> dict:
    """What its training took, and what it takes to ask it."""
    trained = json.loads((place / "trained.json").read_text("utf-8"))
    return {"labels": labels} | trained | _asked_of_pecos(place, "measure")


def _asked_of_pecos(place: Path, what: str) -> dict:
    command = [PECOS, "-m", "benchmarks.contenders.pecos_sizes", str(place), what]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(said.splitlines()[-1])


def thinned(rows: sp.csr_array, rng: np.random.Generator) -> sp.csr_matrix:
    """Rows with a share of their entries, of length 1 again."""
    kept = sp.csr_matrix(rows, dtype=np.float32, copy=True)
    kept.data *= rng.random(len(kept.data)) < KEPT
    kept.eliminate_zeros()
    lengths = np.sqrt(np.asarray(kept.multiply(kept).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / np.maximum(lengths, 1e-9)) @ kept, dtype=np.float32)


SHOWN = {
    "one query on one core, p50 processor ms": {
        "Longtail, text to names": ("ours", "text to names, p50 CPU ms"),
        "Longtail, bag to ranking": ("ours", "bag to ranking, p50 CPU ms"),
        "PECOS, features to ranking": ("pecos", "features to ranking, p50 CPU ms"),
    },
    "memory beyond the page cache, MB": {
        "Longtail, after opening": ("ours", "MB after opening"), "PECOS": ("pecos", "MB after opening"),
    },
    "files, MB": {"Longtail, 512 × int8": ("ours", "directory MB"), "PECOS": ("pecos", "directory MB")},
}  # fmt: skip


def caption(series: dict[str, list[dict]]) -> str:
    """What the lines are of, and where PECOS ends."""
    found = [point["of the exact top 10, %"] for point in series["ours"]]
    ours = f"Longtail: DECAF, int8; {min(found):.1f} to {max(found):.1f} % of the exact top 10 are found."
    if not series["pecos"]:
        return ours
    last = series["pecos"][-1]
    return (
        f"{ours}  PECOS: XR-Linear, default settings, sparse documents, {A_LABEL} a label; its last point, "
        f"{last['labels']:,} labels, trained for {last['train CPU s']:.0f} processor seconds, more were not tried."
    )


def plot(results: dict) -> Path:
    """Time, memory and file size against the number of labels."""
    import matplotlib.pyplot as plt

    series = {"ours": [results[size] for size in sorted(filter(str.isdigit, results), key=int)]}
    series["pecos"] = [results["pecos"][size] for size in sorted(results.get("pecos", {}), key=int)]
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for axis, (title, lines) in zip(axes, SHOWN.items()):
        for name, (whose, number) in lines.items():
            points = series[whose]
            dashed = "--" if whose == "pecos" else "-"
            axis.plot([p["labels"] for p in points], [p[number] for p in points], dashed, marker="o", label=name)
        axis.set(xscale="log", yscale="linear" if "ms" in title else "log", title=title, xlabel="labels")
        if "ms" in title:
            axis.set_ylim(bottom=0)
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
    figure.supxlabel(caption(series), fontsize=8)
    figure.savefig(RESULTS / "million.png", dpi=110)
    return RESULTS / "million.png"
