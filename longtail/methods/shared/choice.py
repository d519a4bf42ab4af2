"""Choose one number, such as the weight of the index in a score, on validation documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from longtail.corpus import Corpus
from longtail.judge.frequencies import Frequencies
from longtail.judge.gains import cut_off
from longtail.judge.metrics import evaluate_ranking
from longtail.ranking import Ranking
from longtail.sparse import either, sp


@dataclass(frozen=True)
class Choice:
    """The best value, and the metrics of every value."""

    value: float
    judged: dict[float, dict[str, float]]


def choose(
    values: Sequence[float], rank: Callable[[float, int], Ranking], valid: Corpus, metric: str = "nDCG@5", *,
    train: Frequencies | None = None, hidden: sp.csr_array | None = None,
) -> Choice:  # fmt: skip
    """The first of the best values by `metric`, at k of 1, 3 or 5.

    `rank(value, k)` ranks the validation documents.  Filtered pairs of the corpus and pairs in `hidden` are excluded,
    and as many more labels are ranked.  Metrics with propensities need `train`.
    """
    filtered = either(valid.filtered, hidden)
    k = max(5, cut_off(metric)) + (0 if filtered is None else int(np.diff(filtered.indptr).max(initial=0)))
    judged = {
        value: evaluate_ranking(rank(value, k), valid.labels, train=train, filtered=filtered).metrics
        for value in values
    }
    return Choice(max(values, key=lambda value: judged[value][metric]), judged)
