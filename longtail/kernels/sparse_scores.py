"""Sparse documents against sparse weights: a few candidates of each, or the children of a few nodes of a tree."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check, check_names, check_rows, check_shape
from longtail.kernels.compiled import compiled
from longtail.kernels.csr import Rows, frozen
from longtail.kernels.descent import Level, open_rows, path_for
from longtail.kernels.threads import in_slices

# -- given candidates, label by label ----------------------------------------------------------------------------------


def score_candidates(
    features: Rows,
    weights: Rows,
    biases: np.ndarray,
    candidates: np.ndarray,
    n_features: int,
    threads: int | None = None,
) -> np.ndarray:
    """x·w + b of each document's candidates, (documents, width), 0 at PAD; row l of `weights` is label l."""
    check_rows(features, n_features, "features of documents")
    check_shape(candidates, (len(features[0]) - 1, candidates.shape[1]), "candidates")
    check(len(biases) == len(weights[0]) - 1, f"{len(biases)} biases, {len(weights[0]) - 1} rows of weights")
    check_names(candidates, len(biases), "candidates")
    scores = np.zeros(candidates.shape, np.float32)
    biases, candidates = frozen(biases, np.float32), frozen(candidates, np.int32)

    def part(start: int, stop: int) -> None:
        room = np.zeros(n_features, np.float32)
        _score_candidates(*features, *weights, biases, candidates, start, stop, room, scores)

    in_slices(part, len(candidates), "scoring candidates", threads)
    return scores


# Only the order of additions is left to the compiler: NaN and infinity keep their meaning.
@compiled(fastmath={"reassoc", "contract"})
def _score_candidates(
    starts, columns, values, label_starts, label_columns, label_values, biases, candidates, start, stop, room, scores
):  # fmt: skip
    """The document is spread out in `room` (features,), so that each weight finds its value without a search."""
    for document in range(start, stop):
        for j in range(starts[document], starts[document + 1]):
            room[columns[j]] = values[j]
        for at, label in enumerate(candidates[document]):
            if label == PAD:
                continue
            score = biases[label]
            for j in range(label_starts[label], label_starts[label + 1]):
                score += label_values[j] * room[label_columns[j]]
            scores[document, at] = score
        for j in range(starts[document], starts[document + 1]):
            room[columns[j]] = 0


# -- children of the nodes in a beam, feature by feature ---------------------------------------------------------------


def open_nodes(
    features: Rows,
    weights: Rows,
    biases: np.ndarray,
    child_starts: np.ndarray,
    names: np.ndarray,
    beam: tuple[np.ndarray, np.ndarray],
    k: int,
    power: float,
    threads: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The k most believed children of the nodes in each document's beam, best first: names and beliefs, (documents, k).

    `beam` holds nodes (PAD where there are fewer) and beliefs, (documents, width) each.  The children of node p are
    child_starts[p] to child_starts[p + 1].  Row f of `weights` holds the children for which feature f has a weight,
    in order, so brothers stand together there too.  A child is believed exp(-max(0, 1 - x·w - b)^power) times as
    much as its parent; a `power` of 0 means sigmoid(x·w + b) times.
    """
    nodes, beliefs = frozen(beam[0], np.int32), frozen(beam[1], np.float32)
    check_rows(features, len(weights[0]) - 1, "features of documents")
    check_shape(nodes, (len(features[0]) - 1, nodes.shape[1]), "nodes in the beam")
    check_shape(beliefs, nodes.shape, "beliefs in the beam")
    check_names(nodes, len(child_starts) - 1, "nodes in the beam")
    check(len(names) == len(biases) == child_starts[-1], f"{len(biases)} biases, {child_starts[-1]} children")
    best, best_beliefs = np.full((len(nodes), k), PAD, np.int32), np.zeros((len(nodes), k), np.float32)
    tree = frozen(biases, np.float32), frozen(child_starts, np.int64), frozen(names, np.int32)
    level = Level(*weights, *tree)

    def part(start: int, stop: int) -> None:
        path = path_for((level,), nodes.shape[1])
        open_rows(level, features, nodes, beliefs, float(power), start, stop, path, best, best_beliefs)

    in_slices(part, len(nodes), "ranking documents", threads)
    return best, best_beliefs
