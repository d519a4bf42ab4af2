"""Deciles and propensities, from how often training saw each label."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longtail.errors import ConfigError, CorpusError
from longtail.judge.frequencies import Frequencies, inverse_propensity


def counted(counts: list[int], documents: int) -> Frequencies:
    return Frequencies(np.array(counts), documents)


def test_a_label_that_training_never_saw_has_the_largest_weight():
    c = (math.log(100) - 1) * 2.5**0.55
    weights = inverse_propensity(counted([7, 0], 100), 0.55, 1.5)
    assert weights == pytest.approx([1 + c * 8.5**-0.55, 1 + c * 1.5**-0.55])


def test_deciles_hold_equally_many_labels_the_most_frequent_first_and_ties_by_index():
    counts = [0, 9, 9, 5, 5, 5, 1, 0, 7, 8, 0, 2, 2, 3, 3, 4, 4, 6, 0, 1]
    decile = counted(counts, 30).deciles()
    assert [np.flatnonzero(decile == at).tolist() for at in range(10)] == [
        [1, 2], [8, 9], [3, 17], [4, 5], [15, 16], [13, 14], [11, 12], [6, 19], [0, 7], [10, 18],
    ]  # fmt: skip


@pytest.mark.parametrize("n_labels", [1, 3, 10, 11, 99])
def test_any_number_of_labels_fits_into_ten_deciles(n_labels: int):
    sizes = np.bincount(counted([1] * n_labels, 5).deciles(), minlength=10)
    assert len(sizes) == 10 and sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(("a", "b"), [(-1, 1.5), (0.55, 0), (0.55, -1), (math.nan, 1.5), (0.55, math.inf)])
def test_impossible_propensity_constants_are_refused(a: float, b: float):
    with pytest.raises(ConfigError, match="propensity constants"):
        inverse_propensity(counted([1], 5), a, b)


def test_propensities_need_training_documents():
    with pytest.raises(CorpusError, match="there are none"):
        inverse_propensity(counted([0], 0), 0.55, 1.5)
