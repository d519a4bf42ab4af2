"""What the DECAF paper says of its parts, on our corpora: python -m benchmarks.decaf_claims [CORPUS].

Variants of Table 6, recall against the length of shortlists for three fan-outs (Fig. 6), and the part of each
label-frequency decile (Fig. 4), beside `linear`.  One seed, half the epochs; what was run before is not run again.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import corpus_path
from longtail.index.partition import recall_at
from longtail.methods.decaf.model import Decaf, open_clusters

# Half the default epochs for all: differences between variants need no more, and there are many.
SHORT = {"optim.epochs": (2, 2, 6), "optim.average_from": 4}
VARIANTS: dict[str, tuple[str, dict]] = {
    "DECAF": ("decaf", {}),
    "ẑ² only, no label text": ("decaf/refinement", {}),
    "no-init": ("decaf/no-init", {}),
    "no-init, ranker starts from module II": ("decaf/no-init", {"afresh": False}),
    "64 labels a cluster": ("decaf", {"labels_per_cluster": 64}),
    "16 labels a cluster": ("decaf", {"labels_per_cluster": 16}),
    "ẑ¹ only, no refinement": ("decaf/text", {}),
    "ranker starts from module II": ("decaf", {"afresh": False}),
    "vectors from MiniLM": ("decaf", {"bag.vectors": "minilm"}),
    "vectors from wordllama": ("decaf", {"bag.vectors": "wordllama"}),
    "words alone": ("decaf", {"bag.subwords": 0}),
    "lite": ("decaf/lite", {}),
    "no averaging": ("decaf", {"optim.average_from": "none"}),
    "score with the whole cluster part": ("decaf", {"belief_weight": 1.0}),
    "ensemble of 3": ("decaf", {"instances": 3}),
    "modules I and II in bfloat16": ("decaf", {"optim.precision": ("bf16", "bf16", "fp32")}),
}
FAN_OUTS = {4: "DECAF", 16: "16 labels a cluster", 64: "64 labels a cluster"}
LENGTHS = (25, 50, 100, 200, 400, 800)
SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["R@100"]


def measured(name: str, method: str, settings: dict, runs: Path) -> dict:
    """Train, judge, and keep what the figures need."""
    splits = longtail.load(corpus_path(name))
    clock, cpu = time.perf_counter(), time.process_time()
    model = longtail.fit(method, splits.train, run=runs, **settings)
    cost = {"seconds": round(time.perf_counter() - clock), "cpu seconds": round(time.process_time() - cpu)}
    judged = longtail.evaluate(model, splits.split("test"))
    row = cost | {"metrics": {metric: round(judged.metrics[metric], 2) for metric in SHOWN}}
    row["part of P@5 by decile"] = [round(decile.contribution["P@5"], 2) for decile in judged.by_decile]
    row["R@5 within decile"] = [round(decile.within["R@5"], 2) for decile in judged.by_decile]
    if isinstance(model.model, Decaf):
        row["recall by labels shortlisted"] = recall_curve(model.model, splits.split("test"))
    return row


def recall_curve(model: Decaf, test: longtail.Corpus) -> dict[str, float]:
    """The share of true labels among those of the first clusters, by how many labels these hold on average."""
    instance = model.instances[0]
    read = instance.shortlister.encoder.read(test.documents)
    opened = open_clusters(instance.shortlister, read, instance.beam).labels
    clusters = instance.ranker.rows.clusters
    recall, lengths = recall_at(opened, test.labels, clusters), np.diff(clusters.starts)[opened]
    mean = lengths.mean(axis=0).cumsum()
    places = sorted({int(np.searchsorted(mean, labels)) for labels in LENGTHS if labels <= mean[-1]})
    return {f"{mean[at]:.0f}": round(100 * float(recall[at]), 2) for at in places}


def plot(rows: dict, name: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    curves, deciles = figure.subplots(1, 2)
    for fan_out, variant in FAN_OUTS.items():
        if curve := rows.get(variant, {}).get("recall by labels shortlisted"):
            curves.plot(
                [int(at) for at in curve], list(curve.values()), marker="o", label=f"{fan_out} labels a cluster"
            )
    curves.set(xscale="log", xlabel="labels shortlisted", ylabel="recall, %", title=f"{name}: shortlists (Fig. 6)")
    curves.set_xticks(LENGTHS, [str(length) for length in LENGTHS])
    curves.minorticks_off()
    if curves.lines:
        curves.legend()
    for variant in ("DECAF", "ẑ² only, no label text", "linear"):
        if variant in rows:
            deciles.plot(range(1, 11), rows[variant]["R@5 within decile"], marker="o", label=variant)
    deciles.set(
        xlabel="decile of labels, rarest last", ylabel="R@5 of its labels, %", title="by label frequency (Fig. 4)"
    )
    deciles.legend()
    figure.savefig(RESULTS / f"decaf_claims_{name}.png", dpi=120)


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "debian-related"
    results = earlier("decaf_claims")
    rows = results.setdefault(name, {})
    short = {variant: (method, SHORT | settings) for variant, (method, settings) in VARIANTS.items()}
    for variant, (method, settings) in ({"linear": ("linear", {})} | short).items():
        if variant in rows:
            continue
        place = Path("runs") / "claims" / name / "".join(filter(str.isalnum, variant))
        rows[variant] = measured(name, method, settings, place)
        save("decaf_claims", results)
        plot(rows, name)
        print(name, variant, rows[variant]["metrics"], rows[variant]["seconds"], flush=True)


if __name__ == "__main__":
    main()
