"""Where labels and clusters start when their texts are read before anything learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from longtail.encoders.label_texts import SURE
from longtail.index.clusters import Clusters
from longtail.rankers.label_start import LabelStart, start_from_texts
from longtail.rankers.learn.clustered import Heads, LearningDiscriminator

CLUSTERS = Clusters(np.array([2, 0, 1, 3], np.int32), np.array([0, 2, 4]))  # {2, 0}, {1, 3}
VECTORS = np.array([[3, 1], [-1, 1], [3, 1], [-1, 1]], np.float32)  # mean (1, 1): ±(2, 0) around it
ALL = np.ones(4, bool)


def batches(*parts: list[int]):
    return ((np.array(part), VECTORS[part]) for part in parts)


def test_a_row_points_where_its_text_does_and_its_own_text_gives_it_s():
    """(2, 0) has the mean length 2, so a row is (s/2, 0), and with the centred vector of its text s."""
    start = start_from_texts(batches([3, 1], [0, 2]), ALL, CLUSTERS)
    np.testing.assert_allclose(start.labels, np.array([[1, 0], [1, 0], [-1, 0], [-1, 0]]) * SURE / 2, atol=1e-6)
    np.testing.assert_allclose((start.labels * (VECTORS[CLUSTERS.labels] - 1)).sum(axis=1), SURE, rtol=1e-6)


def test_a_cluster_starts_at_the_mean_of_its_labels():
    start = start_from_texts(batches([0, 1, 2, 3]), ALL, CLUSTERS)
    np.testing.assert_allclose(start.clusters, [[SURE / 2, 0], [-SURE / 2, 0]], atol=1e-6)


def test_behind_a_bottleneck_rows_are_as_long_as_its_view_of_texts():
    """W = (½, 0): texts are seen at ±1, so rows are ±s."""
    start = start_from_texts(batches([0, 1, 2, 3]), ALL, CLUSTERS, np.array([[0.5, 0]], np.float32))
    np.testing.assert_allclose(start.labels[:, 0], [SURE, SURE, -SURE, -SURE], rtol=1e-6)
    assert start.clusters.shape == (2, 2)


def test_a_label_without_a_text_takes_no_part():
    """Label 3 says nothing, whatever vector an empty text has: mean (5/3, 1), and its own row is 0."""
    told = np.array([True, True, True, False])
    wild = np.where(told[:, None], VECTORS, 1e3).astype(np.float32)
    start = start_from_texts([(np.arange(4), wild)], told, CLUSTERS)
    assert start.labels[3].tolist() == [0, 0] and np.abs(start.labels[:3, 0]).min() > 0
    np.testing.assert_allclose(start.clusters[1], [-SURE / np.sqrt(32 / 9), 0], rtol=1e-5)


@pytest.mark.parametrize("told", [ALL, ~ALL])
def test_texts_that_all_say_the_same_or_nothing_start_nothing(told: np.ndarray):
    same = np.ones((4, 2), np.float32)
    start = start_from_texts([(np.arange(4), same)], told, CLUSTERS)
    assert not start.labels.any() and not start.clusters.any()


def test_heads_keep_what_was_drawn_for_labels_without_a_text():
    heads = Heads(2, CLUSTERS, 1, LearningDiscriminator(2, 3, CLUSTERS))
    drawn = heads.discriminator.labels.table.detach().clone()
    rows = np.zeros((4, 3), np.float32)
    rows[1] = 7
    heads.start(LabelStart(rows, np.full((2, 2), 9, np.float32)))
    torch.testing.assert_close(heads.discriminator.labels.table.detach()[[0, 2, 3]], drawn[[0, 2, 3]])
    assert (heads.discriminator.labels.table[1] == 7).all() and (heads.generator.weight == 9).all()
