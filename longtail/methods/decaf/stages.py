"""Step between modules II and IV of DECAF: the clusters opened by every training document.  No torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from longtail.index.clusters import Clusters
from longtail.index.partition import recall_at
from longtail.methods.decaf.model import Scorer
from longtail.sparse import sp


def shortlists(read: Any, labels: sp.csr_array, clusters: Clusters, shortlister: Scorer, recall: float) -> np.ndarray:  # noqa: ANN401
    """Clusters opened per training document: the fewest that reach `recall` of the true labels; for 1 MOST_CLUSTERS."""
    documents, most = shortlister.vectors(read), min(MOST_CLUSTERS, len(clusters))
    find = shortlister.rows.top_for_many
    if recall == 1:
        return find(documents, most)
    sample = np.random.default_rng(0).permutation(len(documents))[:RECALL_SAMPLE]
    held = recall_at(find(documents[sample], most), labels[sample], clusters)
    return find(documents, min(int(np.searchsorted(held, recall)) + 1, most))


MOST_CLUSTERS = 200  # opened per document at most, regardless of recall (released configs: 100 to 200)
RECALL_SAMPLE = 20_000  # documents: estimates recall to about 0.3 %
