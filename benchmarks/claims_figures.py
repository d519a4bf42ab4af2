"""Figures of the papers from the trainings of claims.py: python -m benchmarks.claims_figures.

LightDXML's Fig. 2 (β), ELIAS' Fig. 5 (recall by depth and by label frequency), DECAF's Figs. 4 to 6 (label frequency,
instances, fan-out).  Means over seeds.  A figure whose trainings are not under runs/claims stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import longtail
from benchmarks.claims import place_of, plainly, rankings_of, splits_of
from benchmarks.claims_judge import Judge
from benchmarks.claims_table import VARIANTS
from benchmarks.decaf_claims import recall_curve
from longtail.predict.predictor import Predictor

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BETAS = np.linspace(0, 1, 21)
DEPTHS = (1, 2, 5, 10, 20, 50, 100)
DECILES = range(1, 11)


def models_of(name: str) -> list[Predictor]:
    """The trained models of a variant, as far as they are there."""
    places = [place_of(VARIANTS[name], seed) / "model" for seed in VARIANTS[name].seeds]
    return [longtail.open(place) for place in places if place.is_dir()]


def judge_of(name: str) -> Judge:
    splits = splits_of(VARIANTS[name].corpus, VARIANTS[name].documents)
    return Judge(splits.train, splits.split("test"))


def measured(name: str, metrics: list[str]) -> list[float] | None:
    """Means over seeds."""
    rankings = rankings_of(name)
    if rankings is None:
        return None
    judge = judge_of(name)
    return [float(np.mean([judge.value(ranking, metric) for ranking in rankings])) for metric in metrics]


def curves(axes: Axes, names: list[str], metrics: list[str], at: list, **labels: object) -> None:
    """A line for each variant that is trained."""
    for name in names:
        values = measured(name, metrics)
        if values is not None:
            axes.plot(at, values, marker="o", label=name)
    axes.set(**labels)
    if axes.lines:
        axes.legend()


def beta_figure(figure: Figure) -> None:
    """LightDXML, Fig. 2."""
    for axes, metric in zip(figure.subplots(1, 2), ("P@1", "PSP@1")):
        for name in ("LightDXML (paper)", "LightDXML"):
            if models := models_of(name):
                axes.plot(BETAS, by_beta(name, models, metric), marker=".", label=name)
        axes.set(xlabel="β", ylabel=f"{metric}, %", title=f"EURLex-4K: {metric} by β")
        axes.legend()


def by_beta(name: str, models: list[Predictor], metric: str) -> list[float]:
    """Means over models, for every β."""
    judge, variant = judge_of(name), VARIANTS[name]
    splits = splits_of(variant.corpus, variant.documents)
    return [
        float(np.mean([judge.value(plainly(with_beta(model, beta), splits, variant), metric) for model in models]))
        for beta in BETAS
    ]


def with_beta(model: Predictor, beta: float) -> Predictor:
    return replace(model, model=replace(model.model, fusion=replace(model.model.fusion, beta=float(beta))))


def recall_figure(figure: Figure) -> None:
    """ELIAS, Fig. 5."""
    left, right = figure.subplots(1, 2)
    names = ["ELIAS, 10k", "ELIAS, stage 1 alone, 10k", "ELIAS, one-vs-all, 10k", "linear, 10k"]
    about = {"xlabel": "labels", "ylabel": "recall, %", "title": "recall by labels ranked", "xscale": "log"}
    curves(left, names, [f"R@{depth}" for depth in DEPTHS], list(DEPTHS), **about)
    about = {"xlabel": "decile of labels, rarest last", "ylabel": "part of R@100, %", "title": "by label frequency"}
    curves(right, names, [f"R@100|{at}-{at}" for at in DECILES], list(DECILES), **about)


def decaf_figure(figure: Figure) -> None:
    """DECAF, Figs. 4, 5 and 6."""
    left, middle, right = figure.subplots(1, 3)
    about = {"xlabel": "decile of labels, rarest last", "ylabel": "part of P@5, %", "title": "by label frequency (4)"}
    curves(left, ["DECAF", "DECAF-ẑ²", "linear, 10k"], [f"P@5|{at}-{at}" for at in DECILES], list(DECILES), **about)
    found = [measured(f"DECAF × {n}", ["P@1"]) for n in (1, 2, 3, 4)]
    if all(found):
        middle.plot([1, 2, 3, 4], [value for [value] in found if value is not None], marker="o")
    middle.set(xlabel="instances", ylabel="P@1, %", title="instances (5)", xticks=[1, 2, 3, 4])
    for name in ("DECAF", "DECAF, 64 labels a cluster"):
        if models := models_of(name):
            curve = recall_curve(models[0].model, judge_of(name).test)
            right.plot([int(at) for at in curve], list(curve.values()), marker="o", label=name)
    right.set(xlabel="labels shortlisted", ylabel="recall, %", title="fan-out, one seed (6)", xscale="log")
    if right.lines:
        right.legend()


# A figure, and what must be trained for it.
FIGURES: dict[str, tuple[Callable[[Figure], None], str, int]] = {
    "claims-lightdxml-beta": (beta_figure, "LightDXML", 10),
    "claims-elias-recall": (recall_figure, "ELIAS, 10k", 10),
    "claims-decaf": (decaf_figure, "DECAF", 14),
}


def main() -> None:
    for name, (draw, needed, width) in FIGURES.items():
        if rankings_of(needed) is None:
            print(f"{name}: {needed} is not trained here; the figure stays as it was")
            continue
        figure = Figure(figsize=(width, 4), layout="constrained")
        draw(figure)
        figure.savefig(IMAGES / f"{name}.png", dpi=110)
        print(f"{name}.png", flush=True)


if __name__ == "__main__":
    main()
