"""Two opinions about a shortlist: β·σ(classifier) + (1 − β)·belief."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from longtail.corpus import PAD
from longtail.kernels.fusion import fused_top
from longtail.kernels.tables import Table
from longtail.rankers.fusion import Fusion
from longtail.rankers.label_rows import LabelRows
from longtail.shortlist import Shortlist


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.fixture
def some() -> tuple[Fusion, np.ndarray, Shortlist]:
    """30 labels, 7 documents, shortlists of 12 with some padding."""
    rng = np.random.default_rng(0)
    rows, biases = rng.standard_normal((30, 8)).astype(np.float32), rng.standard_normal(30).astype(np.float32)
    labels = np.array([rng.permutation(30)[:12] for _ in range(7)], np.int32)
    labels[3, 5:], labels[4, :] = PAD, PAD
    belief = np.where(labels == PAD, 0, rng.random(labels.shape)).astype(np.float32)
    return (
        Fusion(LabelRows(rows, biases), 0.3),
        rng.standard_normal((7, 8)).astype(np.float32),
        Shortlist(labels, belief),
    )


def plainly(fusion: Fusion, document: np.ndarray, labels: np.ndarray, belief: np.ndarray, k: int) -> list[int]:
    """The same with a dictionary and a sort."""
    given = {
        label: fusion.beta * sigmoid(fusion.labels.rows[label] @ document + fusion.labels.biases[label])
        + (1 - fusion.beta) * believed
        for label, believed in zip(labels.tolist(), belief)
        if label != PAD
    }
    best = sorted(given, key=lambda label: (-given[label], label))[:k]
    return best + [PAD] * (k - len(best))


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("k", [1, 5, 20])
def test_agrees_with_a_dictionary_and_a_sort(some: tuple[Fusion, np.ndarray, Shortlist], beta: float, k: int):
    fusion, documents, shortlist = some
    fusion = dataclasses.replace(fusion, beta=beta)
    ranking = fusion.rank(documents, shortlist, k)
    for row, (document, labels, belief) in enumerate(zip(documents, shortlist.labels, shortlist.belief)):
        assert ranking.labels[row].tolist() == plainly(fusion, document, labels, belief, k)


def test_one_trusts_the_classifier_alone_and_zero_the_index_alone(some: tuple[Fusion, np.ndarray, Shortlist]):
    fusion, documents, shortlist = some
    other = Shortlist(shortlist.labels, np.where(shortlist.mask, 0.5, 0).astype(np.float32))
    clf = dataclasses.replace(fusion, beta=1.0)
    assert np.array_equal(clf.rank(documents, shortlist, 5).labels, clf.rank(documents, other, 5).labels)
    index, blind = (
        dataclasses.replace(fusion, beta=0.0),
        dataclasses.replace(fusion, beta=0.0, labels=LabelRows(-fusion.labels.rows, fusion.labels.biases)),
    )
    assert np.array_equal(index.rank(documents, shortlist, 5).labels, blind.rank(documents, shortlist, 5).labels)
    assert np.array_equal(index.rank(documents, shortlist, 1).scores[:, 0], shortlist.belief.max(axis=1))


def test_equal_scores_stand_in_label_order():
    fusion = Fusion(LabelRows(np.zeros((4, 2), np.float32), np.zeros(4, np.float32)), 0.5)
    shortlist = Shortlist(np.array([[3, 1, 2]], np.int32), np.full((1, 3), 0.5, np.float32))
    assert fusion.rank(np.ones((1, 2), np.float32), shortlist, 3).labels.tolist() == [[1, 2, 3]]


def test_the_number_of_threads_changes_nothing(some: tuple[Fusion, np.ndarray, Shortlist]):
    fusion, documents, shortlist = some
    table = Table(fusion.labels.rows, fusion.labels.biases)
    parts = table, documents, shortlist.labels, shortlist.belief, 0.3, 5
    for one, two in zip(fused_top(*parts, threads=1), fused_top(*parts, threads=3)):
        assert np.array_equal(one, two)
