"""Two levels of rows in one call: the best clusters by rows of their own, then the best rows inside these."""

from __future__ import annotations

import numpy as np

from longtail.kernels.borders import check
from longtail.kernels.products import picked_products
from longtail.kernels.standalone import standalone
from longtail.kernels.tables import (
    COMPARING,
    TILE,
    Members,
    Table,
    _rows_inside,
    logit_room,
    nothing_found,
    sigmoid,
    tile_logits,
)
from longtail.kernels.threads import in_slices
from longtail.kernels.top import keep_best, keep_largest_in


def likeliest_in_levels(
    table: Table, coarse: Table, members: Members, documents: np.ndarray, probes: int, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k labels with the largest σ(⟨document, row⟩ + bias) in the `probes` best clusters, and these beliefs.

    Clusters are chosen by ⟨document, coarse row⟩ + bias, (documents, k) each; PAD and 0 where there are fewer.
    """
    check(len(members.labels) == len(table), f"{len(table)} rows, {len(members.labels)} labels")
    check(len(coarse) == len(members.starts) - 1, f"{len(coarse)} coarse rows, {len(members.starts) - 1} clusters")
    check(coarse.rows.shape[1] == table.rows.shape[1], "rows of both levels are of different lengths")
    queries, best, many = table.queries(documents), nothing_found(len(documents), k), min(probes, len(coarse))
    # Both levels are usually stored alike, and then a document is the same numbers to both.
    both = queries if coarse.rows.dtype == table.rows.dtype else coarse.queries(documents), queries
    loop = table.loop(_likeliest_in_levels, members.starts, members.labels, coarse.numbers, coarse.biases)

    def part(start: int, stop: int) -> None:
        opened = np.empty(many, np.int32), np.empty(many, np.float32)
        room = *logit_room(stop - start, len(coarse)), *opened, *members.room(many)
        loop(*both, start, stop, *room, *best)

    in_slices(part, len(documents), COMPARING)
    return best


@standalone
def _likeliest_in_levels(
    table, biases, starts, labels, coarse, coarse_biases, coarse_queries, queries, start, stop,
    logits, places, values, opened, kept, found, scores, best_labels, best_beliefs,
):  # fmt: skip
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_logits(coarse_queries, first, tile, coarse, coarse_biases, logits)
        for at in range(tile):
            document, best = first + at, best_beliefs[first + at]
            keep_largest_in(logits[at], places, values, opened, kept)
            count = _rows_inside(opened, starts, found)
            picked_products(queries, document, table, found, count, scores)
            for place in range(count):
                row = found[place]
                found[place], scores[place] = labels[row], scores[place] + biases[row]
            keep_best(found[:count], scores[:count], best_labels[document], best)
            for place in range(min(count, len(best))):
                best[place] = sigmoid(best[place])
    return 0
