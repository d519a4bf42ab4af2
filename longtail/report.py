"""Numbers for people: tables for the terminal, plots as PNG files."""

from __future__ import annotations

import ast
import dataclasses
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from longtail.errors import ConfigError, MissingExtraError
from longtail.train.run import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from longtail.data.describe import Description, SplitDescription
    from longtail.index.graph import GraphIndex
    from longtail.judge.calibration import Bin, Reliability
    from longtail.judge.metrics import Decile, Evaluation
    from longtail.predict.info import Changed, Member, ModelInfo
    from longtail.predict.predictor import Predictor


# -- tables -------------------------------------------------------------------------------------------------------


def table(evaluation: Evaluation, title: str) -> Group:
    """Every metric at every k, and below it how labels of different frequency fare; in percent."""
    parts = [metrics_table(evaluation.metrics, title)]
    if evaluation.by_decile:
        parts.append(decile_table(evaluation.by_decile))
    return Group(*parts)


def scores_report(evaluation: Evaluation) -> Group:
    """What scores are worth as probabilities, and what the model's own threshold is worth, if it has one."""
    parts: list[RenderableType] = []
    if evaluation.reliability is not None:
        parts.append(reliability_table(evaluation.reliability))
    if evaluation.threshold is not None:
        parts.append(Text(str(evaluation.threshold)))
    return Group(*parts)


def metrics_table(metrics: dict[str, float], title: str) -> Table:
    """One line a metric, one column a k."""
    ks = sorted({k for name in _names(metrics) for k in _ks(metrics, name)})
    shown = _empty_table(title, ["", *(f"@{k}" for k in ks)])
    for name in _names(metrics):
        shown.add_row(name, *(_number(metrics.get(f"{name}@{k}")) for k in ks))
    return shown


def decile_table(deciles: Sequence[Decile]) -> Table:
    """One line a decile: its part in precision, and what is found of its own true labels."""
    known = deciles[0].contribution
    first, last, deepest = _ks(known, "P")[0], _ks(known, "P")[-1], _ks(known, "R")[-1]
    parts = list(dict.fromkeys([f"P@{first}", f"P@{last}"]))
    own = list(dict.fromkeys([f"R@{last}", f"R@{deepest}", f"PSP@{last}"]))
    head = ["decile", "training\ndocuments", "true\npairs"]
    head += [f"part of\n{name}" for name in parts] + [f"within:\n{name}" for name in own]
    shown = _empty_table(f"By label frequency, {deciles[0].labels:,} labels a decile, the most frequent first, %", head)
    for at in deciles:
        about = [str(at.decile), f"{at.least_frequent:,}–{at.most_frequent:,}", f"{at.pairs:,}"]
        shares = [_number(at.contribution[name]) for name in parts]
        shown.add_row(*about, *shares, *(_number(at.within[name] if at.pairs else None) for name in own))
    return shown


def reliability_table(judged: Reliability) -> Table:
    """One line a bin: what scores say, and what is true."""
    title = f"Scores as probabilities: ECE@{judged.k} {judged.ece:.2f} %"
    shown = _empty_table(title, ["scores", "pairs", "mean score, %", "true, %"])
    for one in judged.bins:
        shown.add_row(_range(one), f"{one.pairs:,}", _number(100 * one.score), _number(100 * one.true))
    return shown


def calibration_table(before: Reliability, after: Reliability, title: str) -> Group:
    """What `longtail calibrate` prints: how far scores were from probabilities, and how far calibrated ones are."""
    change = f"ECE@{before.k}: {before.ece:.2f} % before, {after.ece:.2f} % after"
    judged = "by a curve that did not see the documents"
    return Group(Text(title, style="bold"), reliability_table(after), Text(f"{change}, {judged}"))


def _range(one: Bin) -> str:
    return f"{one.lowest:.4f}–{one.highest:.4f}"


def description_tables(found: Description) -> list[RenderableType]:
    """What `longtail describe` prints: the splits, how frequent labels are, and the curve of it."""
    curve = f"Training documents by label, both axes logarithmic\n\n{frequency_blocks(found.frequencies)}\n"
    return [_splits_table(found), _frequency_table(found), Text(curve)]


def _splits_table(found: Description) -> Table:
    shown = _empty_table(found.name, ["", *found.splits])
    for fact, of_split in SPLIT_FACTS.items():
        shown.add_row(fact, *(of_split(split) for split in found.splits.values()))
    return shown


def _words(split: SplitDescription) -> str:
    return "" if split.words is None else "{50%:,} ({5%:,}–{95%:,})".format_map(split.words)


SPLIT_FACTS: dict[str, Callable[[SplitDescription], str]] = {
    "documents": lambda split: f"{split.documents:,}",
    "labels of a document": lambda split: f"{split.labels_per_document:.2f}",
    "at most": lambda split: f"{split.most_labels:,}",
    "documents without labels": lambda split: f"{split.without_labels:,}",
    "words, median (5%–95%)": _words,
    "empty documents": lambda split: f"{split.empty:,}",
    "repeated documents": lambda split: f"{split.duplicates:,}",
    "documents also in train": lambda split: f"{split.in_train:,}",
}


