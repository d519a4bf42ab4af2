"""Metrics of single labels, and F1 over all of them.

For label l and cut-off k, with T_l the documents that have l among the first k labels of their ranking, and Y_l those
that truly have it:

    precision  |T_l ∩ Y_l| / |T_l|        recall  |T_l ∩ Y_l| / |Y_l|        F1  2 |T_l ∩ Y_l| / (|T_l| + |Y_l|)

    F1@k       2 Σ_l |T_l ∩ Y_l|  /  Σ_l (|T_l| + |Y_l|): over all pairs of a document and a label
    macroF1@k  the mean of F1 over the labels that some document truly has
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from longtail.corpus import PAD
from longtail.errors import ConfigError
from longtail.judge.frequencies import binary_of
from longtail.judge.gains import METRICS, cut_off
from longtail.kernels.hits import NOWHERE, find_places
from longtail.ranking import Ranking
from longtail.sparse import sp


class LabelCounts(NamedTuple):
    """Documents by label: those that truly have it, those it was suggested for, and those for which both holds."""

    true: np.ndarray  # (labels,) int64
    suggested: np.ndarray
    right: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """In percent; NaN for labels that were never suggested."""
        return _percent(self.right, self.suggested)

    @property
    def recall(self) -> np.ndarray:
        """In percent; NaN for labels that no document truly has."""
        return _percent(self.right, self.true)

    @property
    def f1(self) -> np.ndarray:
        """In percent; NaN for labels that are neither true nor suggested."""
        return _percent(2 * self.right, self.true + self.suggested)


def label_counts(ranking: Ranking, truth: sp.csr_array, k: int) -> LabelCounts:
    """What the first k labels of a ranking are worth, label by label."""
    return _counted(ranking.labels, truth, _places(ranking, truth), k)


def f1_metrics(ranking: Ranking, truth: sp.csr_array, ks: Sequence[int]) -> dict[str, float]:
    """F1@k and macroF1@k in percent; 0 where nothing is true.

    >>> best = Ranking(np.array([[0, 1], [1, 0]], np.int32), np.array([[0.9, 0.1], [0.7, 0.6]], np.float32))
    >>> found = f1_metrics(best, sp.csr_array(np.eye(2, dtype=np.float32)), [1, 2])
    >>> {name: round(value, 2) for name, value in found.items()}
    {'F1@1': 100.0, 'F1@2': 66.67, 'macroF1@1': 100.0, 'macroF1@2': 66.67}
    """
    places = _places(ranking, truth)
    counted = {k: _counted(ranking.labels, truth, places, k) for k in ks}
    micro = {
        f"F1@{k}": float(_percent(2 * one.right.sum(), (one.true + one.suggested).sum())) for k, one in counted.items()
    }
    macro = {
        f"macroF1@{k}": float(one.f1[one.true > 0].mean()) if one.true.any() else 0.0 for k, one in counted.items()
    }
    return {name: 0.0 if np.isnan(value) else value for name, value in (micro | macro).items()}


def _places(ranking: Ranking, truth: sp.csr_array) -> np.ndarray:
    """Where in its document's ranking each true label stands, from 0, or NOWHERE."""
    true = binary_of(truth)
    places, _ = find_places(ranking.labels, true, sp.csr_array(true.shape, dtype=bool))
    return places


def _counted(labels: np.ndarray, truth: sp.csr_array, places: np.ndarray, k: int) -> LabelCounts:
    n_labels, first, true = truth.shape[1], labels[:, :k], binary_of(truth).indices
    counts = (true, first[first != PAD], true[(places != NOWHERE) & (places < k)])
    return LabelCounts(*(np.bincount(one, minlength=n_labels) for one in counts))


def _percent(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return 100 * np.true_divide(part, whole)


def metric_cut_off(metric: str) -> int:
    """The k in the name of a metric of `evaluate`, F1 among them.

    >>> metric_cut_off("macroF1@5"), metric_cut_off("nDCG@3")
    (5, 3)
    """
    name, _, k = metric.partition("@")
    if name not in (*METRICS, "F1", "macroF1"):
        names = ", ".join((*METRICS, "F1", "macroF1"))
        raise ConfigError(f"metric = {metric!r}: write NAME@k with one of {names}, as in nDCG@5")
    return cut_off(f"P@{k}") if name in ("F1", "macroF1") else cut_off(metric)
