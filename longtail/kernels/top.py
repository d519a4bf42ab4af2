"""The k best labels of sparse rows, in the project's order: score falling, then the smaller label first."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check_rows
from longtail.kernels.compiled import compiled
from longtail.kernels.csr import Rows
from longtail.kernels.threads import in_threads


def top_of_rows(scores: Rows, k: int, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The k best labels and scores (none NaN) of each sparse row, PAD and 0 where it has fewer: (rows, k) each."""
    check_rows(scores, ANY_LABEL, "scores")
    n_rows = len(scores[0]) - 1
    best_labels, best_scores = np.full((n_rows, k), PAD, np.int32), np.zeros((n_rows, k), np.float32)

    def part(start: int, stop: int) -> None:
        _top_of_rows(*scores, start, stop, best_labels, best_scores)

    in_threads(part, n_rows, threads)
    return best_labels, best_scores


ANY_LABEL = 1 << 31  # labels are only passed on


@compiled
def _top_of_rows(starts, labels, scores, start, stop, best_labels, best_scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(start, stop):
        entries = slice(starts[row], starts[row + 1])
        keep_best(labels[entries], scores[entries], best_labels[row], best_scores[row])


@compiled
def keep_best(labels: np.ndarray, scores: np.ndarray, best_labels: np.ndarray, best_scores: np.ndarray) -> None:
    """Fill the two output rows from the front, for other kernels to call; what is not needed stays as it is.

    They are a heap with the worst of the best on top, until it is emptied from the back.
    """
    kept = min(len(best_labels), len(labels))
    if kept == 0:
        return
    for at in range(kept):  # assigning slices compiles three times as long
        best_labels[at], best_scores[at] = labels[at], scores[at]
    for at in range(kept // 2 - 1, -1, -1):
        _sink(best_labels, best_scores, at, kept)
    for at in range(kept, len(labels)):
        if _stands_behind(best_labels[0], best_scores[0], labels[at], scores[at]):
            best_labels[0], best_scores[0] = labels[at], scores[at]
            _sink(best_labels, best_scores, 0, kept)
    for last in range(kept - 1, 0, -1):
        best_labels[0], best_labels[last] = best_labels[last], best_labels[0]
        best_scores[0], best_scores[last] = best_scores[last], best_scores[0]
        _sink(best_labels, best_scores, 0, last)


@compiled
def keep_largest(scores, best_places, best_scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """`keep_best` of all places of a long row: score falling, then the smaller place first.

    Most scores are far below the best, and a look at some of them tells which: the best of every SAMPLED-th score give
    a limit that about twice as many as are wanted reach.  If fewer than are wanted do, all are looked at.
    """
    wanted, count = min(len(best_places), len(scores)), 0
    places, reaching = np.empty(len(scores), np.int32), np.empty(len(scores), np.float32)
    limit = _limit(scores, wanted) if len(scores) > 8 * wanted else -np.inf
    for at in range(len(scores)):
        if scores[at] >= limit:
            places[count], reaching[count] = at, scores[at]
            count += 1
    if count < wanted:
        for at in range(len(scores)):
            places[at], reaching[at] = at, scores[at]
        count = len(scores)
    keep_best(places[:count], reaching[:count], best_places, best_scores)


SAMPLED = 16


@compiled
def _limit(scores, wanted):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """A score that about twice as many as are wanted should reach."""
    sample = scores[::SAMPLED].copy()
    kept = min(2 * wanted // SAMPLED + 4, len(sample))
    names, best_names = np.empty(len(sample), np.int32), np.empty(kept, np.int32)
    best = np.empty(kept, np.float32)
    for at in range(len(sample)):
        names[at] = at
    keep_best(names, sample, best_names, best)
    return best[-1] if kept else np.float32(-np.inf)


@compiled
def _stands_behind(label, score, other_label, other_score):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return score < other_score or (score == other_score and label > other_label)


@compiled
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
