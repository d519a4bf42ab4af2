"""Label rows against document vectors: the shortlisted ones for learning, runs of whole clusters for ranking.

Rows are fp32, fp16, or int8 with scales; products.py has their products.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.bag import ANY_ORDER, bag_gradients, bag_sums
from longtail.kernels.borders import check, check_names, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.products import sides
from longtail.kernels.tables import COMPARING, TILE, Table, likeliest_of, member_logits, sigmoid, tile_logits
from longtail.kernels.threads import in_slices, in_threads
from longtail.kernels.top import keep_best, keep_largest
from longtail.progress import steps

# -- learning ------------------------------------------------------------------------------------------------------


def shortlist_logits(documents: np.ndarray, rows: np.ndarray, shortlist: np.ndarray) -> np.ndarray:
    """⟨document, row⟩ for each document's own rows, (documents, width) float32; 0 at PAD."""
    _check_shortlist(documents, rows, shortlist)
    logits = np.zeros(shortlist.shape, np.float32)
    in_threads(lambda start, stop: _shortlist_logits(documents, rows, shortlist, start, stop, logits), len(shortlist))
    return logits


def shortlist_gradients(
    documents: np.ndarray, rows: np.ndarray, shortlist: np.ndarray, gradients: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of documents and of rows, given those of the logits; 0 for rows in no shortlist."""
    _check_shortlist(documents, rows, shortlist)
    check_shape(gradients, shortlist.shape, "gradients of logits")
    given = shortlist != PAD
    starts = np.append(0, np.cumsum(given.sum(axis=1)))
    pairs = starts, shortlist[given], gradients[given]
    # A document's gradient is the bag of its rows, each weighed by the gradient of its logit.
    of_rows = np.zeros_like(rows)
    touched, learned = bag_gradients(pairs, documents)
    of_rows[touched] = learned
    return bag_sums(pairs, rows), of_rows


def _check_shortlist(documents: np.ndarray, rows: np.ndarray, shortlist: np.ndarray) -> None:
    check_shape(documents, (len(shortlist), rows.shape[1]), "document vectors")
    check_names(shortlist, len(rows), "shortlisted rows")


@compiled(fastmath=ANY_ORDER)
def _sum_in_any_order(one, other):
    total = np.float32(0)
    for d in range(len(one)):
        total += one[d] * other[d]
    return total


@compiled
def _shortlist_logits(documents, rows, shortlist, start, stop, logits):
    for document in range(start, stop):
        for at in range(shortlist.shape[1]):
            if shortlist[document, at] != PAD:
                logits[document, at] = _sum_in_any_order(documents[document], rows[shortlist[document, at]])


# -- ranking -------------------------------------------------------------------------------------------------------


def likeliest(
    documents: np.ndarray, rows: np.ndarray, biases: np.ndarray, k: int, scales: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """`likeliest_of` a table that is asked about once."""
    return likeliest_of(Table(rows, biases, scales), documents, k)


def likeliest_for_many(documents: np.ndarray, rows: np.ndarray, biases: np.ndarray, k: int) -> np.ndarray:
    """The rows that `likeliest` finds, for a training set: by matrix products, which take a third of the time.

    How these add up depends on how many documents are asked about, so two rows that score nearly the same may change
    places; a model that answers must say the same to one document as to many.
    """
    found = np.full((len(documents), k), PAD, np.int32)
    for first in steps(range(0, len(documents), CHUNK), COMPARING):
        chunk = slice(first, first + CHUNK)
        logits = documents[chunk] @ rows.T
        logits += biases
        in_threads(partial(_top_columns, logits, found[chunk]), len(logits))
    return found


CHUNK = 1024  # documents whose scores of all rows are held at once


def likeliest_in_levels(
    documents: np.ndarray, level: Level, coarse: Level, starts: np.ndarray, labels: np.ndarray, probes: int, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k labels with the largest σ(⟨document, row⟩ + bias) in the `probes` best clusters, and these beliefs.

    Clusters are chosen by ⟨document, coarse row⟩ + bias.  Row i of `level` belongs to labels[i]; cluster c holds the
    rows from starts[c] to starts[c + 1], one run of memory.
    """
    check(
        len(labels) == len(level[0]) == starts[-1], f"{len(level[0])} rows, {len(labels)} labels, {starts[-1]} inside"
    )
    check(len(coarse[0]) == len(starts) - 1, f"{len(coarse[0])} coarse rows for {len(starts) - 1} clusters")
    sides_of = [_compared(documents, *one) for one in (coarse, level)]
    best = np.full((len(documents), k), PAD, np.int32), np.zeros((len(documents), k), np.float32)
    many = min(probes, len(starts) - 1)

    def part(start: int, stop: int) -> None:
        _likeliest_in_levels(*sides_of[0], *sides_of[1], starts, labels, many, start, stop, *best)

    in_slices(part, len(documents), COMPARING)
    return best


Level = tuple[np.ndarray, np.ndarray, np.ndarray | None]  # rows, biases, and scales of int8


def _compared(documents: np.ndarray, rows: np.ndarray, biases: np.ndarray, scales: np.ndarray | None) -> tuple:
    check_shape(rows, (len(biases), documents.shape[1]), "rows to compare")
    return *sides(documents, rows, scales, "rows to compare"), biases


@compiled
def _top_columns(scores, best_columns, start, stop):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    names, best = np.arange(scores.shape[1]).astype(np.int32), np.empty(best_columns.shape[1], np.float32)
    for row in range(start, stop):
        keep_best(names, scores[row], best_columns[row], best)


@compiled
def _most_members(starts, clusters, first, last):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The largest number of labels that one of these documents has in its clusters."""
    most = 0
    for document in range(first, last):
        count = 0
        for cluster in clusters[document]:
            if cluster == PAD:
                break
            count += starts[cluster + 1] - starts[cluster]
        most = max(most, count)
    return most


@compiled
def _likeliest_in_levels(  # type: ignore[no-untyped-def]  # noqa: ANN202
    coarse_queries, coarse, coarse_biases, queries, table, biases, starts, labels, probes, start, stop, best_labels, best_beliefs  # noqa: ANN001, E501
):  # fmt: skip
    logits = np.empty((min(TILE, stop - start), len(coarse_biases)), np.float32)
    opened, kept = np.empty((1, probes), np.int32), np.empty(probes, np.float32)
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_logits(coarse_queries, first, tile, coarse, coarse_biases, logits)
        for at in range(tile):
            keep_largest(logits[at], opened[0], kept)
            _likeliest_members(
                queries,
                first + at,
                table,
                biases,
                starts,
                labels,
                opened,
                best_labels[first + at],
                best_beliefs[first + at],
            )


@compiled
def _likeliest_members(queries, document, table, biases, starts, labels, opened, best_labels, best_beliefs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The likeliest labels of one document among those of the clusters in the first row of `opened`."""
    most = _most_members(starts, opened, 0, 1)
    found, logits, count = np.empty(most, np.int32), np.empty(most, np.float32), 0
    for cluster in opened[0]:
        more = member_logits(queries, document, table, biases, starts, cluster, logits[count:])
        for member in range(more):
            found[count + member] = labels[starts[cluster] + member]
        count += more
    keep_best(found[:count], logits[:count], best_labels, best_beliefs)
    for at in range(min(count, len(best_labels))):
        best_beliefs[at] = sigmoid(best_beliefs[at])
