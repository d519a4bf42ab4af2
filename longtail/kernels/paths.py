"""Paths from a document through clusters to labels: which clusters it opens, and the best way to each label."""

from __future__ import annotations

import numpy as np
from numba import njit

from longtail.corpus import PAD
from longtail.kernels.label_rows import TILE, tile_logits
from longtail.kernels.threads import in_threads
from longtail.kernels.top import keep_best


def opened(
    documents: np.ndarray, rows: np.ndarray, biases: np.ndarray, alpha: float, beam: int
) -> tuple[np.ndarray, np.ndarray]:
    """The `beam` rows with the largest min(1, α·softmax(⟨document, row⟩ + bias)), and these, (documents, beam) each."""
    best = np.full((len(documents), beam), PAD, np.int32), np.zeros((len(documents), beam), np.float32)
    factor = np.float32(alpha)
    in_threads(lambda start, stop: _opened(documents, rows, biases, factor, start, stop, *best), len(documents))
    return best


@njit(nogil=True, cache=True)
def _opened(documents, rows, biases, alpha, start, stop, best_rows, beliefs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    names = np.arange(len(rows)).astype(np.int32)
    logits = np.empty((TILE, len(rows)), np.float32)
    for first in range(start, stop, TILE):
        tile = min(TILE, stop - first)
        tile_logits(documents, rows, biases, first, tile, logits)
        for at in range(tile):
            best = beliefs[first + at]
            keep_best(names, logits[at], best_rows[first + at], best)
            largest, total = best[0], np.float32(0)
            for logit in logits[at]:
                total += np.exp(logit - largest)
            for j in range(min(len(best), len(rows))):
                best[j] = min(np.float32(1), alpha * np.exp(best[j] - largest) / total)


def best_paths(
    clusters: np.ndarray, beliefs: np.ndarray, labels: np.ndarray, scores: np.ndarray, n_labels: int, k: int,
    wanted: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """The k labels with the best path, those paths' scores, and their edges as places in `scores.ravel()`.

    A document's path to a label is a cluster it opened, (documents, width) with PAD, and an edge of that cluster,
    (clusters, edges) with PAD behind a row's end; its score is belief · edge, and of several the largest counts.
    Labels `wanted`, (documents, any) with PAD, are kept whatever they score, and stand first.
    """
    shape, wanted = (len(clusters), k), np.empty((len(clusters), 0), np.int32) if wanted is None else wanted
    best = np.full(shape, PAD, np.int32), np.zeros(shape, np.float32), np.full(shape, PAD, np.int64)

    def part(start: int, stop: int) -> None:
        place = np.full(n_labels, PAD, np.int32)
        _best_paths(clusters, beliefs, labels, scores, wanted, place, start, stop, *best)

    in_threads(part, len(clusters))
    return best


ABOVE_ALL = np.float32(2)  # added to what must be kept: no score is above 1


@njit(nogil=True, cache=True)
def _best_paths(  # type: ignore[no-untyped-def]  # noqa: ANN202
    clusters, beliefs, labels, scores, wanted, place, start, stop, best_labels, best_scores, best_edges  # noqa: ANN001
):  # fmt: skip
    """`place` (labels,) says where a label stands among those found; it is PAD between documents."""
    most = min(len(place), clusters.shape[1] * labels.shape[1])
    found, values, edges = np.empty(most, np.int32), np.empty(most, np.float32), np.empty(most, np.int64)
    for document in range(start, stop):
        count = _walk(clusters[document], beliefs[document], labels, scores, place, found, values, edges)
        for label in wanted[document]:
            if label != PAD and place[label] != PAD and values[place[label]] < ABOVE_ALL:
                values[place[label]] += ABOVE_ALL
        keep_best(found[:count], values[:count], best_labels[document], best_scores[document])
        for at in range(min(count, best_labels.shape[1])):
            best_edges[document, at] = edges[place[best_labels[document, at]]]
            if best_scores[document, at] >= ABOVE_ALL:
                best_scores[document, at] -= ABOVE_ALL
        for at in range(count):
            place[found[at]] = PAD


@njit(nogil=True, cache=True)
def _walk(clusters, beliefs, labels, scores, place, found, values, edges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Every label that the clusters lead to, once, with its best path; how many there are."""
    count = 0
    for at, cluster in enumerate(clusters):
        if cluster == PAD:
            continue
        for edge in range(labels.shape[1]):
            label = labels[cluster, edge]
            if label == PAD:
                break
            score = beliefs[at] * scores[cluster, edge]
            if place[label] == PAD:
                place[label], found[count], values[count] = count, label, np.float32(-1)
                count += 1
            if score > values[place[label]]:
                values[place[label]], edges[place[label]] = score, cluster * labels.shape[1] + edge
    return count


def paths_to(
    candidates: np.ndarray, clusters: np.ndarray, beliefs: np.ndarray, labels: np.ndarray, scores: np.ndarray,
    n_labels: int,
) -> np.ndarray:  # fmt: skip
    """The edge at the end of every document's best path to each of the candidates, as a place in `scores.ravel()`.

    (documents, candidates) int64, PAD where no opened cluster leads; the rest is as in `best_paths`.
    """
    place = np.full(n_labels, PAD, np.int32)
    place[candidates] = np.arange(len(candidates), dtype=np.int32)
    shape = (len(clusters), len(candidates))
    edges, values = np.full(shape, PAD, np.int64), np.full(shape, -1, np.float32)
    in_threads(
        lambda start, stop: _paths_to(place, clusters, beliefs, labels, scores, start, stop, edges, values),
        len(clusters),
    )
    return edges


@njit(nogil=True, cache=True)
def _paths_to(place, clusters, beliefs, labels, scores, start, stop, edges, values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for document in range(start, stop):
        for at, cluster in enumerate(clusters[document]):
            if cluster == PAD:
                continue
            for edge in range(labels.shape[1]):
                label = labels[cluster, edge]
                if label == PAD:
                    break
                candidate = place[label]
                if candidate == PAD:
                    continue
                score = beliefs[document, at] * scores[cluster, edge]
                if score > values[document, candidate]:
                    values[document, candidate] = score
                    edges[document, candidate] = cluster * labels.shape[1] + edge
