"""Label rows against document vectors: the shortlisted ones for learning, runs of whole clusters for ranking.

Rows are fp32, fp16, or int8 with scales; products.py has their products.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.bag import ANY_ORDER, bag_gradients, bag_sums
from longtail.kernels.borders import check_names, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.tables import COMPARING, Table, likeliest_of
from longtail.kernels.threads import in_threads
from longtail.kernels.top import keep_best
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
    """`likeliest_of` for a table that is used once."""
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


@compiled
def _top_columns(scores, best_columns, start, stop):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    names, best = np.arange(scores.shape[1]).astype(np.int32), np.empty(best_columns.shape[1], np.float32)
    for row in range(start, stop):
        keep_best(names, scores[row], best_columns[row], best)
