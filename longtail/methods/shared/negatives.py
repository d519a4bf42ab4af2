"""Hard negatives: every document samples its negatives from a pool of labels that it ranks high.

decaf/learn.py fills the pools from opened clusters, elias/learn/network.py from the graph.
"""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD
from longtail.sparse import sp

POOL = 100  # labels in the pool of a document
EASY = 6  # one random negative per this many hard ones, so that labels of unopened clusters do not drift


def labels_in_use(labels: sp.csr_array) -> np.ndarray:
    """Which labels have a document, (labels,) bool.

    The others are never hard negatives, but still random ones: untrained rows would rank above trained ones.
    """
    return np.bincount(labels.indices, minlength=labels.shape[1]) > 0


def only_in_use(pool: np.ndarray, in_use: np.ndarray) -> np.ndarray:
    """The pool with PAD in place of labels without documents."""
    return np.where(in_use[pool], pool, PAD)
