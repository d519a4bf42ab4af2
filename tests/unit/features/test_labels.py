"""Label centroids and label texts against dense arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import Label, LabelSet, Texts
from longtail.features.labels import label_centroids, label_features, label_text_bags
from longtail.features.tfidf import Tfidf


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("kind", [np.float32, np.int64, bool])
def test_a_centroid_is_the_sum_of_the_documents_at_length_one(threads: int, kind: type):
    rng = np.random.default_rng(0)
    features = sp.random_array((40, 15), density=0.3, rng=rng, format="csr", dtype=np.float32)
    labels = (rng.random((40, 9)) < 0.2).astype(kind)
    labels[:, 4] = 0
    sums = labels.T.astype(float) @ features.toarray()
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    centroids = label_centroids(features, sp.csr_array(labels), threads)
    np.testing.assert_allclose(centroids.toarray(), sums / np.where(lengths == 0, 1, lengths), rtol=1e-5)
    assert centroids.dtype == np.float32
    assert centroids.has_sorted_indices
    assert centroids[[4]].nnz == 0


def test_labels_are_read_by_name_and_text_and_clustered_by_text_where_they_have_no_documents():
    tfidf = Tfidf.fit(Texts.of(["red fox", "blue sea"]))
    label_set = LabelSet.of([Label("1", "fox"), Label("2", "sea", "blue sea"), Label("3", "unheard of")])
    bags = label_text_bags(tfidf, label_set)
    assert (bags.toarray() > 0).tolist() == [[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]]
    centroids = label_centroids(tfidf.transform(Texts.of(["red fox"])), sp.csr_array([[1, 0, 0]]))
    combined = label_features(centroids, bags).toarray()
    assert combined[0].tolist() == centroids.toarray()[0].tolist()
    assert combined[1:].tolist() == bags.toarray()[1:].tolist()
