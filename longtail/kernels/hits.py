"""Find the true labels in a ranking, and their positions."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check
from longtail.kernels.compiled import compiled
from longtail.kernels.threads import in_threads
from longtail.sparse import frozen, sp

NOWHERE = 1 << 30  # the place of a true label that is not ranked: behind every k
FILTERED = -1  # the place of a true label that is not to be scored
SOUND = -1  # no row is malformed


def find_places(
    labels: np.ndarray, truth: sp.csr_array, filtered: sp.csr_array, threads: int | None = None
) -> tuple[np.ndarray, int]:
    """The place (0 is first) of every true label in its document's row of `labels`, and the first malformed row.

    Places are in the order of `truth.indices`.  Labels stored in `filtered` take no place: what stands behind
    them moves up.  A row is malformed when it names a label twice, or one that does not exist, or one behind
    PAD; then the places mean nothing.
    """
    check(len(labels) == truth.shape[0], f"{len(labels)} rankings are compared with {truth.shape[0]} rows of truth")
    check(filtered.shape == truth.shape, f"pairs to filter are {filtered.shape}, true ones {truth.shape}")
    places = np.empty(len(truth.indices), np.int32)
    rows = frozen(labels, labels.dtype.type)
    true, unscored = _starts_and_columns(truth), _starts_and_columns(filtered)

    def part(start: int, stop: int) -> int:
        return _find_places(rows, *true, *unscored, truth.shape[1], start, stop, places)

    malformed = [row for row in in_threads(part, len(labels), threads) if row != SOUND]
    return places, min(malformed, default=SOUND)


def _starts_and_columns(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return frozen(matrix.indptr, np.int64), frozen(matrix.indices, np.int32)


@compiled
def _find_places(rows, true_starts, true_labels, starts, filtered, n_labels, start, stop, places):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    width = rows.shape[1]
    # Where each label was seen last, as row * (width + 1) + place: what was seen in earlier rows is smaller than
    # anything of this row, so nothing is ever cleared.  Place `width` marks the filtered.
    seen = np.full(n_labels, -1, np.int64)
    for row in range(start, stop):
        base = row * (width + 1)
        for at in range(starts[row], starts[row + 1]):
            seen[filtered[at]] = base + width
        if not _see(rows[row], seen, base):
            return row
        for at in range(true_starts[row], true_starts[row + 1]):
            place = seen[true_labels[at]] - base
            if place < 0:
                place = NOWHERE
            elif place == width:
                place = FILTERED
            places[at] = place
    return SOUND


@compiled
def _see(row, seen, base):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Note the place of each label of a row; False if the row is malformed."""
    place = 0
    ended = False
    for label in row:
        if label == PAD:
            ended = True
            continue
        if ended or label < 0 or label >= len(seen):
            return False
        if seen[label] == base + len(row):
            continue
        if seen[label] >= base:
            return False
        seen[label] = base + place
        place += 1
    return True
