"""One number, such as the weight of an index in a score, chosen by what ranks validation documents best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Corpus
from longtail.judge.frequencies import Frequencies
from longtail.judge.gains import cut_off
from longtail.judge.metrics import evaluate_ranking
from longtail.ranking import Ranking


@dataclass(frozen=True)
class Choice:
    """The value that ranks best, and the metrics of every value that was tried."""

    value: float
    judged: dict[float, dict[str, float]]


def choose(
    values: Sequence[float], rank: Callable[[float, int], Ranking], valid: Corpus, metric: str = "nDCG@5", *,
    train: Frequencies | None = None, hidden: sp.csr_array | None = None,
) -> Choice:  # fmt: skip
    """The first of the best values by `metric`, which is one at 1, 3 or 5.

    `rank(value, k)` ranks the validation documents.  Pairs that the corpus filters are left out, and those in
    `hidden` too; as many more labels are ranked.  Metrics with propensities need `train`.
    """
    filtered = either(valid.filtered, hidden)
    k = max(5, cut_off(metric)) + (0 if filtered is None else int(np.diff(filtered.indptr).max(initial=0)))
    judged = {
        value: evaluate_ranking(rank(value, k), valid.labels, train=train, filtered=filtered).metrics
        for value in values
    }
    return Choice(max(values, key=lambda value: judged[value][metric]), judged)


def either(one: sp.csr_array | None, other: sp.csr_array | None) -> sp.csr_array | None:
    """The pairs of both matrices."""
    if one is None or other is None:
        return other if one is None else one
    return sp.csr_array((one != 0) + (other != 0), dtype=np.float32)
