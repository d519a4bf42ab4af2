"""Why a model suggests a label: the words that moved its score, the clusters that proposed it, and documents like it.

An Explanation is a value; `report/explanation.py` has its formats for people.  The numbers come from the models, each
of which has a method `reasons(documents, labels)`; docs/prediction.md says what they are for each method.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import repeat
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from longtail.corpus import Documents, Label
from longtail.errors import ConfigError, CorpusError, ModelError
from longtail.predict.predictor import Suggestion
from longtail.reasons import Reasons

if TYPE_CHECKING:
    from longtail.predict.predictor import Predictor


class Word(NamedTuple):
    """A word of the text, text[start:stop], and what it adds to the label's logit."""

    text: str
    start: int
    stop: int
    contribution: float


@dataclass(frozen=True)
class Opened:
    """A cluster that proposed the label, the belief in it, and the names of a few of its labels."""

    cluster: int
    belief: float
    labels: list[str]


@dataclass(frozen=True)
class Neighbour:
    """A training document of the label: how it begins, and how like the text it is, from 0 to 1."""

    text: str
    similarity: float


@dataclass(frozen=True)
class Reason:
    """Why one label is suggested.  Unless `approximate`, the contributions and the bias add up to the logit."""

    suggestion: Suggestion
    probability: float | None  # None where the model is not calibrated
    count: int  # of the label's training documents
    logit: float
    bias: float
    approximate: bool
    words: list[Word]  # in their order in the text
    clusters: list[Opened]
    documents: list[Neighbour]  # most alike first; empty where the run kept none

    @classmethod
    def later(cls, source: _Source, at: int, **known: Any) -> Reason:  # noqa: ANN401 - values of fields
        """With words and clusters that are made when they are first read; their numbers are known to the source."""
        reason = cls.__new__(cls)
        vars(reason).update(known, _source=source, _at=at)
        return reason

    def __getattr__(self, name: str) -> list:
        """Words or clusters that were not made yet."""
        if name not in ("words", "clusters") or "_source" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        rows = getattr(self._source, name)(self._at)
        made = vars(self)[name] = list(map(_word, rows)) if name == "words" else [Opened(*row) for row in rows]
        return made

    def __getstate__(self) -> dict[str, Any]:
        """All fields: the source knows the model, which is not to be copied."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_json(self) -> dict[str, Any]:
        """For programs: the fields, the suggestion's in front."""
        # By hand: `asdict` copies every number, which takes longer than finding it.
        words = [
            {"text": text, "start": start, "stop": stop, "contribution": value}
            for text, start, stop, value in self._rows("words")
        ]
        clusters = [
            {"cluster": cluster, "belief": belief, "labels": names} for cluster, belief, names in self._rows("clusters")
        ]
        documents = [dict(vars(document)) for document in self.documents]
        return dict(zip(NAMES, (*self.suggestion, *_plain(vars(self)), words, clusters, documents)))

    def _rows(self, name: str) -> Iterable[tuple]:
        """Words or clusters as tuples of their fields, from the source where they were not made yet."""
        known = vars(self)
        if name not in known:
            return getattr(known["_source"], name)(known["_at"])
        return known[name] if name == "words" else [tuple(vars(opened).values()) for opened in known[name]]


PLAIN = ("probability", "count", "logit", "bias", "approximate")
NAMES = (*Suggestion._fields, *PLAIN, "words", "clusters", "documents")
_plain = itemgetter(*PLAIN)


@dataclass(frozen=True)
class Explanation:
    """A text, and the reasons for its labels, best first."""

    text: str
    labels: list[Reason]

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {"text": self.text, "labels": [reason.to_json() for reason in self.labels]}


def explain(model: Predictor, text: str, k: int = 5, label: str | None = None) -> Explanation:
    """The reasons for the k best labels of a text, or for the one with the id `label`, suggested or not."""
    if not isinstance(text, str):
        raise CorpusError(f"explain takes one text, a string, not {type(text).__name__}; call it once for each text")
    documents = Documents.of([text])
    suggested = model.suggestions(model.rank(documents, k))[0] if label is None else [_asked(model, documents, label)]
    numbers = np.array([suggestion.index for suggestion in suggested], np.int32)
    found = reasons_of(model, documents, numbers)
    kept = model.kept_documents
    near = repeat([]) if kept is None else kept.nearest(text, numbers)
    source = _Source(text, model.labels, found)
    # Counts are many, and mapped: those of a few labels are read as such.
    plain = [model.counts[numbers].tolist(), found.words.logits.tolist(), found.words.bias.tolist()]
    return Explanation(
        text,
        [
            Reason.later(
                source,
                at,
                suggestion=suggestion,
                probability=None if model.calibration is None else suggestion.score,
                count=count,
                logit=logit,
                bias=bias,
                approximate=found.words.approximate,
                documents=[Neighbour(begins, similarity) for begins, similarity in own],
            )
            for at, (suggestion, count, logit, bias, own) in enumerate(zip(suggested, *plain, near))
        ],
    )


def _asked(model: Predictor, documents: Documents, wanted: str) -> Suggestion:
    """The label with this id, and its score; 0 where it was not proposed."""
    index = next((at for at, label in enumerate(model.labels) if label.id == wanted), None)
    if index is None:
        raise ConfigError(f"no label of this model has the id {wanted!r:.60}")
    ranking = model.rank(documents, len(model.labels))
    found = np.flatnonzero(ranking.labels[0] == index)
    score = float(ranking.scores[0, found[0]]) if len(found) else 0.0
    return Suggestion(index, model.labels[index].id, model.labels[index].name, score)


def reasons_of(model: Predictor, documents: Documents, labels: np.ndarray) -> Reasons:
    """What the model itself says, or a sentence where it cannot."""
    reasons = getattr(model.model, "reasons", None)
    if reasons is None:
        raise ConfigError(f"models of {model.about.method} cannot explain what they suggest")
    found: Reasons = reasons(documents, labels)
    if not isfinite(found.words.values.sum() + sum(found.words.logits.tolist())):
        raise ModelError("the weights of this model add up to NaN or infinity; train it again")
    return found


class _Source:
    """The words and clusters of the label at a place, as tuples, made of the model's numbers."""

    def __init__(self, text: str, labels: Sequence[Label], found: Reasons):
        self._text, self._labels, self._found = text, labels, found

    def words(self, at: int) -> Iterable[tuple]:
        """The fields of each Word: what it adds to the label's logit."""
        return zip(*self._places, self._values[at])

    @cached_property
    def _values(self) -> list[list[float]]:
        return self._found.words.values.tolist()

    @cached_property
    def _places(self) -> tuple[list[str], list[int], list[int]]:
        starts, stops = self._found.words.starts.tolist(), self._found.words.stops.tolist()
        return [self._text[start:stop] for start, stop in zip(starts, stops)], starts, stops

    def clusters(self, at: int) -> list[tuple[int, float, list[str]]]:
        """The fields of each Opened: the clusters that proposed the label, with names of labels inside."""
        return [
            (cluster, belief, [self._labels[label].name for label in labels.tolist()])
            for cluster, belief, labels in self._found.proposals(at)
        ]


_word = partial(tuple.__new__, Word)  # there are hundreds of words, and Word(…) takes three times as long