def _frequency_table(found: Description) -> Table:
    title = f"{found.labels:,} labels, {found.labels_without_training:,} of them without a training document"
    shown = _empty_table(title, ["decile", "labels", "training documents", "mean", "% of all pairs"])
    for at, part in enumerate(found.deciles, 1):
        about = [str(at), f"{part.labels:,}", f"{part.least:,}–{part.most:,}", f"{part.mean:,.1f}"]
        shown.add_row(*about, _number(100 * part.share))
    return shown


def info_table(info: ModelInfo) -> Table:
    """What `longtail info` prints."""
    shown = _empty_table(escape(info.directory), ["", ""], right=False)
    for name, lines in _model_facts(info).items():
        shown.add_row(name, Text("\n".join(lines)))
    return shown


def _model_facts(info: ModelInfo) -> dict[str, list[str]]:
    facts = {
        "method": [info.method],
        "labels": [f"{info.labels:,}"],
        "trained on": [f"{info.corpus}, {info.documents:,} documents"],
        "settings": [_changed(one) for one in info.settings] or ["defaults"],
        "members": [_member(one) for one in info.members],
        "validation": [", ".join(f"{name} {value:.2f}" for name, value in info.validation.items())],
        "chosen": [f"{what} by {_whose_documents(about)}" for what, about in info.chosen.items()],
        "threshold": [str(info.threshold)] if info.threshold else [],
        "files": [f"{name}  {size(count)}" for name, count in info.files.items()],
        "size": [size(info.bytes)],
        "format": [str(info.format)],
        "written by": [", ".join(f"{name} {version}" for name, version in info.versions.items())],
        "state": [info.state],
    }
    if info.members:
        del facts["settings"]
    return {name: lines for name, lines in facts.items() if any(lines)}


def _changed(setting: Changed) -> str:
    return f"{setting.name} = {setting.value} (default {setting.default})"


def _member(member: Member) -> str:
    settings = "".join(f"; {_changed(one)}" for one in member.settings)
    return f"{member.weight:.3g} x {member.method} on {member.corpus}, {member.documents:,} documents{settings}"


def _whose_documents(about: dict[str, Any]) -> str:
    if "name" not in about:
        return "the validation split"
    return f"{about.get('documents')} documents of {about['name']} ({about.get('split')})"


def methods_table() -> Table:
    """Every method and what it is."""
    shown = _empty_table("Methods", ["method", "what it does"], right=False)
    shown.columns[0].no_wrap = True  # a name is to be copied
    for about in methods_json():
        shown.add_row(about["name"], about["summary"])
    return shown


def methods_json() -> list[dict[str, str]]:
    """The same for programs."""
    from longtail.methods import METHODS

    return [{"name": name, "summary": _summary(module)} for name, module in METHODS.items()]


def settings_list(name: str, width: int = 80) -> str:
    """Every setting of a method as `--set` takes it, below it meaning and source; names are never cut or broken."""
    from longtail.config import explain
    from longtail.methods import method

    lines = [f"Settings of {name}"]
    for one in explain(method(name).Config()):
        lines += ["", f"{one.name} = {_as_set(one.default)}"]
        for said in (one.meaning, f"source: {one.source}" if one.source else ""):
            lines += wrap(said, width, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def _as_set(value: object) -> str:
    """A default as `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def settings_json(name: str) -> dict[str, Any]:
    """The same for programs."""
    from longtail.config import explain
    from longtail.methods import METHODS, method

    settings = [dataclasses.asdict(line) for line in explain(method(name).Config())]
    return {"name": name, "summary": _summary(METHODS[name]), "settings": settings}


def _summary(module: str) -> str:
    """First line of a module's docstring, read and not imported: it may need packages that are not installed."""
    spec = find_spec(module)
    source = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def _empty_table(title: str, columns: Iterable[str], *, right: bool = True) -> Table:
    shown = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, header_style="", collapse_padding=True
    )
    for at, column in enumerate(columns):
        shown.add_column(column, justify="right" if right and at else "left", vertical="top")
    return shown


def _names(metrics: dict[str, float]) -> list[str]:
    return list(dict.fromkeys(name.partition("@")[0] for name in metrics))


def _ks(metrics: dict[str, float], name: str) -> list[int]:
    return sorted(int(known.partition("@")[2]) for known in metrics if known.partition("@")[0] == name)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


# -- plots --------------------------------------------------------------------------------------------------------

BLUE, INK, FAINT = "#08306b", "#333333", "#dddddd"


def plots(evaluation: Evaluation, directory: Path) -> list[Path]:
    """Draw precision and recall by label frequency, recall by depth, and reliability; the PNG files written."""
    drawn = {"recall-curve.png": _recall_curve(evaluation)}
    if evaluation.reliability is not None:
        drawn["reliability.png"] = _reliability_diagram(evaluation, evaluation.reliability)
    if evaluation.by_decile:
        drawn["precision-by-decile.png"] = _precision_by_decile(evaluation)
        drawn["recall-by-decile.png"] = _recall_by_decile(evaluation)
        drawn["recall-parts-by-decile.png"] = _recall_parts_by_decile(evaluation)
    return [_save(figure, directory / name) for name, figure in drawn.items()]


