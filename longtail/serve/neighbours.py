"""Labels like a label: those whose classifiers point the same way, and those of its cluster.

Models keep classifiers in three forms: dense rows (`LabelRows`), sparse weights feature by feature (`linear`,
`centroid`), and those of an ensemble's members.  What is found first in a model answers for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from longtail.index.clusters import Clusters, Tree
from longtail.rankers.label_rows import LabelRows

BLOCK = 1 << 15  # rows compared at once
SHOWN = 10  # neighbours of a label


class Similar(NamedTuple):
    """A label and the cosine of the two classifiers."""

    label: int
    similarity: float


def parts_of(value: Any) -> Iterator[Any]:  # noqa: ANN401 - any model
    """A model and everything in it, from the outside in."""
    yield value
    inner: Any = ()
    if is_dataclass(value):
        inner = (getattr(value, field.name) for field in fields(value))
    elif isinstance(value, (list, tuple)) and value and not isinstance(value[0], str):  # vocabularies are long
        inner = value
    for part in inner:
        if is_dataclass(part) or isinstance(part, (list, tuple)):
            yield from parts_of(part)


def label_rows(model: Any) -> LabelRows | None:  # noqa: ANN401 - any model
    """The dense classifiers of a model's labels, where it has them."""
    rows = (part for part in parts_of(model) if isinstance(part, LabelRows))
    return next((part for part in rows if len(part) == model.n_labels), None)


def nearest(model: Any, label: int, count: int = SHOWN) -> list[Similar]:  # noqa: ANN401 - any model
    """The labels whose classifiers are most like this one's."""
    rows = label_rows(model)
    similar = sparse_similarities(model, label) if rows is None else dense_similarities(rows, label)
    if similar is None:
        return []
    similar[label] = -np.inf
    best = np.argpartition(-similar, min(count, len(similar) - 1))[:count]
    ordered = best[np.lexsort((best, -similar[best]))]
    return [Similar(int(at), float(similar[at])) for at in ordered if similar[at] > 0]


def dense_similarities(rows: LabelRows, label: int) -> np.ndarray:
    """Cosine of every label's row with this label's, by label."""
    place = label if rows.clusters is None else int(np.flatnonzero(rows.clusters.labels == label)[0])
    own = rows.rows[place].astype(np.float32)
    found = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), BLOCK):
        block = rows.rows[start : start + BLOCK].astype(np.float32)
        lengths = np.sqrt(np.einsum("rd,rd->r", block, block))
        found[start : start + BLOCK] = block @ own / np.maximum(lengths * np.linalg.norm(own), TINY)
    if rows.clusters is None:
        return found
    by_label = np.empty_like(found)
    by_label[rows.clusters.labels] = found
    return by_label


TINY = np.finfo(np.float32).tiny


def sparse_similarities(model: Any, label: int) -> np.ndarray | None:  # noqa: ANN401 - any model
    """The same for weights that lie feature by feature; None where a model has none."""
    weights = _by_feature(model)
    if weights is None:
        return None
    starts, labels, values = weights
    own = np.flatnonzero(labels == label)
    features = np.searchsorted(starts, own, side="right") - 1
    found = np.zeros(model.n_labels, np.float64)
    for feature, value in zip(features.tolist(), values[own].tolist()):
        run = slice(starts[feature], starts[feature + 1])
        found[labels[run]] += value * values[run].astype(np.float64)
    lengths = np.sqrt(np.bincount(labels, values.astype(np.float64) ** 2, minlength=model.n_labels))
    return found / np.maximum(lengths * lengths[label], TINY)


def _by_feature(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:  # noqa: ANN401 - any model
    for part in parts_of(model):
        if all(hasattr(part, name) for name in ("tree", "levels")):  # a tree of `linear`, whose last nodes are labels
            last = part.levels[-1]
            return last.starts, part.tree.labels[last.nodes], last.weights
        if all(hasattr(part, name) for name in ("starts", "labels", "weights")):
            return part.starts, part.labels, part.weights
    return None


def of_one_cluster(model: Any, label: int, count: int = SHOWN) -> list[int]:  # noqa: ANN401 - any model
    """Other labels of its cluster, those beside it first."""
    members = cluster_members(model, label)
    if members is None or label not in members:
        return []
    at = int(np.flatnonzero(members == label)[0])
    start = max(0, min(at - count // 2, len(members) - count - 1))
    return [int(other) for other in members[start : start + count + 1] if other != label][:count]


def cluster_members(model: Any, label: int) -> np.ndarray | None:  # noqa: ANN401 - any model
    """All labels of the cluster that a label is in; None where a model has no clusters of labels."""
    for part in parts_of(model):
        if isinstance(part, Clusters) and len(part.labels) == model.n_labels and len(part) < model.n_labels:
            place = int(np.flatnonzero(part.labels == label)[0])
            return part[int(np.searchsorted(part.starts, place, side="right")) - 1]
        if isinstance(part, Tree):
            return _brothers(part, label)
    return None


def _brothers(tree: Tree, label: int) -> np.ndarray:
    """Labels under the same last cluster; the label alone where it hangs nowhere, as it had no documents."""
    place = np.flatnonzero(tree.labels == label)
    if len(place) == 0:
        return np.array([label])
    starts = tree.starts[-1]
    cluster = int(np.searchsorted(starts, place[0], side="right")) - 1
    return tree.labels[starts[cluster] : starts[cluster + 1]]
