"""Gain of a true pair (document, label) by its rank: the table of all metrics (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from longtail.errors import ConfigError


@dataclass(frozen=True)
class Pairs:
    """True pairs (document, label) sorted by rank."""

    place: np.ndarray  # rank of the label, from 0
    size: np.ndarray  # number of true labels of its document
    weight: np.ndarray  # the label's inverse propensity
    decile: np.ndarray  # of the label, by training frequency

    @classmethod
    def of(cls, place: np.ndarray, size: np.ndarray, weight: np.ndarray, decile: np.ndarray) -> Pairs:
        """Build from pairs in any order."""
        order = np.argsort(place, kind="stable")
        return cls(place[order], size[order], weight[order], decile[order])

    def first(self, k: int) -> Pairs:
        """The pairs ranked among the first k."""
        end = np.searchsorted(self.place, k)
        return Pairs(self.place[:end], self.size[:end], self.weight[:end], self.decile[:end])


def precision(top: Pairs, k: int) -> np.ndarray:
    """1 / k, even if a document has fewer than k predictions or true labels."""
    return np.full(len(top.place), 1 / k)


def ndcg(top: Pairs, k: int) -> np.ndarray:
    """1 / log2(rank + 1), divided by the DCG of the ideal ranking."""
    best = np.minimum(top.size, k)  # true labels that could be among the first k
    ideal = np.cumsum(1 / np.log2(np.arange(2, best.max(initial=0) + 2)))
    return 1 / np.log2(top.place + 2.0) / ideal[best - 1]


def recall(top: Pairs, k: int) -> np.ndarray:
    """1 / |Y|."""
    return 1 / top.size


class Metric(NamedTuple):
    """The gain of a true pair among the first k, and the normalisation of the sum."""

    gain: Callable[[Pairs, int], np.ndarray]
    propensity: bool = False  # gains are weighted, and divided by those of the ideal ranking
    over: Literal["documents", "labels"] = "documents"  # what the mean is taken over


METRICS = {
    "P": Metric(precision),
    "nDCG": Metric(ndcg),
    "R": Metric(recall),
    "PSP": Metric(precision, propensity=True),
    "PSnDCG": Metric(ndcg, propensity=True),
    "PSR": Metric(recall, propensity=True),
    "coverage": Metric(recall, over="labels"),
}


def cut_off(metric: str) -> int:
    """The k in the name of a metric."""
    name, _, k = metric.partition("@") if isinstance(metric, str) else ("", "", "")
    if name not in METRICS or not k.isdecimal() or int(k) < 1:
        raise ConfigError(f"metric = {metric!r}: write NAME@k with one of {', '.join(METRICS)}, as in nDCG@5")
    return int(k)