def edge_plots(model: Predictor, directory: Path) -> list[Path]:
    """Draw how the weights of learned edges are distributed, for models that have a graph; the PNG files written."""
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


def frequency_blocks(frequencies: np.ndarray, width: int = 60, height: int = 6) -> str:
    """The same curve as lines of text, both axes logarithmic."""
    falling = np.sort(frequencies)[::-1]
    if not falling.any():
        return "no label has a document"
    columns = falling[np.geomspace(1, len(falling), width).round().astype(int) - 1]
    share = np.log(np.maximum(columns, 1)) / max(np.log(falling[0]), 1e-9)
    # A label with a document shows, however few it has; one without does not.
    filled = np.where(columns > 0, np.maximum(np.ceil(share * height * FULL), 1), 0).astype(int)
    lines = ["".join(BLOCKS[part] for part in np.clip(filled - row * FULL, 0, FULL)) for row in range(height)]
    most, last = f"{falling[0]:,}", f"{len(falling):,}"
    marks = ["1", *[""] * (height - 2), most]
    drawn = [f"{mark:>{len(most)}} ▕{line}" for mark, line in zip(marks, lines)]
    return "\n".join([*reversed(drawn), f"{'':>{len(most)}}  {'1':<{width - len(last)}}{last}"])


BLOCKS = " ▁▂▃▄▅▆▇█"
FULL = len(BLOCKS) - 1


def _label_counts(falling: np.ndarray) -> str:
    without = int((falling == 0).sum())
    return f"{len(falling):,} labels" + (f", {without:,} of them without a document" if without else "")


def _precision_by_decile(evaluation: Evaluation) -> Figure:
    figure, axes = _figure("Precision by label frequency", _whose(evaluation))
    names = [f"P@{k}" for k in _ks(evaluation.metrics, "P")]
    totals = {name: f"{name} = {evaluation.metrics[name]:.1f}" for name in names}  # what the bars of a colour add up to
    _bars(axes, {totals[name]: [at.contribution[name] for at in evaluation.by_decile] for name in names})
    axes.set(ylabel="contribution to P@k (%)")
    return figure


def _recall_by_decile(evaluation: Evaluation) -> Figure:
    figure, axes = _figure("Recall by label frequency", _whose(evaluation))
    depths = _ks(evaluation.metrics, "R")
    names = [f"R@{k}" for k in dict.fromkeys((depths[0], max(_ks(evaluation.metrics, "P")), depths[-1]))]
    found = [at.within if at.pairs else {} for at in evaluation.by_decile]
    _bars(axes, {name: [within.get(name, np.nan) for within in found] for name in names})
    axes.set(ylabel="recall within the decile (%)", ylim=(0, 100))
    return figure


def _recall_parts_by_decile(evaluation: Evaluation) -> Figure:
    figure, axes = _figure("What labels of each frequency add to recall", _whose(evaluation))
    name = f"R@{_ks(evaluation.metrics, 'R')[-1]}"
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
    if np.isfinite(index.beta):  # in a partition every edge is sure
        axes.axhline(1 / index.beta, color="#999999", linewidth=1, linestyle="--")
        told = "1/β: above it an edge is sure"
        axes.annotate(told, (1, 1 / index.beta), (0, 4), textcoords="offset points", fontsize=9)
    axes.set(xlabel="edge of a cluster, heaviest first", ylabel="normalised weight")
    axes.grid(color=FAINT, linewidth=0.8)
    return figure


def _recall_curve(evaluation: Evaluation) -> Figure:
    figure, axes = _figure("Recall by number of labels read", _whose(evaluation))
    marked = [k for k in _ks(evaluation.metrics, "R") if k in (1, 5, 10, 20, 50, 100)]
    curve = evaluation.recall_curve[: _ks(evaluation.metrics, "R")[-1]]
    axes.plot(np.arange(1, len(curve) + 1), curve, color=BLUE, linewidth=2, clip_on=False)
    for k in (k for k in marked if k <= len(curve)):
        axes.plot(k, curve[k - 1], "o", color=BLUE, markersize=5, clip_on=False)
        # Below the curve, where the line never is, unless the axis is there; the last one must stay inside.
        side, right = ("right", 2) if k == len(curve) else ("left", 6)
        offset = (right, -14 if curve[k - 1] > 8 else 6)
        axes.annotate(f"{curve[k - 1]:.1f}", (k, curve[k - 1]), offset, textcoords="offset points", ha=side, fontsize=9)
    axes.set(xlabel="labels read per document (k)", ylabel="R@k (%)", xlim=(0, len(curve)), ylim=(0, 100))
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    return figure


def _bars(axes: Axes, series: dict[str, list[float]]) -> None:
    from matplotlib import colormaps

    shades = colormaps["Blues_r"](np.linspace(0, 0.6, len(series)))  # dark to light: told apart in grey, too
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
