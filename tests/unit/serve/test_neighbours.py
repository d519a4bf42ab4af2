"""Labels like a label, in models of every form."""

from __future__ import annotations

import numpy as np
import pytest

from longtail import fit
from longtail.corpus import Corpus, Splits
from longtail.index.clusters import Clusters
from longtail.rankers.label_rows import LabelRows
from longtail.serve.neighbours import cluster_members, dense_similarities, nearest, of_one_cluster


def test_cosines_of_rows_are_those_of_the_labels_whatever_the_order_in_memory():
    rows = np.array([[1, 0], [0, 2], [3, 3]], np.float32)
    in_order = LabelRows(rows, np.zeros(3, np.float32))
    assert dense_similarities(in_order, 0) == pytest.approx([1, 0, 0.70711], abs=1e-5)
    clusters = Clusters(np.array([2, 0, 1], np.int32), np.array([0, 1, 3]))
    moved = LabelRows(rows[[2, 0, 1]], np.zeros(3, np.float32), clusters)
    assert dense_similarities(moved, 0) == pytest.approx([1, 0, 0.70711], abs=1e-5)


TEXTS = ["red apple", "red cherry", "green apple", "green pear", "fast car", "slow car", "fast bus", "slow bus"]
NAMES = [
    ["fruit", "apple"],
    ["fruit", "cherry"],
    ["fruit", "apple"],
    ["fruit", "pear"],
    ["car"],
    ["car"],
    ["bus"],
    ["bus"],
]


@pytest.mark.parametrize("method", ["linear", "centroid"])
def test_sparse_models_know_which_labels_are_alike(method: str):
    corpus = Corpus.of(TEXTS, NAMES)
    model = fit(method, corpus).model
    names = [label.name for label in corpus.label_set]
    similar = [names[one.label] for one in nearest(model, names.index("fruit"))]
    assert similar and similar[0] in ("apple", "cherry", "pear") and "fruit" not in similar


@pytest.mark.parametrize("method", ["linear", "decaf"])
def test_every_label_of_a_clustered_model_is_in_its_own_cluster(method: str, planted: Splits):
    settings = {} if method == "linear" else {"optim.epochs": [1]}
    model = fit(method, planted.train, labels_per_cluster=8, **settings).model
    for label in (0, 17, 59):
        members = cluster_members(model, label)
        assert members is not None and label in members and 2 <= len(members) <= 8
        others = of_one_cluster(model, label)
        assert label not in others and set(others) <= set(members.tolist()) and len(others) == len(members) - 1
        assert all(-1.01 <= one.similarity <= 1.01 for one in nearest(model, label))
