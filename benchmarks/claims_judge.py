"""Whether a claim holds: metrics document by document, a paired bootstrap over test documents, a verdict.

A metric is written NAME@k, NAME@k|3-10 for the part of it that labels of these frequency deciles earn (1: the most
frequent tenth), or as a difference of two, "PSP@5 - P@5".  P, R, nDCG and PSP of docs/metrics.md; coverage@k and costs
belong to no document and have no interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from longtail.corpus import PAD, Corpus
from longtail.judge.frequencies import Frequencies, binary_of, inverse_propensity
from longtail.judge.metrics import evaluate_ranking
from longtail.ranking import Ranking
from longtail.sparse import sp

RESAMPLES = 2000
COSTS = ("MB", "ms", "processor seconds")
# ŷ > y: ahead.  ≥: behind by less than MARGIN.  <: less, of costs.  ≈: within MARGIN of a published number.
MARGIN = 0.5


@dataclass(frozen=True)
class Judge:
    """Train and test of a corpus; train is what the models learned from, perhaps a part."""

    train: Corpus
    test: Corpus

    @cached_property
    def truth(self) -> sp.csr_array:
        """True pairs that count, (documents, labels) bool."""
        truth = binary_of(self.test.labels)
        return truth if self.test.filtered is None else binary_of(truth > binary_of(self.test.filtered).multiply(truth))

    @cached_property
    def frequencies(self) -> Frequencies:
        return Frequencies.of(self.train.labels)

    @cached_property
    def weights(self) -> np.ndarray:
        return inverse_propensity(self.frequencies, 0.55, 1.5)

    @cached_property
    def deciles(self) -> np.ndarray:
        """From 1, the most frequent."""
        return self.frequencies.deciles() + 1

    def gains(self, ranking: Ranking, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """What each test document earns, and what it could: the metric is the ratio of their sums."""
        name, k, wanted = parsed(metric)
        ranked = ranking if self.test.filtered is None else ranking.without(self.test.filtered)
        top = ranked.top(k)
        hits = top.among(self.truth) & np.isin(self.deciles[top.labels], wanted)
        sizes = np.diff(self.truth.indptr)
        if name == "P":
            return hits.sum(axis=1) / k, np.ones(len(hits))
        if name == "R":
            return hits.sum(axis=1) / np.maximum(sizes, 1), np.ones(len(hits))
        if name == "PSP":
            worth = np.where(top.labels == PAD, 0, self.weights[top.labels])
            return (hits * worth).sum(axis=1) / k, self.best(k) / k
        raise ValueError(f"{metric}: no metric of single documents")

    def best(self, k: int) -> np.ndarray:
        """The weights of each document's k rarest true labels, summed."""
        rows = np.split(self.weights[self.truth.indices], self.truth.indptr[1:-1])
        return np.array([np.sort(row)[::-1][:k].sum() for row in rows])

    def value(self, ranking: Ranking, metric: str) -> float:
        """The metric, in percent."""
        if metric.startswith("coverage"):
            k = int(metric.partition("@")[2])
            judged = evaluate_ranking(
                ranking, self.test.labels, train=self.frequencies, ks=[k], filtered=self.test.filtered
            )
            return judged.metrics[metric]
        return sum(sign * 100 * ratio(*self.gains(ranking, term)) for sign, term in terms(metric))


def ratio(earned: np.ndarray, possible: np.ndarray) -> float:
    return float(earned.sum() / possible.sum())


def terms(metric: str) -> list[tuple[int, str]]:
    """The metrics of a difference, with their signs."""
    first, minus, second = metric.partition(" - ")
    return [(1, first), (-1, second)] if minus else [(1, first)]


def parsed(metric: str) -> tuple[str, int, np.ndarray]:
    """Name, k and deciles."""
    at, _, part = metric.partition("|")
    name, _, k = at.partition("@")
    low, _, high = (part or "1-10").partition("-")
    return name, int(k), np.arange(int(low), int(high) + 1)


def interval(judge: Judge, ours: list[Ranking], theirs: list[Ranking], metric: str, published: float) -> list[float]:
    """95 % of the differences of means over seeds, in percent, when test documents are drawn again with replacement.

    Without `theirs`, the difference from the published number.
    """
    parts = []
    for sign, term in terms(metric):
        a = [judge.gains(ranking, term) for ranking in ours]
        b = [judge.gains(ranking, term)[0] for ranking in theirs]
        possible = a[0][1]
        less = np.mean(b, axis=0) if b else published / 100 * possible
        parts.append((sign, np.mean([earned for earned, _ in a], axis=0) - less, possible))
    rng, documents = np.random.default_rng(0), len(parts[0][1])
    drawn = []
    for _ in range(RESAMPLES):
        rows = rng.integers(documents, size=documents)
        drawn.append(sum(sign * 100 * ratio(gap[rows], possible[rows]) for sign, gap, possible in parts))
    return [float(each) for each in np.percentile(drawn, [2.5, 97.5])]


def verdict(expects: str, ours: list[float], theirs: list[float], between: list[float] | None) -> str:
    """In a word; `theirs` may be one published number."""
    gap = float(np.mean(ours) - np.mean(theirs))
    if expects == "≈":
        return "holds" if abs(gap) <= MARGIN else "does not hold"
    if between is None:  # costs and coverage: every seed must be on one side
        sides = {np.sign(a - b) for a in ours for b in theirs}
        side = sides.pop() if len(sides) == 1 else 0
        between = [side, side] if expects == ">" else [-side, -side]
    if expects == "≥":
        return "holds" if between[0] > -MARGIN else "does not hold" if between[1] < -MARGIN else "not shown"
    agreed = all(np.sign(a - b) == np.sign(gap) for a, b in paired(ours, theirs)) or expects == "<"
    if between[0] > 0 and agreed:
        return "holds"
    return "does not hold" if between[1] < 0 and agreed else "not shown"


def paired(ours: list[float], theirs: list[float]) -> list[tuple[float, float]]:
    """Seed with seed; one number with every seed."""
    if len(ours) == len(theirs):
        return list(zip(ours, theirs))
    return [(a, b) for a in ours for b in theirs]
