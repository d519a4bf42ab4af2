"""A corpus in which nearly every document has one label of its own is likely read in a wrong way."""

from __future__ import annotations

from collections import Counter

import numpy as np

from longtail.data.mapped import Draft

FEWEST = 5  # documents; in fewer, labels of one document are no surprise
SAMPLE = 1000  # labels that are looked at for a cause
SEPARATORS = (";", "|", ",", "\t", "/")


def lonely_labels(draft: Draft) -> str:
    """A warning with the likely cause, or an empty string."""
    stops, columns = draft.written("train.labels.stops"), draft.written("train.labels.columns")
    single = int((np.diff(stops, prepend=0) == 1).sum())
    distinct = int(np.count_nonzero(np.bincount(columns)))
    if len(stops) < FEWEST or single < 0.95 * len(stops) or distinct < 0.8 * len(stops):
        return ""
    cause = _cause(draft.label_ids(SAMPLE))
    return (
        f"careful: {single:,} of {len(stops):,} documents have exactly one label, and {distinct:,} labels are "
        f"different, so there is next to nothing to learn; {cause}"
    )


def _cause(ids: list[str]) -> str:
    if not ids:
        return "are these the right columns? --labels names others"
    counts = Counter({separator: sum(separator in id for id in ids) for separator in SEPARATORS})
    separator, count = counts.most_common(1)[0]
    if count < 0.5 * len(ids):
        return "are these the right columns? --labels names others"
    example = next(id for id in ids if separator in id)
    return f"label cells look like {example!r:.60}: pass --label-separator {separator!r}"
