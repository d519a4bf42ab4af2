"""The k best labels of sparse rows, in the project's order: score falling, then the smaller label first."""

from __future__ import annotations

import numpy as np
from numba import njit

from longtail.corpus import PAD
from longtail.kernels.csr import Rows
from longtail.kernels.threads import in_threads


def top_of_rows(scores: Rows, k: int, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The k best labels and scores (none NaN) of each sparse row, PAD and 0 where it has fewer: (rows, k) each."""
    n_rows = len(scores[0]) - 1
    best_labels, best_scores = np.full((n_rows, k), PAD, np.int32), np.zeros((n_rows, k), np.float32)

    def part(start: int, stop: int) -> None:
        _top_of_rows(*scores, start, stop, best_labels, best_scores)

    in_threads(part, n_rows, threads)
    return best_labels, best_scores


@njit(nogil=True, cache=True)
def _top_of_rows(starts, labels, scores, start, stop, best_labels, best_scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Each output row is a heap with the worst of the best on top, until it is emptied from the back."""
    k = best_labels.shape[1]
    for row in range(start, stop):
        heap_labels, heap_scores = best_labels[row], best_scores[row]
        kept = min(k, starts[row + 1] - starts[row])
        if kept == 0:
            continue
        heap_labels[:kept] = labels[starts[row] : starts[row] + kept]
        heap_scores[:kept] = scores[starts[row] : starts[row] + kept]
        for at in range(kept // 2 - 1, -1, -1):
            _sink(heap_labels, heap_scores, at, kept)
        for at in range(starts[row] + kept, starts[row + 1]):
            if _stands_behind(heap_labels[0], heap_scores[0], labels[at], scores[at]):
                heap_labels[0], heap_scores[0] = labels[at], scores[at]
                _sink(heap_labels, heap_scores, 0, kept)
        for last in range(kept - 1, 0, -1):
            heap_labels[0], heap_labels[last] = heap_labels[last], heap_labels[0]
            heap_scores[0], heap_scores[last] = heap_scores[last], heap_scores[0]
            _sink(heap_labels, heap_scores, 0, last)


@njit(nogil=True, cache=True, inline="always")
def _stands_behind(label, score, other_label, other_score):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return score < other_score or (score == other_score and label > other_label)


@njit(nogil=True, cache=True)
def _sink(labels, scores, at, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Let the entry at `at` fall below every child that stands behind it."""
    label, score = labels[at], scores[at]
    while True:
        child = 2 * at + 1
        if child + 1 < size and _stands_behind(labels[child + 1], scores[child + 1], labels[child], scores[child]):
            child += 1
        if child >= size or not _stands_behind(labels[child], scores[child], label, score):
            break
        labels[at], scores[at] = labels[child], scores[child]
        at = child
    labels[at], scores[at] = label, score
