"""Label centroids and label texts against dense arithmetic."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import Label, LabelSet, Texts
from longtail.features.labels import (
    SLICE,
    centroid_bytes,
    heaviest,
    label_centroids,
    label_features,
    label_text_bags,
    slices,
    widest,
)
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


# -- bounded memory ----------------------------------------------------------------------------------------------------


def zipf_pair(documents: int, n_labels: int, rng: np.random.Generator) -> tuple[sp.csr_array, sp.csr_array]:
    """Documents of 30 features of 2,000, and 5 labels each, some labels far more frequent."""
    columns = (2000 * rng.random((documents, 30)) ** 2).astype(np.int32)
    features = sp.csr_array((np.ones(columns.size, np.float32), columns.ravel(), np.arange(documents + 1) * 30))
    features.resize((documents, 2000))
    features.sum_duplicates()
    of = (n_labels * rng.random((documents, 5)) ** 3).astype(np.int32)
    labels = sp.csr_array((np.ones(of.size, np.float32), of.ravel(), np.arange(documents + 1) * 5))
    labels.resize((documents, n_labels))
    labels.sum_duplicates()
    labels.data[:] = 1
    return features, labels


@pytest.mark.parametrize("most", [3000, 10_000, 30_000])
def test_with_a_limit_frequent_labels_keep_their_heaviest_entries_and_rare_ones_all(most: int):
    features, labels = zipf_pair(600, 200, np.random.default_rng(1))
    whole, cut = label_centroids(features, labels), label_centroids(features, labels, most=most)
    assert cut.nnz <= most < whole.nnz
    width = np.diff(cut.indptr).max()
    for at in range(200):
        row, kept = whole[[at]].toarray()[0], cut[[at]].toarray()[0]
        expected = np.where(np.argsort(np.argsort(-row, kind="stable"), kind="stable") < width, row, 0)
        np.testing.assert_allclose(kept, expected / max(np.linalg.norm(expected), 1e-9), rtol=1e-5)


def test_a_limit_that_is_not_reached_changes_nothing():
    features, labels = zipf_pair(300, 100, np.random.default_rng(2))
    whole, same = label_centroids(features, labels), label_centroids(features, labels, most=10**9)
    for one, other in zip((whole.data, whole.indices, whole.indptr), (same.data, same.indices, same.indptr)):
        np.testing.assert_array_equal(one, other)


def test_the_widest_row_is_as_wide_as_the_limit_allows():
    rng = np.random.default_rng(3)
    for _ in range(50):
        expected, most = rng.integers(0, 1000, 40), int(rng.integers(40, 20_000))
        width = widest(expected, most)
        if width is None:
            assert expected.sum() <= most
        else:
            assert np.minimum(expected, width).sum() <= most < np.minimum(expected, width + 1).sum()


def test_of_equal_entries_the_first_are_kept():
    rows = heaviest(sp.csr_array(np.array([[1, 1, 1, 1], [0, 2, 0, 1]], np.float32)), 2)
    assert (rows.toarray() > 0).tolist() == [[1, 1, 0, 0], [0, 1, 0, 1]]


def test_slices_hold_few_labels_and_few_entries_and_miss_none():
    expected = np.array([700_000, 700_000, 3_000_000, *[10] * (2 * SLICE)])
    found = list(slices(expected))
    assert [at for bounds in found for at in range(*bounds)] == list(range(len(expected)))
    assert all(stop - start <= SLICE for start, stop in found)
    assert [bounds for bounds in found if expected[slice(*bounds)].sum() > 1_000_000] == [(2, 3)]


def test_centroids_are_never_in_memory_as_they_would_be_without_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.features.labels.SLICE_ENTRIES", 20_000)
    features, labels = zipf_pair(20_000, 2000, np.random.default_rng(4))
    whole, most = label_centroids(features, labels).nnz, 50_000

    def peak(limit: int | None) -> int:
        tracemalloc.start()
        try:
            label_centroids(features, labels, threads=1, most=limit)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # What a slice needs is in both; beyond it there are 8 bytes an entry, twice while parts are put together.
    assert peak(None) - peak(most) > 8 * (whole - most)


def test_memory_announced_for_centroids_covers_what_they_take():
    features, labels = zipf_pair(5000, 500, np.random.default_rng(5))
    assert centroid_bytes(features.nnz, 5000, labels.nnz) >= 8 * label_centroids(features, labels).nnz
    assert centroid_bytes(10**12, 10**6, 10**7) == 16 * 250_000_000
