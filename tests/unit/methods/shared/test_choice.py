"""A number is chosen by what ranks validation documents best, and by nothing that evaluation leaves out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, LabelSet
from longtail.judge.metrics import Frequencies
from longtail.methods.shared.choice import choose, either
from longtail.ranking import Ranking

ORDERS = {0.0: [2, 0, 1], 0.5: [0, 2, 1], 1.0: [0, 1, 2]}
VALID = Corpus(Documents.of(["a"]), sp.csr_array([[1.0, 0, 0, 0, 0, 0, 0, 0]]), LabelSet.of("abcdefgh"), "valid")


def rank(value: float, k: int) -> Ranking:
    labels = np.array([ORDERS[value]], np.int32)
    return Ranking(labels, np.array([[0.9, 0.8, 0.7]], np.float32))


def test_of_equally_good_values_the_first_is_chosen():
    chosen = choose(list(ORDERS), rank, VALID, "P@1")
    assert chosen.value == 0.5 and list(chosen.judged) == list(ORDERS)
    assert [metrics["P@1"] for metrics in chosen.judged.values()] == [0, 100, 100]


def pairs(*labels: int) -> sp.csr_array:
    return sp.csr_array((np.ones(len(labels)), ([0] * len(labels), labels)), shape=(1, 8))


@pytest.mark.parametrize("filtered", [pairs(2), None])
@pytest.mark.parametrize("hidden", [pairs(2), None])
def test_filtered_and_hidden_pairs_are_left_out(filtered: sp.csr_array | None, hidden: sp.csr_array | None):
    chosen = choose(list(ORDERS), rank, replace(VALID, filtered=filtered), hidden=hidden)
    assert chosen.value == (0.5 if filtered is None and hidden is None else 0.0)


def test_so_many_more_labels_are_ranked_as_may_be_left_out():
    asked = []

    def noted(value: float, k: int) -> Ranking:
        asked.append(k)
        return rank(value, k)

    choose([0.0], noted, VALID)
    choose([0.0], noted, replace(VALID, filtered=pairs(1, 2)), hidden=pairs(2, 3))
    assert asked == [5, 8]


def test_metrics_with_propensities_know_how_frequent_labels_are():
    chosen = choose(list(ORDERS), rank, VALID, "PSP@1", train=Frequencies.of(VALID.labels))
    assert chosen.value == 0.5


def test_pairs_of_either_matrix_are_in_both():
    assert either(None, None) is None
    assert either(pairs(1), None).toarray().tolist() == either(None, pairs(1)).toarray().tolist()
    assert either(pairs(1, 2), pairs(2, 3)).toarray().tolist() == [[0, 1, 1, 1, 0, 0, 0, 0]]
