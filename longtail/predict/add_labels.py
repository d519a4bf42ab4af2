"""A trained model with more labels, or fewer: nothing is trained, and every label keeps its index.

A label that is added has a row made of its name, its text and, where there are any, texts that should get it
(docs/decisions/0017-labels-added-without-training.md).  A label that is removed keeps its index and is not suggested.
Each method says in its model how: `with_labels` and `without_labels`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np

from longtail.corpus import Documents
from longtail.data.new_labels import new_labels
from longtail.data.own_labels import OwnLabels
from longtail.errors import ConfigError, CorpusError
from longtail.features.described import Described
from longtail.new_label import NewLabel
from longtail.predict.labels import MoreLabels, ids_of, known_ids
from longtail.ranking import Ranking

if TYPE_CHECKING:
    from longtail.predict.predictor import Predictor, Ranks


@runtime_checkable
class Extends(Protocol):
    """A model whose labels can change after training."""

    @property
    def n_labels(self) -> int:
        """How many labels there are."""

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""

    def with_labels(self, new: Described) -> Self:
        """With more labels, numbered after those there are."""

    def without_labels(self, labels: np.ndarray) -> Self:
        """With labels that are ranked behind all others, if at all."""


def add_labels(model: Predictor, labels: Iterable[NewLabel | Mapping[str, Any]]) -> Predictor:
    """The model with these labels too, numbered after those it has."""
    given = new_labels(labels)
    if not given:
        return model
    _refuse_known(model, given)
    described = Described.of(given, known_texts(model))
    grown = _extensible(model, "added").with_labels(described)
    first = len(model.labels)
    return replace(
        model,
        model=grown,
        labels=MoreLabels(model.labels, [label.label for label in given]),
        counts=np.append(model.counts, described.examples.astype(model.counts.dtype)),
        about=replace(model.about, added=model.about.added + len(given)),
        own=None if model.own is None else model.own.joined(OwnLabels.of((new.label for new in given), first)),
    )


def known_texts(model: Predictor) -> dict[int, str]:
    """The words of some labels that the model was trained with, by index; the same ones whatever was added since."""
    trained = len(model.labels) - model.about.added
    some = np.unique(np.linspace(0, max(trained, 1) - 1, KNOWN).astype(np.int64))
    return {label: model.labels[label].words for label in some.tolist()}


KNOWN = 64  # labels by whose texts and rows new ones are measured


def remove_labels(model: Predictor, ids: Iterable[str]) -> Predictor:
    """The model without these labels: their indices stay, and they are not suggested any more."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise ConfigError(f"labels to remove are a list of ids, as in ['fox'], not {ids!r:.60}")
    gone = _places(model, list(ids))
    if not gone:
        return model
    smaller = _extensible(model, "removed").without_labels(np.array(gone, np.int64))
    about = replace(model.about, removed=tuple(sorted({*model.about.removed, *gone})))
    return replace(model, model=smaller, about=about)


def without_removed(model: Ranks, documents: Documents, k: int, removed: Sequence[int]) -> Ranking:
    """The k best labels of each document that were not removed.

    Models rank what was removed last.  Where a document has so few labels that it comes up, all are ranked.
    """
    found = model.rank(documents, k)
    if not np.isin(found.labels, removed).any():
        return found
    if k < model.n_labels:
        found = model.rank(documents, min(k + len(removed), model.n_labels))
    return found.dropped(np.isin(found.labels, removed)).top(k)


def _extensible(model: Predictor, what: str) -> Extends:
    if isinstance(model.model, Extends):
        return model.model
    raise ConfigError(f"labels cannot be {what} to or from a model of {model.about.method}; train it with those labels")


def _refuse_known(model: Predictor, labels: Sequence[NewLabel]) -> None:
    known, seen = known_ids(model.labels, [label.id for label in labels]), set[str]()
    for label in labels:
        if label.id in known:
            raise CorpusError(
                f"label id {label.id!r:.60} is already that of a label of the model, or of one that was removed; "
                "leave it out, or give it another id"
            )
        if label.id in seen:
            raise CorpusError(f"label id {label.id!r:.60} is that of two labels to add; leave one of them out")
        seen.add(label.id)


def _places(model: Predictor, ids: list[str]) -> list[int]:
    """Where the labels with these ids stand."""
    known, removed = ids_of(model.labels), set(model.about.removed)
    for id in ids:
        if id not in known:
            raise CorpusError(f"no label of the model has the id {id!r:.60}; ids are those of its labels.jsonl")
        if known[id] in removed:
            raise CorpusError(f"the label with the id {id!r:.60} was removed before; leave it out")
    return sorted({known[id] for id in ids})
