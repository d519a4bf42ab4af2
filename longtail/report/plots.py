"""Plots as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from longtail.errors import ConfigError, MissingExtraError
from longtail.report.evaluation import ks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from longtail.index.graph import GraphIndex
    from longtail.judge.calibration import Reliability
    from longtail.judge.metrics import Evaluation
    from longtail.predict.predictor import Predictor


BLUE, INK, FAINT = "#08306b", "#333333", "#dddddd"


def evaluation_plots(evaluation: Evaluation, directory: Path) -> list[Path]:
    """Plot precision and recall by label frequency, recall by depth, and reliability; returns the PNG files written."""
    drawn = {"recall-curve.png": _recall_curve(evaluation)}
    if evaluation.reliability is not None:
        drawn["reliability.png"] = _reliability_diagram(evaluation, evaluation.reliability)
    if evaluation.by_decile:
        drawn["precision-by-decile.png"] = _precision_by_decile(evaluation)
        drawn["recall-by-decile.png"] = _recall_by_decile(evaluation)
        drawn["recall-parts-by-decile.png"] = _recall_parts_by_decile(evaluation)
    return [_save(figure, directory / name) for name, figure in drawn.items()]


def edge_plots(model: Predictor, directory: Path) -> list[Path]:
    """Plot the distribution of learned edge weights, for models with a graph; returns the PNG files written."""
    from longtail.index.graph import graphs_of

    found = list(graphs_of(model))
    names = ["edge-weights.png"] if len(found) == 1 else [f"edge-weights-{at}.png" for at in range(len(found))]
    return [_save(_edge_weights(graph, model.about.method), directory / name) for name, graph in zip(names, found)]


def frequency_plot(frequencies: np.ndarray, path: Path) -> Path:
    """Documents per label, most frequent label first, on logarithmic axes."""
    falling = np.sort(frequencies)[::-1]
    seen = falling[falling > 0]
    figure, axes = _figure("How many documents a label has", _label_counts(falling))
    axes.loglog(np.arange(1, len(seen) + 1), seen, color=BLUE, linewidth=2, drawstyle="steps-mid")
    axes.set(xlabel="label, most frequent first", ylabel="documents")
    axes.grid(color=FAINT, linewidth=0.8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else "")
    return _save(figure, path)


def _label_counts(falling: np.ndarray) -> str:
    without = int((falling == 0).sum())
    return f"{len(falling):,} labels" + (f", {without:,} of them without a document" if without else "")


def _precision_by_decile(evaluation: Evaluation) -> Figure:
    figure, axes = _figure("Precision by label frequency", _whose(evaluation))
    names = [f"P@{k}" for k in ks_of(evaluation.metrics, "P")]
    totals = {name: f"{name} = {evaluation.metrics[name]:.1f}" for name in names}  # the bars of a colour sum to this
    _bars(axes, {totals[name]: [at.contribution[name] for at in evaluation.by_decile] for name in names})
    axes.set(ylabel="contribution to P@k (%)")
    return figure


def _recall_by_decile(evaluation: Evaluation) -> Figure:
    figure, axes = _figure("Recall by label frequency", _whose(evaluation))
    depths = ks_of(evaluation.metrics, "R")
    names = [f"R@{k}" for k in dict.fromkeys((depths[0], max(ks_of(evaluation.metrics, "P")), depths[-1]))]
    found = [at.within if at.pairs else {} for at in evaluation.by_decile]
    _bars(axes, {name: [within.get(name, np.nan) for within in found] for name in names})
    axes.set(ylabel="recall within the decile (%)", ylim=(0, 100))
    return figure


def _recall_parts_by_decile(evaluation: Evaluation) -> Figure:
    figure, axes = _figure("What labels of each frequency add to recall", _whose(evaluation))
    name = f"R@{ks_of(evaluation.metrics, 'R')[-1]}"
    total = f"{name} = {evaluation.metrics[name]:.1f}"
    _bars(axes, {total: [at.contribution[name] for at in evaluation.by_decile]})
    axes.set(ylabel=f"contribution to {name} (%)")
    return figure


def _reliability_diagram(evaluation: Evaluation, judged: Reliability) -> Figure:
    figure, axes = _figure("What scores say and what is true", _whose(evaluation))
    said, true = (100 * np.array([getattr(one, side) for one in judged.bins]) for side in ("score", "true"))
    axes.plot([0, 100], [0, 100], color="#999999", linewidth=1, linestyle="--")
    axes.plot(said, true, "o-", color=BLUE, linewidth=2, markersize=5, clip_on=False)
    told = f"first {judged.k} labels of each document, {judged.pairs:,} pairs\nECE {judged.ece:.2f} %"
    axes.annotate(told, (0.03, 0.95), xycoords="axes fraction", va="top", fontsize=9)
    axes.set(xlabel="mean score in the bin (%)", ylabel="true labels in the bin (%)", xlim=(0, 100), ylim=(0, 100))
    axes.grid(color=FAINT, linewidth=0.8)
    return figure


def _edge_weights(index: GraphIndex, method: str) -> Figure:
    shares = index.graph.mean_shares()
    figure, axes = _figure("How a cluster divides its weight among its labels", f"{method}, mean of all clusters")
    axes.loglog(np.arange(1, len(shares) + 1), np.maximum(shares, 1e-12), color=BLUE, linewidth=2)
    if np.isfinite(index.beta):  # in a partition every edge has weight 1
        axes.axhline(1 / index.beta, color="#999999", linewidth=1, linestyle="--")
        told = "1/β: above it an edge is sure"
        axes.annotate(told, (1, 1 / index.beta), (0, 4), textcoords="offset points", fontsize=9)
    axes.set(xlabel="edge of a cluster, heaviest first", ylabel="normalised weight")
    axes.grid(color=FAINT, linewidth=0.8)
    return figure


def _recall_curve(evaluation: Evaluation) -> Figure:
    figure, axes = _figure("Recall by number of labels read", _whose(evaluation))
    marked = [k for k in ks_of(evaluation.metrics, "R") if k in (1, 5, 10, 20, 50, 100)]
    curve = evaluation.recall_curve[: ks_of(evaluation.metrics, "R")[-1]]
    axes.plot(np.arange(1, len(curve) + 1), curve, color=BLUE, linewidth=2, clip_on=False)
    for k in (k for k in marked if k <= len(curve)):
        axes.plot(k, curve[k - 1], "o", color=BLUE, markersize=5, clip_on=False)
        # Below the curve, clear of the line, unless the axis is there; the last one must stay inside.
        side, right = ("right", 2) if k == len(curve) else ("left", 6)
        offset = (right, -14 if curve[k - 1] > 8 else 6)
        axes.annotate(f"{curve[k - 1]:.1f}", (k, curve[k - 1]), offset, textcoords="offset points", ha=side, fontsize=9)
    axes.set(xlabel="labels read per document (k)", ylabel="R@k (%)", xlim=(0, len(curve)), ylim=(0, 100))
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    return figure


def _bars(axes: Axes, series: dict[str, list[float]]) -> None:
    from matplotlib import colormaps

    shades = colormaps["Blues_r"](np.linspace(0, 0.6, len(series)))  # dark to light: distinguishable in greyscale
    width = 0.8 / len(series)
    deciles = np.arange(1, len(next(iter(series.values()))) + 1)
    for at, (name, heights) in enumerate(series.items()):
        axes.bar(deciles + (at - (len(series) - 1) / 2) * width, heights, width, label=name, color=shades[at])
    axes.set_xticks(deciles)
    axes.set(xlabel="label decile by training frequency (1 = most frequent)", xlim=(0.4, len(deciles) + 0.6))
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(series), handlelength=1, fontsize=9)


def _whose(evaluation: Evaluation) -> str:
    model, corpus = evaluation.model.get("method", ""), evaluation.corpus.get("name", "")
    return " on ".join(part for part in (model, corpus) if part)


def _figure(title: str, subtitle: str) -> tuple[Figure, Axes]:
    """An empty figure with its title; drawn without a display and without matplotlib's global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plots", "plots") from None

    figure = Figure(figsize=(7.2, 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=INK, pad=22 if subtitle else 8)
    axes.annotate(subtitle, (0, 1), (0, 7), xycoords="axes fraction", textcoords="offset points", color="#666666")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, length=3)
    return figure, axes


def _save(figure: Any, path: Path) -> Path:  # noqa: ANN401 - matplotlib's Figure, which may not be installed
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="png")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from error
    return path
