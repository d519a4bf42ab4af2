"""Label rows against document vectors: the shortlisted ones for learning, runs of whole clusters for ranking.

Every product of two vectors is summed by the same code, so a document scores the same alone and in a batch.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.bag import ANY_ORDER, bag_gradients, bag_sums
from longtail.kernels.borders import check, check_names, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.threads import in_slices, in_threads
from longtail.kernels.top import keep_best
from longtail.progress import steps

TILE = 16  # documents that meet a row while it is in the cache


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
def product(one, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """⟨one, other⟩, for other kernels to call."""
    total = np.float32(0)
    for d in range(len(one)):
        total += one[d] * other[d]
    return total


@compiled
def _shortlist_logits(documents, rows, shortlist, start, stop, logits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for document in range(start, stop):
        for at in range(shortlist.shape[1]):
            if shortlist[document, at] != PAD:
                logits[document, at] = product(documents[document], rows[shortlist[document, at]])


# -- ranking -------------------------------------------------------------------------------------------------------


def likeliest(documents: np.ndarray, rows: np.ndarray, biases: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k rows with the largest σ(⟨document, row⟩ + bias) and these beliefs, (documents, k) each; PAD, 0."""
    check_shape(rows, (len(biases), documents.shape[1]), "rows to compare")
    best = np.full((len(documents), k), PAD, np.int32), np.zeros((len(documents), k), np.float32)
    n_documents = len(documents)
    in_slices(lambda start, stop: _likeliest(documents, rows, biases, start, stop, *best), n_documents, COMPARING)
    return best


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
COMPARING = "comparing documents"


def rank_members(
    documents: np.ndarray, rows: np.ndarray, biases: np.ndarray, starts: np.ndarray, labels: np.ndarray,
    clusters: np.ndarray, beliefs: np.ndarray, k: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The k best labels in each document's clusters by σ(label)·belief(cluster), (documents, k) each.

    Row i belongs to labels[i]; cluster c holds the rows from starts[c] to starts[c + 1], one run of memory.
    """
    check_shape(rows, (len(biases), documents.shape[1]), "label rows")
    check(len(labels) == len(rows) == starts[-1], f"{len(rows)} rows, {len(labels)} labels, {starts[-1]} in clusters")
    check_shape(clusters, (len(documents), clusters.shape[1]), "opened clusters")
    check_shape(beliefs, clusters.shape, "beliefs in clusters")
    check_names(clusters, len(starts) - 1, "opened clusters")
    best = np.full((len(documents), k), PAD, np.int32), np.zeros((len(documents), k), np.float32)

    def part(start: int, stop: int) -> None:
        _rank_members(documents, rows, biases, starts, labels, clusters, beliefs, start, stop, *best)

    in_slices(part, len(documents), "ranking documents")
    return best


@compiled
def _top_columns(scores, best_columns, start, stop):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    names, best = np.arange(scores.shape[1]).astype(np.int32), np.empty(best_columns.shape[1], np.float32)
    for row in range(start, stop):
        keep_best(names, scores[row], best_columns[row], best)


@compiled
def sigmoid(logit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """1 / (1 + exp(−logit))."""
    return np.float32(1) / (np.float32(1) + np.exp(-logit))


@compiled
def tile_logits(documents, rows, biases, first, tile, logits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """⟨document, row⟩ + bias of a few documents and all rows, for other kernels to call: (TILE, rows)."""
    for row in range(len(rows)):
        for at in range(tile):
            logits[at, row] = product(documents[first + at], rows[row]) + biases[row]


@compiled
def _likeliest(documents, rows, biases, start, stop, best_rows, best_beliefs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    names = np.arange(len(rows)).astype(np.int32)
    logits = np.empty((TILE, len(rows)), np.float32)
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_logits(documents, rows, biases, first, tile, logits)
        for at in range(tile):
            keep_best(names, logits[at], best_rows[first + at], best_beliefs[first + at])
            for j in range(min(best_rows.shape[1], len(rows))):
                best_beliefs[first + at, j] = sigmoid(best_beliefs[first + at, j])


@compiled
def _rank_members(  # type: ignore[no-untyped-def]  # noqa: ANN202
    documents,
    rows,
    biases,
    starts,
    labels,
    clusters,
    beliefs,
    start,
    stop,
    best_labels,
    best_scores,  # noqa: ANN001
):
    widest = 0
    for cluster in range(len(starts) - 1):
        widest = max(widest, starts[cluster + 1] - starts[cluster])
    found = np.empty(widest * clusters.shape[1], np.int32)
    scores = np.empty(len(found), np.float32)
    for document in range(start, stop):
        count = 0
        for at in range(clusters.shape[1]):
            cluster = clusters[document, at]
            if cluster == PAD:
                break
            for row in range(starts[cluster], starts[cluster + 1]):
                logit = product(documents[document], rows[row]) + biases[row]
                found[count], scores[count] = labels[row], sigmoid(logit) * beliefs[document, at]
                count += 1
        keep_best(found[:count], scores[:count], best_labels[document], best_scores[document])
