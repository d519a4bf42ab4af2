"""Combine several rankings of the same documents by the weighted mean of their scores, and choose the weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from longtail.corpus import PAD
from longtail.errors import ConfigError, RankingError
from longtail.ranking import Ranking
from longtail.sparse import sp

ROWS_AT_ONCE = 1 << 14  # bounds temporary memory


def average(rankings: Sequence[Ranking], weights: Sequence[float] | None = None, k: int | None = None) -> Ranking:
    """The k labels (default: the width of the widest ranking) with the best mean score; an unranked label scores 0.

    >>> one = Ranking(np.array([[4, 7]], np.int32), np.array([[0.9, 0.2]], np.float32))
    >>> other = Ranking(np.array([[7, 5]], np.int32), np.array([[0.8, 0.6]], np.float32))
    >>> average([one, other]).labels, average([one, other], k=3).scores
    (array([[7, 4]], dtype=int32), array([[0.5 , 0.45, 0.3 ]], dtype=float32))
    """
    _check(rankings)
    parts = shares(weights, len(rankings))
    k = max(ranking.k for ranking in rankings) if k is None else k
    starts = range(0, max(len(rankings[0]), 1), ROWS_AT_ONCE)  # at least one part, even if empty
    return Ranking.joined(_average(rankings, parts, k, slice(start, start + ROWS_AT_ONCE)) for start in starts)


def choose_weights(
    rankings: Sequence[Ranking], worth: Callable[[Ranking], float], k: int
) -> tuple[tuple[float, ...], float]:
    """The weights that maximise the metric, and its value; never worse than equal weights.

    Coordinate ascent: for each ranking in turn, every share of a grid is evaluated while the others keep their
    proportions, until nothing improves.  For two rankings this is a full grid search.  Deterministic.
    """
    _check(rankings)
    weights = np.full(len(rankings), 1 / len(rankings))
    best = worth(average(rankings, weights.tolist(), k))
    for _ in range(MOST_ROUNDS if len(rankings) > 1 else 0):
        before = best
        for member in range(len(rankings)):
            nearest_first = SHARES[np.argsort(np.abs(SHARES - weights[member]), kind="stable")]  # ties: the mildest
            for tried in [_with_share(weights, member, share) for share in nearest_first]:
                value = worth(average(rankings, tried.tolist(), k))
                if value > best + 1e-9:
                    weights, best = tried, value
        if best == before:
            break
    return tuple(weights.tolist()), best


SHARES = np.arange(21) / 20
MOST_ROUNDS = 10  # usually three or four


def _with_share(weights: np.ndarray, member: int, share: float) -> np.ndarray:
    """Weights with this share for one ranking; the others split the rest in proportion, or equally if all were 0."""
    others = np.where(np.arange(len(weights)) == member, 0, weights)
    if others.sum() == 0:
        others = np.where(np.arange(len(weights)) == member, 0.0, 1.0)
    changed = others / others.sum() * (1 - share)
    changed[member] = share
    return changed


def _average(rankings: Sequence[Ranking], parts: np.ndarray, k: int, rows: slice) -> Ranking:
    labels = np.hstack([ranking.labels[rows] for ranking in rankings])
    scores = np.hstack([ranking.scores[rows] * part for ranking, part in zip(rankings, parts)])
    ranked = labels != PAD
    starts = np.concatenate([[0], np.cumsum(ranked.sum(axis=1))])
    width = int(labels.max(initial=0)) + 1
    # Adding matrices would drop labels with score exactly 0; summing duplicates keeps them.
    total = sp.csr_array((scores[ranked], labels[ranked], starts), shape=(len(labels), width))
    total.sum_duplicates()
    return Ranking.of_scores(total, k)


def shares(weights: Sequence[float] | None, members: int, what: str = "rankings") -> np.ndarray:
    """Weights normalised to sum 1, (members,) float64; equal by default."""
    try:
        given = np.ones(members) if weights is None else np.asarray(weights)
        fit = given.shape == (members,) and given.dtype.kind in "fiub" and (given >= 0).all()
        total = sum(given.tolist()) if fit else 0.0
    except ValueError:  # lists of different length
        total = 0.0
    if not 0 < total < np.inf:
        raise ConfigError(
            f"{members} {what} need as many weights: numbers, none negative and not all zero; got {weights!r:.60}"
        )
    return given.astype(np.float64) / total


def _check(rankings: Sequence[Ranking]) -> None:
    if not rankings:
        raise ConfigError("a mean needs at least one ranking")
    lengths = [len(ranking) for ranking in rankings]
    if len(set(lengths)) > 1:
        raise RankingError(f"rankings of the same documents have the same length; these have {lengths} rows")
