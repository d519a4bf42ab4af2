from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.config import build
from longtail.corpus import PAD, Corpus, Documents, Splits
from longtail.errors import ConfigError, CorpusError
from longtail.features.described import Described
from longtail.index.clusters import Tree
from longtail.invariants import Unsound
from longtail.methods.linear import Config, fit, need, stages
from longtail.methods.linear.model import BIAS, LENGTH, Linear, reach
from longtail.new_label import NewLabel
from longtail.sparse import rows_of
from longtail.train.run import open_run
from tests.planted import word

SMALL = {"labels_per_cluster": 5, "branching": 4}  # a tree of several levels over the planted labels


def trained(corpus: Corpus, directory: Path, **settings: object) -> Linear:
    config = build(Config, SMALL | settings)
    with open_run(directory, "linear", {}, corpus) as run:
        return fit(corpus, config, run)


@pytest.fixture(scope="module")
def model(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Linear:
    return trained(planted.train, tmp_path_factory.mktemp("run"))


def test_a_beam_that_opens_everything_finds_what_brute_force_finds(model: Linear, planted: Splits):
    features = model.bags.rows(planted.test.documents)
    (descent,) = model.descents
    belief = np.ones((len(planted.test), 1))
    for at, level in enumerate(descent.levels):
        weights = sp.csr_array((level.weights, level.nodes, level.starts), shape=(features.shape[1], len(level.biases)))
        margins = (features @ weights).toarray() + level.biases
        above = belief[:, descent.tree.parents(at + 1)]
        is_last = at == len(descent.levels) - 1
        belief = above ** (model.belief_weight if is_last else 1) * np.exp(-(np.maximum(0, 1 - margins) ** 3))
    whole = np.zeros((len(planted.test), planted.test.n_labels))
    whole[:, descent.tree.labels] = belief
    ranking = descent.rank(features, 10, 1000, model.power, model.belief_weight)
    np.testing.assert_allclose(ranking.scores, -np.sort(-whole, axis=1)[:, :10], atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(whole, ranking.labels, 1), ranking.scores, atol=1e-5)


def test_labels_hang_under_clusters_and_classifiers_are_sparse(model: Linear):
    (descent,) = model.descents
    assert descent.tree.depth > 2
    for level in descent.levels:
        assert (abs(level.weights) >= np.float32(0.1)).all()
        for feature in range(len(level.starts) - 1):
            assert (np.diff(level.nodes[level.starts[feature] : level.starts[feature + 1]]) > 0).all()


def test_a_killed_run_goes_on_to_the_same_model(planted: Splits, model: Linear, tmp_path: Path, monkeypatch):
    reached = stages.nodes_reached

    def killed(tree: Tree, levels: list, *rest: object) -> sp.csr_array:
        if levels:
            raise KeyboardInterrupt
        return reached(tree, levels, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(stages, "nodes_reached", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(planted.train, tmp_path)
    assert (tmp_path / "stages" / "tree-1-level-1").is_dir()
    one, other = (m.rank(planted.test.documents, 5) for m in (trained(planted.train, tmp_path), model))
    assert np.array_equal(one.labels, other.labels) and np.array_equal(one.scores, other.scores)


def test_several_trees_are_averaged_and_differ(planted: Splits, tmp_path: Path):
    forest = trained(planted.train, tmp_path, trees=3)
    orders = [descent.tree.labels.tolist() for descent in forest.descents]
    assert orders[0] != orders[1] != orders[2]
    features, walk = forest.bags.rows(planted.test.documents[:1]), (forest.beam, forest.power, forest.belief_weight)
    alone = [descent.rank(features, 100, *walk) for descent in forest.descents]
    best = forest.rank(planted.test.documents[:1], 1)
    mean = sum(ranking.scores[ranking.labels == best.labels[0, 0]].sum() for ranking in alone) / 3
    assert best.scores[0, 0] == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize("negatives", [0, 3])
def test_finds_planted_labels_with_either_kind_of_negatives(planted: Splits, tmp_path: Path, negatives: int):
    model = trained(planted.train, tmp_path, negatives=negatives)
    first = model.rank(planted.test.documents, 1).labels[:, 0]
    assert np.mean([planted.test.labels[row, label] for row, label in enumerate(first)]) > 0.9


def test_an_empty_text_gets_the_most_frequent_labels(planted: Splits, model: Linear):
    counts = np.bincount(planted.train.labels.indices, minlength=planted.train.n_labels)
    answer = model.rank(Documents.of([""]), 5)
    assert answer.labels[0].tolist() == np.argsort(-counts, kind="stable")[:5].tolist()
    np.testing.assert_allclose(answer.scores[0], np.sort(counts)[::-1][:5] / len(planted.train), rtol=1e-6)


def test_labels_without_documents_hang_nowhere(planted: Splits, tmp_path: Path):
    labels = planted.train.labels.toarray()
    labels[:, [3, 8]] = 0
    features = sp.csr_array(planted.train.labels.astype(np.float32))
    tree = stages.grow_tree(features, sp.csr_array(labels), 5, 4, [0])
    assert set(range(planted.train.n_labels)) - set(tree.labels.tolist()) == {3, 8}


def test_a_corpus_in_which_nothing_is_labelled_is_refused(tmp_path: Path):
    corpus = Corpus.of(["red fox", "red sea"], [["fox"], []])
    bare = Corpus(corpus.documents, sp.csr_array((2, 1), dtype=np.float32), corpus.label_set)
    with pytest.raises(CorpusError, match="carries a label"):
        trained(bare, tmp_path)


def test_more_trees_need_more(planted: Splits):
    one, three = (need(planted.train, build(Config, {"trees": trees})) for trees in (1, 3))
    assert three.parameters > 2 * one.parameters and three.disk > one.disk and three.memory > one.memory


@pytest.mark.parametrize(
    "wrong",
    [
        {"trees": 0},
        {"trees": 1_000_000},
        {"labels_per_cluster": 0},
        {"beam": 0},
        {"cost": 0},
        {"tolerance": "nan"},
        {"negatives": -1},
    ],
)
def test_impossible_settings_are_refused_by_name(wrong: dict):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        build(Config, wrong)


def with_added(model: Linear, texts: list[str]) -> tuple[Linear, np.ndarray]:
    """The model with a label for each text, and the directions of these, (labels, features)."""
    new = Described.of([NewLabel(f"new {at}", text) for at, text in enumerate(texts)], {})
    return model.with_labels(new), new.directions(model.bags.rows(new.documents)).toarray()


def test_added_labels_are_ranked_among_the_others_as_a_plain_loop_ranks_them(model: Linear, planted: Splits):
    grown, directions = with_added(model, [word(3), f"{word(17)} {word(501)}", "unknown"])
    (descent,), documents, k = model.descents, planted.test.documents, 70
    features = model.bags.rows(documents)
    _, beliefs = reach(descent.tree, descent.levels[:-1], rows_of(features), model.beam, model.power)
    old, new = model.rank(documents, k), grown.rank(documents, k)
    cosines = features @ directions.T
    for row in range(len(documents)):
        expected = [(-score, label) for label, score in zip(old.labels[row], old.scores[row]) if label != PAD]
        for at, cosine in enumerate(cosines[row].tolist()):
            margin = LENGTH * cosine + BIAS
            if cosine > 0:
                own = np.exp(-(max(0, 1 - margin) ** 3)) * beliefs[row, 0] ** model.belief_weight
                expected.append((-own, model.n_labels + at))
        expected = sorted(expected)[:k]
        found = new.labels[row] != PAD
        assert new.labels[row][found].tolist() == [label for _, label in expected]
        np.testing.assert_allclose(new.scores[row][found], [-score for score, _ in expected], rtol=1e-4)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_short_answer_is_the_beginning_of_a_long_one(model: Linear, planted: Splits, k: int):
    grown, _ = with_added(model, [word(3), word(17), word(44)])
    whole, short = grown.rank(planted.test.documents, 50), grown.rank(planted.test.documents, k)
    assert np.array_equal(whole.labels[:, :k], short.labels) and np.array_equal(whole.scores[:, :k], short.scores)


def test_labels_beside_the_tree_are_numbered_after_those_in_it(model: Linear):
    grown, _ = with_added(model, [word(3)])
    (descent,) = grown.descents
    with pytest.raises(Unsound, match="numbered like one that was added"):
        replace(descent, added=replace(descent.added, first=0)).check()
    more = replace(descent, added=replace(descent.added, first=grown.n_labels))
    with pytest.raises(Unsound, match="added"):
        replace(grown, descents=[more]).check()
