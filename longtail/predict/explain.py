"""Why a model suggests a label: the words that moved its score, the clusters that proposed it, and documents like it.

An Explanation is a value; `report/explanation.py` has its formats for people.  The numbers come from the models, each
of which has a method `reasons(documents, labels)`; docs/prediction.md says what they are for each method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from longtail.corpus import PAD, Documents
from longtail.errors import ConfigError, CorpusError, ModelError
from longtail.predict.predictor import Suggestion
from longtail.reasons import Proposal, Reasons

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

    def to_json(self) -> dict[str, Any]:
        """For programs: the fields, the suggestion's in front."""
        # By hand: `asdict` copies every number, which takes longer than finding it.
        parts = {"words": [word._asdict() for word in self.words]}
        parts |= {name: [dict(vars(part)) for part in getattr(self, name)] for name in ("clusters", "documents")}
        return self.suggestion._asdict() | {name: getattr(self, name) for name in PLAIN} | parts


PLAIN = ("probability", "count", "logit", "bias", "approximate")


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
    words = _words(text, found)
    kept = model.kept_documents
    near = [[]] * len(suggested) if kept is None else kept.nearest(text, numbers)
    names = _Names(model)
    return Explanation(
        text,
        [
            Reason(
                suggestion,
                None if model.calibration is None else suggestion.score,
                int(model.counts[suggestion.index]),
                float(found.words.logits[at]),
                float(found.words.bias[at]),
                found.words.approximate,
                words[at],
                [names.opened(proposal) for proposal in found.proposals[at]],
                [Neighbour(begins, similarity) for begins, similarity in near[at]],
            )
            for at, suggestion in enumerate(suggested)
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
    if not (np.isfinite(found.words.values).all() and np.isfinite(found.words.logits).all()):
        raise ModelError("the weights of this model add up to NaN or infinity; train it again")
    return found


def _words(text: str, found: Reasons) -> list[list[Word]]:
    """The words of each label, with what they add to it."""
    starts, stops = found.words.starts.tolist(), found.words.stops.tolist()
    spelled = [text[start:stop] for start, stop in zip(starts, stops)]
    return [list(map(_word, zip(spelled, starts, stops, row))) for row in found.words.values.tolist()]


_word = partial(tuple.__new__, Word)  # there are hundreds of words, and Word(…) takes three times as long


class _Names:
    """Names of labels, each read once."""

    def __init__(self, model: Predictor):
        self._labels, self._known = model.labels, {PAD: ""}

    def opened(self, proposal: Proposal) -> Opened:
        """A proposal with names."""
        return Opened(proposal.cluster, proposal.belief, [self._name(label) for label in proposal.labels.tolist()])

    def _name(self, label: int) -> str:
        if label not in self._known:
            self._known[label] = self._labels[label].name
        return self._known[label]
