"""The tree that weighs two scores by a label's frequency."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from longtail import store
from longtail.errors import MissingExtraError
from longtail.rankers.score_tree import LEAF, SMALLEST_LEAF, ScoreTree, fit_tree

# "Is the first number at most 0.5?" yes: "is the second at most 3?"; no: a leaf.
BY_HAND = ScoreTree(
    np.array([0, 1, LEAF, LEAF, LEAF], np.int32), np.array([0.5, 3, -2, -2, -2]), np.array([1, 2, 2, 3, 4], np.int32),
    np.array([4, 3, 2, 3, 4], np.int32), np.array([0.4, 0.3, 0.1, 0.2, 0.9], np.float32), depth=2,
)  # fmt: skip


def test_a_tree_leads_every_number_to_its_leaf():
    first, second = np.array([[0.5, 0.5], [0.6, 0.2]]), np.array([[3, 4], [3, 3]])
    np.testing.assert_allclose(BY_HAND.probabilities(first, second), [[0.1, 0.2], [0.9, 0.1]])


def test_our_answers_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    columns = rng.random(3000, np.float32), rng.random(3000, np.float32), rng.integers(1, 50, 3000).astype(np.float32)
    true = rng.random(3000) < columns[0] * np.minimum(1, columns[2] / 20)
    theirs = DecisionTreeClassifier(max_depth=5, min_samples_leaf=SMALLEST_LEAF, random_state=0)
    theirs.fit(np.stack(columns, axis=1), true)
    asked = rng.random((3, 40, 7), np.float32) * np.array([1, 1, 50], np.float32)[:, None, None]
    expected = theirs.predict_proba(asked.reshape(3, -1).T)[:, 1].reshape(40, 7)
    np.testing.assert_allclose(fit_tree(columns, true, 5).probabilities(*asked), expected, rtol=1e-6)


def test_a_tree_learns_that_scores_of_rare_labels_are_worth_less():
    score, count = np.tile(np.float32([0.9, 0.9]), 200), np.tile(np.float32([1, 100]), 200)
    tree = fit_tree((score, count), count > 50, 3)
    assert tree.probabilities(np.float32([0.9, 0.9]), np.float32([1, 100])).tolist() == [0, 1]


@pytest.mark.parametrize("all_of_them", [True, False])
def test_where_all_labels_were_true_or_none_the_tree_says_so(all_of_them: bool):
    tree = fit_tree((np.arange(50, dtype=np.float32),), np.full(50, all_of_them), 3)
    assert tree.probabilities(np.float32([3])).tolist() == [float(all_of_them)]


def test_a_stored_tree_is_the_same_tree(tmp_path: Path):
    store.write(tmp_path, BY_HAND)
    read = store.read(tmp_path, ScoreTree)
    first, second = np.float32([0.5, 0.6]), np.float32([4, 4])
    assert np.array_equal(read.probabilities(first, second), BY_HAND.probabilities(first, second))


def test_without_scikit_learn_the_extra_is_named_and_brings_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(MissingExtraError, match=r"longtail\[train\]"):
        fit_tree((np.zeros(50, np.float32),), np.ones(50, bool), 3)
    extras = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    brought = [part for part in extras["optional-dependencies"]["train"] if part.startswith("longtail[")]
    assert any("sklearn" in part for part in brought)
