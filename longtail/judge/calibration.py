"""Calibration of scores: calibration error, the curve from scores to probabilities, and thresholds.

Scores are calibrated when, of all labels with score p, the share p is true.  Only the pairs (document, label) of a
Ranking count: labels outside it have no score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.corpus import PAD
from longtail.errors import ConfigError, CorpusError
from longtail.invariants import Array, Number, Unsound
from longtail.ranking import Ranking
from longtail.sparse import sp

N_BINS = 10


# -- calibration error ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bin:
    """Pairs of similar score."""

    pairs: int
    lowest: float
    highest: float
    score: float  # mean
    true: float  # share of true pairs


@dataclass(frozen=True)
class Reliability:
    """Bins of equal size, by rising score, and the expected calibration error over all of them."""

    k: int  # labels per document that count
    pairs: int
    ece: float  # percent
    bins: list[Bin]


def reliability(ranking: Ranking, truth: sp.csr_array, k: int, n_bins: int = N_BINS) -> Reliability:
    """Expected calibration error of the first k labels of each document, Σ_b pairs_b / pairs · |score_b − true_b|.

    Bins hold equally many pairs, except that pairs of equal score are never split between bins: their order is
    arbitrary.
    """
    top = ranking.top(k)
    ranked = top.labels != PAD
    scores, true = top.scores[ranked].astype(np.float64), top.among(truth)[ranked]
    order = np.argsort(scores, kind="stable")
    scores, true = scores[order], true[order]
    bins = [
        Bin(stop - start, float(scores[start]), float(scores[stop - 1]), float(scores[start:stop].mean()),
            float(true[start:stop].mean()))
        for start, stop in _equal_parts(scores, n_bins)
    ]  # fmt: skip
    apart = sum(one.pairs * abs(one.score - one.true) for one in bins)
    return Reliability(k, len(scores), 100 * apart / max(len(scores), 1), bins)


def _equal_parts(rising: np.ndarray, n_parts: int) -> Iterator[tuple[int, int]]:
    """Start and stop of each part; a run of equal numbers stays in the part where it begins."""
    start = 0
    for part in range(1, n_parts + 1):
        wanted = part * len(rising) // n_parts
        if wanted > start:
            stop = int(np.searchsorted(rising, rising[wanted - 1], side="right"))
            yield start, stop
            start = stop


# -- the curve from scores to probabilities -------------------------------------------------------------------------


@dataclass(frozen=True)
class Isotonic:
    """A monotone curve through (score, probability) points, linear between points and constant beyond the ends."""

    scores: Annotated[np.ndarray, Array("points", np.float64, rising=True)]
    probabilities: Annotated[np.ndarray, Array("points", np.float64, rising=True, between=(0, 1))]

    def check(self) -> None:
        """Raise Unsound unless the curve has a point."""
        if len(self.scores) == 0:
            raise Unsound("the curve has no points")

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of scores, an array of any shape."""
        return np.interp(scores, self.scores, self.probabilities)

    def calibrated(self, ranking: Ranking) -> Ranking:
        """The same labels in the same order, with probabilities as scores."""
        return ranking.rescored(self.probability(ranking.scores))


# Below 1: nothing is certain, and labels at the top of the curve need distinct scores to keep their order.
SUREST = 1 - 1e-5


def fit_isotonic(scores: np.ndarray, true: np.ndarray) -> Isotonic:
    """Least-squares isotonic regression, with linear interpolation in place of steps.

    Pool adjacent violators: in order of rising score, a group with no larger share of true pairs than the group before
    is merged with it.  Each group is one point, its mean score and its share of true pairs, and lines join the points
    (Oron and Flournoy, 2017): on a step all labels would have equal scores, which no threshold could separate.

    >>> curve = fit_isotonic(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, False, True]))
    >>> curve.probability(np.array([0.1, 0.25, 0.35])).round(3)
    array([0.   , 0.5  , 0.833])
    """
    if len(scores) == 0:
        raise CorpusError("there is no ranked label to learn probabilities from")
    rising, which = np.unique(scores, return_inverse=True)
    sizes, hits = np.bincount(which), np.bincount(which, weights=true)
    groups: list[np.ndarray] = []  # number of pairs, of true pairs, and sum of scores
    for group in np.stack([sizes, hits, sizes * rising.astype(np.float64)], axis=1):
        while groups and groups[-1][1] * group[0] >= group[1] * groups[-1][0]:
            group = groups.pop() + group
        groups.append(group)
    pairs, found, total = np.array(groups).T
    return Isotonic(total / pairs, np.minimum(found / pairs, SUREST))


def fit_curve(ranking: Ranking, truth: sp.csr_array) -> Isotonic:
    """Fit to the labels of a Ranking and the documents' true labels."""
    ranked = ranking.labels != PAD
    return fit_isotonic(ranking.scores[ranked], ranking.among(truth)[ranked])


# -- thresholds -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """The goal of a threshold: the best F1, or the best recall (precision) at a given precision (recall)."""

    measure: str
    at_least: float = 0.0  # percent

    @classmethod
    def of(cls, text: str) -> Target:
        """Parse f1, precision=0.9 or recall=0.8.

        >>> Target.of("precision=0.9")
        Target(measure='precision', at_least=90.0)
        """
        measure, equals, share = text.strip().lower().partition("=") if isinstance(text, str) else ("", "", "")
        if measure == "f1" and not equals:
            return cls(measure)
        if measure in ("precision", "recall"):
            try:
                at_least = float(share)
            except ValueError:
                at_least = float("nan")
            if 0 < at_least <= 1:
                return cls(measure, 100 * at_least)
        raise ConfigError(f"threshold {text!r}: write f1, precision=0.9 or recall=0.8, a share above 0 and at most 1")

    def __str__(self) -> str:
        return self.measure if self.measure == "f1" else f"{self.measure}={self.at_least / 100:g}"


