"""The most frequent labels, as prediction for documents without a known word."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.ranking import Ranking
from longtail.sparse import sp


def label_shares(labels: sp.csr_array) -> np.ndarray:
    """The share of documents with each label, (labels,) float32."""
    counts = np.bincount(labels.indices, minlength=labels.shape[1])
    return (counts / max(1, labels.shape[0])).astype(np.float32)


def where_silent(features: sp.csr_array, shares: np.ndarray, ranking: Ranking) -> Ranking:
    """The ranking, with the most frequent labels and their shares for documents without features.

    >>> answers = Ranking(np.array([[0], [0]], np.int32), np.array([[0.3], [0.1]], np.float32))
    >>> where_silent(sp.csr_array([[1.0], [0.0]]), np.array([0.25, 0.5], np.float32), answers).labels.tolist()
    [[0], [1]]
    """
    return where_empty(np.diff(features.indptr), shares, ranking)


def where_empty(lengths: np.ndarray, shares: np.ndarray, ranking: Ranking) -> Ranking:
    """The same, given how many features each document has."""
    silent = lengths == 0
    if not silent.any():
        return ranking
    order = np.argsort(-shares, kind="stable")[: ranking.k]
    missing = (0, ranking.k - len(order))
    labels, scores = ranking.labels.copy(), ranking.scores.copy()
    labels[silent] = np.pad(order, missing, constant_values=PAD)
    scores[silent] = np.pad(shares[order], missing)
    return Ranking(labels, scores)


def without(shares: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The shares, 0 for these labels."""
    kept = np.array(shares)
    kept[labels] = 0
    return kept
