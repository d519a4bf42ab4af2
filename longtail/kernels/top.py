"""The k best labels of sparse rows, in the project's order: score falling, then the smaller label first."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check_rows
from longtail.kernels.compiled import Later, compiled
from longtail.kernels.threads import in_threads
from longtail.sparse import Rows

LANES = 16  # scores that are looked at together, as vector_code.py has it
_reaching, _lowest_bit = (Later("longtail.kernels.vector_code", name) for name in ("reaching", "lowest_bit"))


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
    for at in range(kept):  # assigning slices compiles three times as long
        best_labels[at], best_scores[at] = labels[at], scores[at]
    if kept == 0:
        return
    _heap(best_labels, best_scores, kept)
    for at in range(kept, len(labels)):
        if _stands_behind(best_labels[0], best_scores[0], labels[at], scores[at]):
            best_labels[0], best_scores[0] = labels[at], scores[at]
            _sink(best_labels, best_scores, 0, kept)
    _emptied(best_labels, best_scores, kept)


@compiled
def keep_one(label, score, best_labels, best_scores, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The same one label after the other: with one more, of which `size` are kept so far; how many are kept then.

    There is room for one at least.  When it is full, the worst of the best stands first; `put_in_order` ends it.
    """
    if size < len(best_labels):
        best_labels[size], best_scores[size] = label, score
        size += 1
        if size == len(best_labels):
            _heap(best_labels, best_scores, size)
    elif _stands_behind(best_labels[0], best_scores[0], label, score):
        best_labels[0], best_scores[0] = label, score
        _sink(best_labels, best_scores, 0, size)
    return size


@compiled
def put_in_order(best_labels, best_scores, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Sort what `keep_one` kept, best first."""
    if size < len(best_labels):
        _heap(best_labels, best_scores, size)
    _emptied(best_labels, best_scores, size)


@compiled
def _heap(labels, scores, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for at in range(size // 2 - 1, -1, -1):
        _sink(labels, scores, at, size)


@compiled
def _emptied(labels, scores, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Put what is on top of a heap behind the rest, until all are in order."""
    for last in range(size - 1, 0, -1):
        labels[0], labels[last] = labels[last], labels[0]
        scores[0], scores[last] = scores[last], scores[0]
        _sink(labels, scores, 0, last)


@compiled
def keep_largest_in(scores, places, values, best_places, best_scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """`keep_best` of all places of a long row: score falling, then the smaller place first.

    `places` and `values` are room for as many as there are scores.
    """
    count = gather_largest(scores, min(len(best_places), len(scores)), np.float32(0), places, values)
    keep_best(places[:count], values[:count], best_places, best_scores)


@compiled
def keep_largest_unsorted(places, values, count, best_places, best_values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """`keep_best` of the first `count` places, in any order; these change theirs."""
    wanted = min(len(best_places), count)
    put_largest_first(places, values, count, wanted)
    if not are_parted(values, count, wanted):  # ties stand by their places
        keep_best(places[:count], values[:count], best_places, best_values)
        return
    for at in range(wanted):
        best_places[at], best_values[at] = places[at], values[at]


@compiled
def keep_best_of_many(labels, scores, count, best_labels, best_scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """`keep_best` of the first `count` labels, in any order, which change theirs: only the best are put in order."""
    wanted = min(len(best_labels), count)
    put_largest_first(labels, scores, count, wanted)
    among = wanted if are_parted(scores, count, wanted) else count  # ties stand by their labels
    keep_best(labels[:among], scores[:among], best_labels, best_scores)


@compiled
def gather_largest(scores, wanted, slack, places, values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Few scores, with their places, among which the `wanted` largest are; how many they are.

    Most scores are far below the best, and a look at some of them tells which: the best of every SAMPLED-th score give
    a limit that about twice as many as are wanted reach.  If fewer than are wanted do, all are taken.  With a `slack`,
    scores that are as much below the least of the largest are taken too.
    """
    limit = _limit(scores, wanted, places, values) if len(scores) > 8 * wanted > 0 else np.float32(-np.inf)
    least, count, reaching, whole = limit - slack, 0, 0, len(scores) - len(scores) % LANES
    for first in range(0, whole, LANES):
        bits = _reaching(scores, first, least)
        while bits != 0:
            at = first + int(_lowest_bit(bits))
            bits &= bits - np.uint64(1)
            places[count], values[count] = at, scores[at]
            count += 1
    for at in range(whole, len(scores)):
        if scores[at] >= least:
            places[count], values[count] = at, scores[at]
            count += 1
    for at in range(count):
        reaching += values[at] >= limit
    if reaching < wanted:
        for at in range(len(scores)):
            places[at], values[at] = at, scores[at]
        return len(scores)
    return count


@compiled
def are_parted(values, count, wanted):
    """Whether the first `wanted` of so many values are larger than all others, after `put_largest_first`."""
    if wanted == 0:
        return True
    least = values[0]
    for place in range(wanted):
        least = min(least, values[place])
    as_large = 0
    for place in range(count):
        as_large += not values[place] < least  # counts what is not a number
    return as_large == wanted


@compiled
def put_largest_first(places, values, count, wanted):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Change the order of the first `count` values, and of their places, so that the `wanted` largest stand first."""
    first, last = 0, count - 1
    while first < last:
        middle = values[(first + last) // 2]
        low, high = first, last
        while low <= high:
            while values[low] > middle:
                low += 1
            while values[high] < middle:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                places[low], places[high] = places[high], places[low]
                low += 1
                high -= 1
        if wanted - 1 <= high:
            last = high
        elif wanted - 1 >= low:
            first = low
        else:
            return


SAMPLED = 16


@compiled
def _limit(scores, wanted, places, values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """A score that about twice as many as are wanted should reach."""
    size = (len(scores) + SAMPLED - 1) // SAMPLED
    kept = min(2 * wanted // SAMPLED + 4, size)
    for at in range(size):
        places[at], values[at] = at, scores[at * SAMPLED]
    best_places, best = places[size : size + kept], values[size : size + kept]
    keep_best(places[:size], values[:size], best_places, best)
    return best[kept - 1] if kept > 0 else np.float32(-np.inf)


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
