"""Output of `longtail cross-validate` and `longtail tune`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from rich.table import Table

from longtail.report.evaluation import ks_of
from longtail.report.tables import empty_table, number

if TYPE_CHECKING:
    from longtail.judge.trials import Trial

SHOWN = ("P", "nDCG", "R", "PSP", "F1", "macroF1")  # of cross-validation


def folds_table(trials: Sequence[Trial], title: str) -> Table:
    """One line per metric: the mean, the standard deviation between folds, and each fold."""
    known = trials[0].metrics
    names = [f"{name}@{k}" for name in SHOWN for k in ks_of(known, name) if f"P@{k}" in known]
    shown = empty_table(title, ["", "mean", "±", *(str(at) for at in range(1, len(trials) + 1))])
    for name in names:
        values = [trial.metrics[name] for trial in trials]
        shown.add_row(name, *map(number, (fmean(values), stdev(values), *values)))
    return shown


def folds_json(trials: Sequence[Trial]) -> dict[str, Any]:
    """The same for programs."""
    names = trials[0].metrics
    values = {name: [trial.metrics[name] for trial in trials] for name in names}
    return {
        "mean": {name: round(fmean(each), 4) for name, each in values.items()},
        "deviation": {name: round(stdev(each), 4) for name, each in values.items()},
        "folds": trials_json(trials),
    }


def trials_table(trials: Sequence[Trial], metric: str, title: str, asked: Collection[str]) -> Table:
    """One line per trial, the best first."""
    beside = [name for name in ("P@1", "nDCG@5", "PSP@5") if name != metric]
    shown = empty_table(title, [*asked, metric, *beside, "seconds"])
    for trial in trials:
        settings = [str(trial.settings.get(name, "default")) for name in asked]
        shown.add_row(*settings, *(number(trial.metrics[name]) for name in (metric, *beside)), f"{trial.seconds:.1f}")
    return shown


def trials_json(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Trials in their order."""
    return [vars(trial) for trial in trials]
