"""Clusters recalled and their labels ranked, against the same worked out in the plainest way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.index.clusters import Clusters
from longtail.rankers.clustered import Bottleneck, Clustered, Discriminator
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.learn.clustered import Heads, LearningDiscriminator

CLUSTERS = Clusters(np.array([4, 0, 2, 6, 1, 3, 5], np.int32), np.array([0, 2, 4, 7]))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def random_arrays(outputs: int, dim: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.normal(size=shape).astype(np.float32) for shape in ((outputs, dim), outputs)]


@pytest.mark.parametrize("beam", [1, 2, 3, 9])
@pytest.mark.parametrize("own", [False, True])
def test_scores_are_those_of_a_dense_product(beam: int, own: bool):
    rng = np.random.default_rng(0)
    generator, bottleneck = LabelRows(*random_arrays(3, 4, rng)), Bottleneck(*random_arrays(5, 4, rng))
    heads = Clustered(generator, Discriminator(bottleneck, LabelRows(*random_arrays(7, 5, rng), CLUSTERS)), beam)
    x = rng.normal(size=(6, 4)).astype(np.float32)
    other = rng.normal(size=(6, 4)).astype(np.float32) if own else x
    ranking = heads.rank(x, 7, other if own else None)
    belief = sigmoid(x @ heads.generator.rows.T + heads.generator.biases)
    narrow = other @ heads.discriminator.bottleneck.weights.T + heads.discriminator.bottleneck.biases
    fit = sigmoid(narrow @ heads.discriminator.labels.rows.T + heads.discriminator.labels.biases)
    for row in range(6):
        opened = np.argsort(-belief[row])[:beam]
        expected = {
            int(CLUSTERS.labels[at]): fit[row, at] * belief[row, cluster]
            for cluster in opened
            for at in range(CLUSTERS.starts[cluster], CLUSTERS.starts[cluster + 1])
        }
        best = sorted(expected, key=expected.__getitem__, reverse=True)
        assert ranking.labels[row].tolist() == best + [PAD] * (7 - len(best))
        np.testing.assert_allclose(ranking.scores[row, : len(best)], [expected[label] for label in best], rtol=1e-4)


def test_without_a_discriminator_clusters_are_labels():
    rng = np.random.default_rng(1)
    heads = Clustered(LabelRows(*random_arrays(5, 3, rng)), None, beam=1)
    x = rng.normal(size=(4, 3)).astype(np.float32)
    scores = sigmoid(x @ heads.generator.rows.T + heads.generator.biases)
    assert np.array_equal(heads.rank(x, 5).labels, np.argsort(-scores, axis=1))


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_candidates_are_the_labels_of_opened_clusters_and_the_true_ones(data: st.DataObject):
    opened = np.array(data.draw(st.lists(st.permutations(range(3)), min_size=1, max_size=4)))[
        :, : data.draw(st.integers(1, 3))
    ]
    truth = [data.draw(st.lists(st.integers(0, 6), unique=True, max_size=3)) for _ in opened]
    positives = np.array([row + [PAD] * (3 - len(row)) for row in truth])
    met = LearningDiscriminator(2, 2, CLUSTERS).candidates(opened, positives)
    for row, true in enumerate(truth):
        inside = met.shortlist[row] != PAD
        places = met.labels[met.shortlist[row][inside]]
        expected = {int(label) for cluster in opened[row] for label in CLUSTERS[cluster]} | set(true)
        assert sorted(CLUSTERS.labels[places].tolist()) == sorted(expected)
        assert set(CLUSTERS.labels[places[met.targets[row][inside] == 1]].tolist()) == set(true)


def test_only_rows_of_candidates_have_a_gradient():
    heads = Heads(2, CLUSTERS, 1, LearningDiscriminator(2, 2, CLUSTERS))
    torch.nn.init.zeros_(heads.generator.weight)
    heads.generator.bias.data = torch.tensor([0.0, 1.0, -1.0])  # opens the second cluster, labels 2 and 6
    heads.loss(torch.ones(1, 2), torch.tensor([[5, PAD]])).backward()
    gradient = heads.discriminator.labels.table.grad.coalesce()
    assert CLUSTERS.labels[gradient.indices()[0].numpy()].tolist() == [2, 6, 5]


def test_what_has_settled_scores_as_what_learned():
    torch.manual_seed(0)
    heads = Heads(4, CLUSTERS, 2, LearningDiscriminator(4, 3, CLUSTERS))
    x = torch.randn(5, 4)
    ranking = heads.export().rank(x.numpy(), 3)
    with torch.no_grad():
        belief = heads.generator(x).sigmoid()
        fit = (
            heads.discriminator.bottleneck(x) @ heads.discriminator.labels.table.T
            + heads.discriminator.labels.biases[:, 0]
        ).sigmoid()
    for row in range(5):
        place = CLUSTERS.labels.tolist().index(int(ranking.labels[row, 0]))
        expected = fit[row, place] * belief[row, CLUSTERS.of_label[ranking.labels[row, 0]]]
        assert ranking.scores[row, 0] == pytest.approx(expected.item(), rel=1e-5)
