"""Output of `longtail evaluate` and `longtail calibrate`: metrics, deciles, and calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from longtail.report.tables import empty_table, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longtail.judge.calibration import Bin, Reliability
    from longtail.judge.metrics import Decile, Evaluation


def table(evaluation: Evaluation, title: str) -> Group:
    """All metrics at every k, and below them metrics by label frequency; in percent."""
    parts = [metrics_table(evaluation.metrics, title)]
    if evaluation.by_decile:
        parts.append(decile_table(evaluation.by_decile))
    return Group(*parts)


def scores_report(evaluation: Evaluation) -> Group:
    """Calibration of the scores, and metrics of the model's own threshold, if it has one."""
    parts: list[RenderableType] = []
    if evaluation.reliability is not None:
        parts.append(reliability_table(evaluation.reliability))
    if evaluation.threshold is not None:
        parts.append(Text(str(evaluation.threshold)))
    return Group(*parts)


def metrics_table(metrics: dict[str, float], title: str) -> Table:
    """One line per metric, one column per k."""
    ks = sorted({k for name in _names(metrics) for k in ks_of(metrics, name)})
    shown = empty_table(title, ["", *(f"@{k}" for k in ks)])
    for name in _names(metrics):
        shown.add_row(name, *(number(metrics.get(f"{name}@{k}")) for k in ks))
    return shown


def change_table(before: dict[str, float], after: dict[str, float], title: str) -> Table:
    """P and PSP of two models at every k, and how far the second is from the first."""
    names = [f"{name}@{k}" for name in ("P", "PSP") for k in ks_of(before, name)]
    shown = empty_table(title, ["", *names])
    for row, metrics in (("before", before), ("after", after)):
        shown.add_row(row, *(number(metrics[name]) for name in names))
    shown.add_row("change", *(f"{after[name] - before[name]:+.2f}" for name in names))
    return shown


def decile_table(deciles: Sequence[Decile]) -> Table:
    """One line per decile: its contribution to precision, and the recall of its own true labels."""
    known = deciles[0].contribution
    first, last, deepest = ks_of(known, "P")[0], ks_of(known, "P")[-1], ks_of(known, "R")[-1]
    parts = list(dict.fromkeys([f"P@{first}", f"P@{last}"]))
    own = list(dict.fromkeys([f"R@{last}", f"R@{deepest}", f"PSP@{last}"]))
    head = ["decile", "training\ndocuments", "true\npairs"]
    head += [f"part of\n{name}" for name in parts] + [f"within:\n{name}" for name in own]
    shown = empty_table(f"By label frequency, {deciles[0].labels:,} labels a decile, the most frequent first, %", head)
    for at in deciles:
        about = [str(at.decile), f"{at.least_frequent:,}–{at.most_frequent:,}", f"{at.pairs:,}"]
        shares = [number(at.contribution[name]) for name in parts]
        shown.add_row(*about, *shares, *(number(at.within[name] if at.pairs else None) for name in own))
    return shown


def reliability_table(judged: Reliability) -> Table:
    """One line per bin: mean score and share of true pairs."""
    title = f"Scores as probabilities: ECE@{judged.k} {judged.ece:.2f} %"
    shown = empty_table(title, ["scores", "pairs", "mean score, %", "true, %"])
    for one in judged.bins:
        shown.add_row(_range(one), f"{one.pairs:,}", number(100 * one.score), number(100 * one.true))
    return shown


def calibration_table(before: Reliability, after: Reliability, title: str) -> Group:
    """Output of `longtail calibrate`: calibration error before and after."""
    change = f"ECE@{before.k}: {before.ece:.2f} % before, {after.ece:.2f} % after"
    judged = "by a curve that did not see the documents"
    return Group(Text(title, style="bold"), reliability_table(after), Text(f"{change}, {judged}"))


def _range(one: Bin) -> str:
    return f"{one.lowest:.4f}–{one.highest:.4f}"


def _names(metrics: dict[str, float]) -> list[str]:
    return list(dict.fromkeys(name.partition("@")[0] for name in metrics))


def ks_of(metrics: dict[str, float], name: str) -> list[int]:
    """The cut-offs k of a metric, sorted."""
    return sorted(int(known.partition("@")[2]) for known in metrics if known.partition("@")[0] == name)
