"""The k best of each row's candidates, in the project's order: score falling, then the smaller label first."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check_shape
from longtail.kernels.standalone import standalone
from longtail.kernels.threads import in_threads
from longtail.kernels.top import keep_best


def top_of_candidates(
    labels: np.ndarray, scores: np.ndarray, k: int, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k best labels and scores (none NaN) of each row, (rows, width) each in any order, PAD is none: (rows, k)."""
    check_shape(scores, labels.shape, "scores of candidates")
    labels, scores = np.ascontiguousarray(labels, np.int32), np.ascontiguousarray(scores, np.float32)
    best = np.full((len(labels), k), PAD, np.int32), np.zeros((len(labels), k), np.float32)

    def part(start: int, stop: int) -> None:
        room = np.empty(labels.shape[1], np.int32), np.empty(labels.shape[1], np.float32)
        _top_of_candidates(labels, scores, start, stop, *room, *best)

    in_threads(part, len(labels), threads, numbers=4 * labels.shape[1])
    return best


@standalone
def _top_of_candidates(labels, scores, start, stop, found, kept, best_labels, best_scores):
    """`found` and `kept` are room for the candidates of a row."""
    for row in range(start, stop):
        count = 0
        for at in range(labels.shape[1]):
            if labels[row, at] != PAD:
                found[count], kept[count] = labels[row, at], scores[row, at]
                count += 1
        keep_best(found[:count], kept[:count], best_labels[row], best_scores[row])
    return 0
