"""Paths through a decision tree: the share of true labels at the leaf that each label's numbers lead to."""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check_shape
from longtail.kernels.standalone import standalone
from longtail.kernels.threads import in_threads


def shares_at_leaves(
    columns: np.ndarray, thresholds: np.ndarray, yes: np.ndarray, no: np.ndarray, shares: np.ndarray, depth: int,
    numbers: np.ndarray, threads: int | None = None,
) -> np.ndarray:  # fmt: skip
    """`shares` of the leaf of each label, (labels,) float32, given `numbers` (asked, labels) float32.

    The tree, one entry a node, is what rankers/score_tree.py: ScoreTree declares; `numbers` has what columns ask for.
    """
    for part in (thresholds, yes, no, shares):
        check_shape(part, columns.shape, "nodes of a tree")
    if columns.max(initial=-1) >= len(numbers):
        raise ValueError(f"a tree that asks for number {columns.max()}, and {len(numbers)} are given")
    # Arrays of a tree that scikit-learn has just grown are columns of another one.
    tree = [np.ascontiguousarray(part) for part in (columns, thresholds, yes, no, shares)]
    numbers, found = np.ascontiguousarray(numbers), np.empty(numbers.shape[1], np.float32)

    def part_of(start: int, stop: int) -> None:
        _shares_at_leaves(*tree, depth, numbers, start, stop, found)

    in_threads(part_of, numbers.shape[1], threads, numbers=8 * depth)
    return found


@standalone
def _shares_at_leaves(columns, thresholds, yes, no, shares, depth, numbers, start, stop, found):
    for label in range(start, stop):
        node = 0
        for _ in range(depth):
            if columns[node] < 0:
                break
            node = yes[node] if numbers[columns[node], label] <= thresholds[node] else no[node]
        found[label] = shares[node]
    return 0
