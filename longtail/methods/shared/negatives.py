"""Hard negatives: every document has a pool of labels that it ranked high, and draws from it what it brings to a batch.

Where the pools come from and how they are drawn from differs: decaf/learn.py fills them from opened clusters,
elias/learn/network.py from the graph.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.corpus import PAD

POOL = 100  # labels that a document draws its negatives from
EASY = 6  # for so many hard negatives one of any kind, so that labels of closed clusters do not drift


def labels_in_use(labels: sp.csr_array) -> np.ndarray:
    """Which labels some document has, (labels,) bool.

    Nothing is known of the others, so they are nobody's hard negatives.  They are easy ones: a row that nothing holds
    down would rank above all that was learned.
    """
    return np.bincount(labels.indices, minlength=labels.shape[1]) > 0


def only_in_use(pool: np.ndarray, in_use: np.ndarray) -> np.ndarray:
    """The same labels, with PAD in place of those that no document has."""
    return np.where(in_use[pool], pool, PAD)
