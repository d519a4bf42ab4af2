"""What a score is made of: how much each word of a text adds to the logits of labels, and which clusters proposed them.

Models return these numbers; `predict/explain.py` makes an Explanation with names of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
        added = self.bias + biases, self.logits + biases
        return Contributions(self.starts, self.stops, self.values, *added, self.approximate)

    def scaled(self, factor: float) -> Contributions:
        """Everything times a number."""
        parts = self.values * factor, self.bias * factor, self.logits * factor
        return Contributions(self.starts, self.stops, *parts, self.approximate)


def mixed(parts: Sequence[Contributions], weights: Sequence[float]) -> Contributions:
    """The weighted sum of several contributions to the same labels; a word that several of them have is one.

    >>> one = Contributions(np.array([0]), np.array([3]), np.array([[2.0]]), np.array([1.0]), np.array([3.0]))
    >>> mixed([one, one], [0.25, 0.5]).values
    array([[1.5]])
    """
    if len(parts) == 1:
        return parts[0].scaled(weights[0])
    own = [part.starts.astype(np.int64) << 32 | part.stops for part in parts]  # rising, as words do
    places = own[0]
    for words in own[1:]:
        places = places if _all_among(words, places) else np.union1d(places, words)
    labels = len(parts[0].bias)
    values, bias, logits = np.zeros((labels, len(places))), np.zeros(labels), np.zeros(labels)
    for part, weight, words in zip(parts, weights, own):
        values[:, places.searchsorted(words)] += weight * part.values
        bias += weight * part.bias
        logits += weight * part.logits
    starts, stops = places >> 32, places & 0xFFFFFFFF
    return Contributions(starts, stops, values, bias, logits, any(part.approximate for part in parts))


def _all_among(some: np.ndarray, places: np.ndarray) -> bool:
    """Whether all of these are among the places, both rising, as words are among words and their pieces."""
    if len(some) == 0 or len(places) == 0 or some[-1] > places[-1]:
        return len(some) == 0
    return bool((places[places.searchsorted(some)] == some).all())


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
    # Of the label at a place, the most believed first; of a tree, from the root down.  What clusters hold is looked up
    # when it is called, and their beliefs are known before.
    proposals: Callable[[int], list[Proposal]]


def nothing_proposed(words: Contributions) -> Reasons:
    """Empty proposals, for a model without clusters."""
    return Reasons(words, lambda at: [])


def average_of(parts: Sequence[Reasons], weights: Sequence[float]) -> Reasons:
    """Weighted sums of the words' contributions, and the proposals of all one after the other; weights add up to 1."""
    if len(parts) == 1:
        return parts[0]

    def proposals(at: int) -> list[Proposal]:
        return list(chain.from_iterable(part.proposals(at) for part in parts))

    return Reasons(mixed([part.words for part in parts], weights), proposals)
