"""The documents that a model is most wrong about."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from longtail.corpus import PAD
from longtail.judge.evaluation import Answered
from longtail.predict.kept import beginning


@dataclass(frozen=True)
class Suggested:
    """A label among the first k of a document."""

    id: str
    name: str
    score: float
    right: bool


@dataclass(frozen=True)
class TrueLabel:
    """A label that a document truly has, and its place in the ranking, from 1; None if it is not ranked."""

    id: str
    name: str
    place: int | None


@dataclass(frozen=True)
class Mistake:
    """A document with a wrong label above a true one.

    `gap` is how much higher the best wrong label scores than the lowest true one; labels that are not ranked score 0.
    """

    document: int  # row in its split, from 0
    id: str
    gap: float
    text: str  # its beginning
    suggested: list[Suggested]
    true: list[TrueLabel]

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def worst_mistakes(answered: Answered, most: int, k: int) -> list[Mistake]:
    """At most so many documents, the largest gap first; equal ones in their order in the corpus."""
    ranking, truth = answered.counted()
    true = np.split(truth.indices, truth.indptr[1:-1])
    gaps = np.array([_gap(*row) for row in zip(ranking.labels, ranking.scores, true)])
    rows = np.argsort(-gaps, kind="stable")[:most]
    return [
        _mistake(answered, int(row), float(gaps[row]), ranking.labels[row], ranking.scores[row, :k], true[row])
        for row in rows
        if gaps[row] > 0
    ]


def _gap(labels: np.ndarray, scores: np.ndarray, true: np.ndarray) -> float:
    """0 for a document without true labels, about which nothing can be wrong."""
    right = np.isin(labels, true)
    wrong = scores[~right & (labels != PAD)]
    lowest = scores[right].min(initial=1.0) if right.sum() == len(true) else 0.0
    return float(wrong.max(initial=0.0) - lowest) if len(true) else 0.0


def _mistake(
    answered: Answered, row: int, gap: float, labels: np.ndarray, scores: np.ndarray, true: np.ndarray
) -> Mistake:
    place = {label: at for at, label in enumerate(labels.tolist(), 1) if label != PAD}
    suggested = [(answered.label(at), score, at) for at, score in zip(place, scores.tolist())]
    ids, texts = answered.corpus.ids, answered.corpus.documents.texts
    return Mistake(
        row,
        "" if ids is None else ids[row],
        gap,
        "" if texts is None else beginning(texts[row]),
        [Suggested(label.id, label.name, score, at in true) for label, score, at in suggested],
        [TrueLabel(*answered.label(at)[:2], place.get(at)) for at in true.tolist()],
    )