@dataclass(frozen=True)
class Threshold:
    """A threshold and the metrics of the labels at or above it, in percent, micro-averaged over pairs."""

    value: float
    k: Annotated[int, Number(1)]  # most labels per document
    target: str
    precision: float
    recall: float
    f1: float
    labels: float  # suggested per document on average

    def __str__(self) -> str:
        reached = f"precision {self.precision:.2f}, recall {self.recall:.2f}, F1 {self.f1:.2f} %"
        return f"threshold {self.value:.4g} for {self.target}: {reached}, {self.labels:.2f} labels a document"


def choose_threshold(ranking: Ranking, truth: sp.csr_array, target: Target) -> Threshold:
    """The best threshold for the target on these documents.

    All scores of the ranking are candidates.  For a precision the lowest one that reaches it is chosen (best recall),
    for a recall the highest, and for F1 the highest of the best.  The threshold is the midpoint to the
    next lower score: equivalent here and more robust on other documents.
    """
    ranked = ranking.labels != PAD
    scores, true = ranking.scores[ranked], ranking.among(truth)[ranked]
    possible = int(np.count_nonzero(truth.data))
    if len(scores) == 0 or possible == 0:
        raise CorpusError("a threshold needs documents with true labels, and labels that are ranked for them")
    order = np.argsort(-scores, kind="stable")
    scores, found = scores[order], np.cumsum(true[order])
    ends = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)  # equal scores pass together
    given = ends + 1
    measured = _measured(found[ends], given, possible)
    at = _best(measured, target)
    kept = {name: float(values[at]) for name, values in measured.items()}
    around = scores[ends[at : at + 2]].astype(np.float64)  # the last score has no lower one
    return Threshold(float(around.mean()), ranking.k, str(target), **kept, labels=float(given[at] / len(ranking)))


def _best(measured: dict[str, np.ndarray], target: Target) -> int:
    if target.measure == "f1":
        return int(measured["f1"].argmax())
    reached = np.flatnonzero(measured[target.measure] >= target.at_least - 1e-9)
    if len(reached) == 0:
        most = measured[target.measure].max() / 100
        raise ConfigError(
            f"threshold {target}: no threshold reaches it on these documents; the best {target.measure} is {most:.4f}. "
            "Ask for less, or train a better model"
        )
    # Recall grows as the threshold falls, so the lowest has the best recall; precision need not be monotone.
    return int(reached[-1] if target.measure == "precision" else reached[0])


def reached(ranking: Ranking, truth: sp.csr_array, threshold: Threshold) -> Threshold:
    """The metrics of a given threshold on these documents."""
    kept = ranking.top(threshold.k).above(threshold.value)
    given, found = int((kept.labels != PAD).sum()), int(kept.among(truth).sum())
    counts = np.array([found]), np.array([given]), int(np.count_nonzero(truth.data))
    measured = {name: float(values[0]) for name, values in _measured(*counts).items()}
    return Threshold(threshold.value, threshold.k, threshold.target, **measured, labels=given / max(len(ranking), 1))


@dataclass(frozen=True)
class CutOffs:
    """What labels that score at least a threshold are worth, for every hundredth that any label reaches: percent."""

    thresholds: Annotated[np.ndarray, Array("cut-offs", np.float64, rising=True, between=(0, 1))]
    precision: Annotated[np.ndarray, Array("cut-offs", np.float64, between=(0, 100))]
    recall: Annotated[np.ndarray, Array("cut-offs", np.float64, between=(0, 100))]


def cut_offs(ranking: Ranking, truth: sp.csr_array) -> CutOffs:
    """Precision and recall of a ranking, micro-averaged over pairs, at the thresholds 0, 0.01, … 1."""
    ranked = ranking.labels != PAD
    scores, true = ranking.scores[ranked], ranking.among(truth)[ranked]
    thresholds = np.arange(101) / 100
    given, found = _reaching(thresholds, scores), _reaching(thresholds, scores[true])
    measured = _measured(found, given, int(np.count_nonzero(truth.data)))
    reached = given > 0
    return CutOffs(thresholds[reached], measured["precision"][reached], measured["recall"][reached])


def _reaching(thresholds: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """How many scores are no lower than each threshold."""
    return len(scores) - np.searchsorted(np.sort(scores), thresholds)


def _measured(found: np.ndarray, given: np.ndarray, possible: int) -> dict[str, np.ndarray]:
    """Precision, recall and F1 in percent from the numbers of found, given (suggested) and possible (true) pairs."""
    return {
        "precision": 100 * found / np.maximum(given, 1),
        "recall": 100 * found / max(possible, 1),
        "f1": 200 * found / np.maximum(given + possible, 1),
    }


# -- stored with a model --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calibration:
    """Calibration curve of a model, learned on validation documents, and an optional threshold."""

    curve: Isotonic
    threshold: Threshold | None = None
    cut_offs: CutOffs | None = None  # of models calibrated by an older version nothing is known


# -- validation documents used in training --------------------------------------------------------------------------


@dataclass(frozen=True)
class Tuning:
    """Documents of an official validation split that tuned a model during training.

    They are biased towards the model, so they may neither calibrate nor evaluate it (validation.py).
    """

    split: str  # fingerprint of the split
    rows: Annotated[np.ndarray, Array("documents", np.int64, rising=True)]
