"""Label features: the centroid of a label's documents, or its text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from longtail.corpus import LabelSet
from longtail.features.bags import of_unit_length
from longtail.features.tfidf import Tfidf
from longtail.kernels.threads import in_order
from longtail.progress import counting
from longtail.sparse import sp


def label_centroids(
    features: sp.csr_array, labels: sp.csr_array, threads: int | None = None, most: int | None = None
) -> sp.csr_array:
    """(labels, features): each label's documents summed, length 1; a label without documents has an empty row.

    Yᵀ X, rows normalised, for features X (documents, features) and labels Y (documents, labels).  With at most so
    many entries in all: then frequent labels, which have the most, keep their heaviest (`widest`).
    """
    by_label = sp.csr_array(labels.T, dtype=np.float32)
    expected = np.minimum(by_label @ np.diff(features.indptr), features.shape[1])
    width = widest(expected, most)

    def part(bounds: tuple[int, int]) -> sp.csr_array:
        return heaviest(of_unit_length(by_label[bounds[0] : bounds[1]] @ features), width)

    with counting(by_label.shape[0], "computing centroids") as done:
        found = []
        for rows in in_order(part, slices(expected), threads):
            found.append(rows)
            done(rows.shape[0])
    return stacked(found, features.shape[1])


SLICE = 4096  # labels whose documents are summed at a time, at most
SLICE_ENTRIES = 1_000_000  # entries of their sums, at most, unless one label has more
MOST = 250_000_000  # entries of all centroids that labels are clustered by: 2 GB


def slices(expected: np.ndarray) -> Iterator[tuple[int, int]]:
    """Runs of labels of at most SLICE labels and SLICE_ENTRIES expected entries."""
    ends, start = np.cumsum(expected), 0
    while start < len(expected):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + SLICE_ENTRIES, side="right"))
        stop = min(max(stop, start + 1), start + SLICE)
        yield start, stop
        start = stop


def widest(expected: np.ndarray, most: int | None) -> int | None:
    """How many entries a row may keep, so that all rows together have at most `most`; none if they have anyway.

    >>> widest(np.array([1, 2, 100, 50]), 23)
    10
    """
    if most is None or expected.sum() <= most:
        return None
    sizes = np.sort(expected)
    whole = np.cumsum(sizes) - sizes  # entries of the rows before, all of them kept
    fits = (most - whole) // (len(sizes) - np.arange(len(sizes)))  # for the others, of equal width
    return max(1, int(fits[np.flatnonzero(fits < sizes)[0]]))


def heaviest(rows: sp.csr_array, width: int | None) -> sp.csr_array:
    """Rows with at most `width` entries, the largest, of length 1 again; of equal ones the first."""
    lengths = np.diff(rows.indptr)
    if width is None or lengths.max(initial=0) <= width:
        return rows
    of = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-rows.data, of))  # stable: every row's entries, the largest first
    kept = np.sort(order[np.arange(len(order)) - rows.indptr[:-1][of] < width])
    starts = np.append(0, np.cumsum(np.minimum(lengths, width)))
    return of_unit_length(sp.csr_array((rows.data[kept], rows.indices[kept], starts), shape=rows.shape))


def stacked(parts: list[sp.csr_array], n_columns: int) -> sp.csr_array:
    """One matrix of consecutive rows; every part is let go when it was copied, so that memory holds them once."""
    lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(part.indptr) for part in parts)])
    starts, at = np.append(0, np.cumsum(lengths)), 0
    data, columns = np.empty(starts[-1], np.float32), np.empty(starts[-1], np.int32)  # no memory until it is written
    for number, part in enumerate(parts):
        data[at : at + part.nnz], columns[at : at + part.nnz] = part.data, part.indices
        at, parts[number] = at + part.nnz, None
    return sp.csr_array((data, columns, starts), shape=(len(lengths), n_columns))


def centroid_bytes(entries: float, documents: int, pairs: int) -> int:
    """Memory of the centroids that labels are clustered by.

    `entries` are those of the features of all documents, `pairs` those of a document and a label.  Centroids are there
    once as parts and, as parts are let go, once as a whole; labels without documents are added in another copy.
    """
    return int(16 * min(MOST, entries / max(documents, 1) * pairs))


def label_text_bags(tfidf: Tfidf, label_set: LabelSet) -> sp.csr_array:
    """(labels, terms): TF-IDF of every label's name and text."""
    return tfidf.transform(label_set.words())


def label_features(centroids: sp.csr_array, bags: sp.csr_array) -> sp.csr_array:
    """Features to cluster labels by: centroids, or label texts where a label has no documents."""
    empty = np.flatnonzero(np.diff(centroids.indptr) == 0)
    if not len(empty):
        return centroids
    chosen = sp.csr_array((np.ones(len(empty), np.float32), (empty, empty)), shape=(bags.shape[0], bags.shape[0]))
    return sp.csr_array(centroids + chosen @ bags)
