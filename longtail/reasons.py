"""What a score is made of: how much each word of a text adds to the logits of labels, and which clusters proposed them.

Models return these numbers; `predict/explain.py` makes an Explanation with names of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Contributions:
    """What each word of one text adds to the logits of some labels.

    Where they are exact, the values of a label and its bias add up to its logit.
    """

    starts: np.ndarray  # (words,) where each word begins in the text, in characters, rising
    stops: np.ndarray  # (words,) and where it ends
    values: np.ndarray  # (labels, words) float64
    bias: np.ndarray  # (labels,) what no word adds
    logits: np.ndarray  # (labels,) as the model computes them
    approximate: bool = False

    def with_bias(self, biases: np.ndarray) -> Contributions:
        """With a bias added for each label."""
        return replace(self, bias=self.bias + biases, logits=self.logits + biases)

    def scaled(self, factor: float) -> Contributions:
        """Everything times a number."""
        parts = self.values * factor, self.bias * factor, self.logits * factor
        return replace(self, values=parts[0], bias=parts[1], logits=parts[2])


def mixed(parts: Sequence[Contributions], weights: Sequence[float]) -> Contributions:
    """The weighted sum of several contributions to the same labels; a word that several of them have is one.

    >>> one = Contributions(np.array([0]), np.array([3]), np.array([[2.0]]), np.array([1.0]), np.array([3.0]))
    >>> mixed([one, one], [0.25, 0.5]).values
    array([[1.5]])
    """
    if len(parts) == 1:
        return parts[0].scaled(weights[0])
    places = sorted({place for part in parts for place in zip(part.starts.tolist(), part.stops.tolist())})
    at = {place: word for word, place in enumerate(places)}
    values = np.zeros((len(parts[0].bias), len(places)))
    for part, weight in zip(parts, weights):
        words = [at[place] for place in zip(part.starts.tolist(), part.stops.tolist())]
        values[:, words] += weight * part.values
    bias = np.sum([weight * part.bias for part, weight in zip(parts, weights)], axis=0)
    logits = np.sum([weight * part.logits for part, weight in zip(parts, weights)], axis=0)
    starts, stops = np.array(places, np.int64).reshape(-1, 2).T
    return Contributions(starts, stops, values, bias, logits, any(part.approximate for part in parts))


class Proposal(NamedTuple):
    """A cluster that proposed a label."""

    cluster: int
    belief: float
    labels: np.ndarray  # some of those that the cluster has


NAMED = 3  # labels of a cluster that an explanation names
FEW = 3  # clusters of a label that it has, the most believed ones


@dataclass(frozen=True)
class Reasons:
    """Why a model scores some labels of one text as it does."""

    words: Contributions
    proposals: list[list[Proposal]]  # of each label, the most believed first; of a tree, from the root down


def nothing_proposed(words: Contributions) -> Reasons:
    """Empty proposals, for a model without clusters."""
    return Reasons(words, [[] for _ in words.bias])


def average_of(parts: Sequence[Reasons], weights: Sequence[float]) -> Reasons:
    """Weighted sums of the words' contributions, and the proposals of all one after the other; weights add up to 1."""
    if len(parts) == 1:
        return parts[0]
    proposals = [list(chain.from_iterable(found)) for found in zip(*(part.proposals for part in parts))]
    return Reasons(mixed([part.words for part in parts], weights), proposals)
