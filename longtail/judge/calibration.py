"""Scores as probabilities: how far they are from it, the curve that mends them, and the score from which to believe.

A score is calibrated when, of all labels that score p, the share p is true.  What counts here are the pairs
(document, label) of a Ranking: labels that nobody is shown have no score to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy.sparse as sp

from longtail.corpus import PAD
from longtail.errors import ConfigError, CorpusError
from longtail.invariants import Array, Number, Unsound
from longtail.ranking import Ranking

N_BINS = 10


# -- how far scores are from probabilities --------------------------------------------------------------------------


@dataclass(frozen=True)
class Bin:
    """Pairs of like score."""

    pairs: int
    lowest: float
    highest: float
    score: float  # their mean
    true: float  # the share of them that is true


@dataclass(frozen=True)
class Reliability:
    """Bins of equally many pairs, by rising score, and how far score and truth lie apart over all of them."""

    k: int  # labels of a document that count
    pairs: int
    ece: float  # percent
    bins: list[Bin]


def reliability(ranking: Ranking, truth: sp.csr_array, k: int, n_bins: int = N_BINS) -> Reliability:
    """Expected calibration error of the first k labels of each document, Σ_b pairs_b / pairs · |score_b − true_b|.

    Bins hold equally many pairs, so that each says something; but pairs of one score are never parted, since which
    of them went where would be chance.
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
    """Where each part starts and stops; a run of equal numbers stays with the part that it begins in."""
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
    """The rising curve through (score, probability), straight between two points and level beyond the ends."""

    scores: Annotated[np.ndarray, Array("points", np.float64, rising=True)]
    probabilities: Annotated[np.ndarray, Array("points", np.float64, rising=True, between=(0, 1))]

    def check(self) -> None:
        """A curve needs a point."""
        if len(self.scores) == 0:
            raise Unsound("the curve has no points")

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Of scores in an array of any shape."""
        return np.interp(scores, self.scores, self.probabilities)

    def calibrated(self, ranking: Ranking) -> Ranking:
        """The same labels in the same order, with probabilities for scores."""
        return ranking.rescored(self.probability(ranking.scores))


# Nothing is certain; and where several labels of a document reach the top, there must be room to keep their order.
SUREST = 1 - 1e-5


def fit_isotonic(scores: np.ndarray, true: np.ndarray) -> Isotonic:
    """Of all curves that never fall the one nearest to the truth, by squares, with slopes for its steps.

    Pool adjacent violators: scores rise; as long as a group of them was true no more often than the group before, the
    two become one.  Each group is one point, its mean score and the share that was true, and lines join the points
    (Oron and Flournoy, 2017): inside a step all labels would have one score, and a threshold could not tell them apart.

    >>> curve = fit_isotonic(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, False, True]))
    >>> curve.probability(np.array([0.1, 0.25, 0.35])).round(3)
    array([0.   , 0.5  , 0.833])
    """
    if len(scores) == 0:
        raise CorpusError("there is no ranked label to learn probabilities from")
    rising, which = np.unique(scores, return_inverse=True)
    sizes, hits = np.bincount(which), np.bincount(which, weights=true)
    groups: list[np.ndarray] = []  # pairs, true pairs and the sum of scores
    for group in np.stack([sizes, hits, sizes * rising.astype(np.float64)], axis=1):
        while groups and groups[-1][1] * group[0] >= group[1] * groups[-1][0]:
            group = groups.pop() + group
        groups.append(group)
    pairs, found, total = np.array(groups).T
    return Isotonic(total / pairs, np.minimum(found / pairs, SUREST))


def fit_curve(ranking: Ranking, truth: sp.csr_array) -> Isotonic:
    """From the labels of a Ranking, and the documents' true ones."""
    ranked = ranking.labels != PAD
    return fit_isotonic(ranking.scores[ranked], ranking.among(truth)[ranked])


# -- the score from which to believe --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """What a threshold is chosen for: the best F1, or the most that can be had at this precision or recall."""

    measure: str
    at_least: float = 0.0  # percent

    @classmethod
    def of(cls, text: str) -> Target:
        """As people write it: f1, precision=0.9, recall=0.8.

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
    """A score, and what labels that score at least so much are worth: percent, micro-averaged over pairs."""

    value: float
    k: Annotated[int, Number(1)]  # labels of a document at most
    target: str
    precision: float
    recall: float
    f1: float
    labels: float  # that a document gets, on average

    def __str__(self) -> str:
        reached = f"precision {self.precision:.2f}, recall {self.recall:.2f}, F1 {self.f1:.2f} %"
        return f"threshold {self.value:.4g} for {self.target}: {reached}, {self.labels:.2f} labels a document"


def choose_threshold(ranking: Ranking, truth: sp.csr_array, target: Target) -> Threshold:
    """The threshold that serves the target best on these documents; where several do, the one that lets fewest pass.

    Every score of the ranking is tried.  For a precision it is the one that finds most, for a recall the one that
    errs least.  The threshold lies half way to the next score below, which is as good here and safer elsewhere.
    """
    ranked = ranking.labels != PAD
    scores, true = ranking.scores[ranked], ranking.among(truth)[ranked]
    possible = int(np.count_nonzero(truth.data))
    if len(scores) == 0 or possible == 0:
        raise CorpusError("a threshold needs documents with true labels, and labels that are ranked for them")
    order = np.argsort(-scores, kind="stable")
    scores, found = scores[order], np.cumsum(true[order])
    ends = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)  # of equal scores all pass, or none
    given = ends + 1
    measured = _measured(found[ends], given, possible)
    at = _best(measured, target)
    kept = {name: float(values[at]) for name, values in measured.items()}
    around = scores[ends[at : at + 2]].astype(np.float64)  # the last score has none below
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
    # Recall grows as the threshold falls, precision need not: the lowest threshold finds most, the highest errs least.
    return int(reached[-1] if target.measure == "precision" else reached[0])


def reached(ranking: Ranking, truth: sp.csr_array, threshold: Threshold) -> Threshold:
    """What a threshold that was chosen elsewhere is worth on these documents."""
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
    """Precision, recall and F1 in percent, of so many pairs found among so many given and so many possible."""
    return {
        "precision": 100 * found / np.maximum(given, 1),
        "recall": 100 * found / max(possible, 1),
        "f1": 200 * found / np.maximum(given + possible, 1),
    }


# -- both, as a model keeps them ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calibration:
    """What was learned about a model's scores on validation documents."""

    curve: Isotonic
    threshold: Threshold | None = None
    cut_offs: CutOffs | None = None  # of models calibrated by an older version nothing is known


# -- what a training may have chosen already ------------------------------------------------------------------------


@dataclass(frozen=True)
class Tuning:
    """Documents of an official validation split that chose something of a model while it was trained.

    They know the model too well to choose more of it, or to judge it (validation.py).
    """

    split: str  # its fingerprint
    rows: Annotated[np.ndarray, Array("documents", np.int64, rising=True)]
