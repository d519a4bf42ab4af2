"""A trained model with its labels' names: texts in, label names and scores out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from longtail import config as settings_of
from longtail import store
from longtail.corpus import PAD, Corpus, Documents, Label
from longtail.data.own_labels import OwnLabels
from longtail.errors import ConfigError, CorpusError, ModelError, RunError
from longtail.invariants import Unsound
from longtail.judge.calibration import Calibration, Threshold
from longtail.new_label import NewLabel
from longtail.predict.card import write_card
from longtail.predict.kept import KeptDocuments
from longtail.predict.saving import write_model
from longtail.ranking import Ranking, check_k, check_threshold
from longtail.train.machine import free_memory, size, versions

if TYPE_CHECKING:
    from longtail.predict.explain import Explanation

AUTO = "auto"  # the threshold that was chosen for the model


WIDEST = 1000  # columns of an answer where there are fewer labels: enough for every cut-off in use


LABELS = 5  # suggested for a text, where nobody says how many


class Suggestion(NamedTuple):
    """One label suggested for a text."""

    index: int  # type: ignore[assignment]  # a label's number; tuple.index is nobody's loss
    id: str
    name: str
    score: float


class Ranks(Protocol):
    """The interface of every method's model."""

    @property
    def n_labels(self) -> int:
        """How many labels it ranks."""

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""


ABSENT = np.int32(PAD - 1)  # no label, and no PAD either


@dataclass(frozen=True)
class About:
    """Origin of a model: method, settings, corpus."""

    method: str
    config: dict[str, Any]
    corpus: dict[str, Any]  # name, fingerprint, documents, labels
    validation: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=versions)
    chosen: dict[str, Any] = field(default_factory=dict)  # "settings", "weights", "calibration": by whose documents
    added: int = 0  # labels added after training: the last ones
    removed: tuple[int, ...] = ()  # indices of labels that are not suggested any more
    evaluation: dict[str, Any] = field(default_factory=dict)  # for the card: see `card.kept_numbers`

    def check(self) -> None:
        """What later code asks for is there: documents trained on, and the fingerprints of those who chose."""
        documents = self.corpus.get("documents")
        if type(documents) is not int or documents < 0 or not isinstance(self.corpus.get("fingerprint"), str):
            raise Unsound("corpus must say its fingerprint and how many documents it has")
        for what, whose in self.chosen.items():
            if not isinstance(whose, dict) or not isinstance(whose.get("fingerprint"), str):
                raise Unsound(f"chosen.{what} must say the fingerprint of the documents that chose")
        if not all(type(value) in (int, float) for value in self.validation.values()):
            raise Unsound("validation must hold numbers")
        if min(self.added, *self.removed, 0) < 0:
            raise Unsound("labels added and removed are 0 or more")


@dataclass(frozen=True)
class Predictor:
    """Texts in, label names and scores out."""

    model: Ranks
    labels: Sequence[Label]
    counts: np.ndarray  # (labels,) training documents of each label: propensities and deciles come from it
    about: About
    calibration: Calibration | None = None
    kept: KeptDocuments | None = None  # training documents for `explain` to show, where the training kept some
    own: OwnLabels | None = None  # where documents are labels themselves: a text's own label is not suggested

    def rank(self, documents: Documents, k: int = 5) -> Ranking:
        """The k best labels of each document, as arrays (documents, k).

        Work and memory are for no more labels than there are, whatever k is: behind the last label stands PAD, and
        an answer is never wider than the number of labels or 1,000, whichever is more.
        """
        k = check_k(k)
        _check_documents(documents)
        refuse_huge(len(documents), min(k, len(self.labels)))
        ranking = self._ranked(documents, min(k, len(self.labels)))
        _refuse_infinite(ranking)
        ranking = ranking if self.calibration is None else self.calibration.curve.calibrated(ranking)
        return ranking.padded(min(k, max(len(self.labels), WIDEST)))

    def _ranked(self, documents: Documents, k: int) -> Ranking:
        if self.own is None or documents.texts is None:
            return self._kept_labels(documents, k)
        # Always one more than asked for: what threads keep for answers of k labels is made anew for another k.
        ranking, own = self._kept_labels(documents, min(k + 1, len(self.labels))), self.own.find(documents.texts)
        if len(own) == 1:  # as below, in a tenth of the time
            kept = (ranking.labels[0] != own[0]).nonzero()[0][:k] if own[0] != PAD else slice(k)
            return Ranking(ranking.labels[:, kept], ranking.scores[:, kept])
        return ranking.dropped(ranking.labels == np.where(own == PAD, ABSENT, own)[:, None]).top(k)

    def _kept_labels(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of those that were not removed."""
        if not self.about.removed:
            return self.model.rank(documents, k)
        from longtail.predict.add_labels import without_removed

        return without_removed(self.model, documents, k, self.about.removed)

    def predict(
        self, texts: Iterable[str], k: int | None = None, threshold: float | str = 0.0
    ) -> list[list[Suggestion]]:
        """The k best labels of each text that score at least `threshold`, best first.

        The threshold "auto" is the one that `calibrate` chose; then k is how many labels it was chosen for, else 5.
        """
        if isinstance(texts, str):
            raise CorpusError("predict takes a list of texts; put your one text in a list: predict([text])")
        if isinstance(threshold, str):
            chosen = self.threshold(threshold)
            k, threshold = chosen.k if k is None else k, chosen.value
        lowest = check_threshold(threshold)
        return self.suggestions(self.rank(Documents.of(texts), LABELS if k is None else k), lowest)

    def threshold(self, name: str = AUTO) -> Threshold:
        """The threshold that was chosen for this model."""
        if name != AUTO:
            raise ConfigError(f"threshold {name!r}: write a number, or {AUTO} for what `longtail calibrate` chose")
        if self.calibration is None or self.calibration.threshold is None:
            raise ConfigError(
                "this model has no threshold of its own; choose one on validation documents: "
                "longtail calibrate MODEL CORPUS --threshold f1 --in-place"
            )
        return self.calibration.threshold

    def suggestions(self, ranking: Ranking, threshold: float = 0.0) -> list[list[Suggestion]]:
        """A Ranking with names instead of indices."""
        rows = zip(ranking.labels.tolist(), ranking.scores.tolist())
        return [
            [self._suggestion(at, score) for at, score in zip(*row) if at != PAD and score >= threshold] for row in rows
        ]

    def _suggestion(self, at: int, score: float) -> Suggestion:
        label = self.labels[at]
        return Suggestion(at, label.id, label.name, score)

    def explain(self, text: str, k: int = 5, label: str | None = None) -> Explanation:
        """Why the k best labels of a text are suggested, or why the one with the id `label` is or is not."""
        from longtail.predict.explain import explain

        return explain(self, text, k, label)

    @property
    def kept_documents(self) -> KeptDocuments | None:
        """Those of the model, or of the first member of an ensemble that has some."""
        members = getattr(self.model, "members", ())
        return self.kept or next((kept for member in members if (kept := member.kept_documents)), None)

    def add_labels(self, labels: Iterable[NewLabel | Mapping[str, Any]]) -> Predictor:
        """With more labels, made of their names, texts and examples: `[{"id": …, "name": …, "examples": […]}]`.

        Nothing is trained.  All labels keep their indices, and the new ones are suggested at once.
        """
        from longtail.predict.add_labels import add_labels

        return add_labels(self, labels)

    def remove_labels(self, ids: Iterable[str]) -> Predictor:
        """Without the labels that have these ids: their indices stay, and they are not suggested any more."""
        from longtail.predict.add_labels import remove_labels

        return remove_labels(self, ids)

    def save(self, directory: str | Path) -> None:
        """Write the model directory, whole or not at all.

        An earlier model there is replaced.  Anything else that stands there is refused, as is a model that holds files
        of somebody else.  A symbolic link stays, and the directory that it points to is written.
        """
        settings_of.path_of(directory, "directory")
        with store.whole_directory(store.named(directory), store.MODEL) as building:
            write_model(self, building)
            write_card(self, building)

    def export(self, directory: str | Path, precision: str | None = None, max_size: int | None = None) -> Predictor:
        """Write the model in fewer bits and return it: int8 unless told, or what fits into so many bytes.

        `longtail export` also measures what that costs in accuracy.
        """
        from longtail.predict.export import smaller  # which needs Predictor

        made = smaller(self, precision, max_size).model
        made.save(directory)
        return made


def model_of(given: object) -> Predictor:
    """What was given, if it is a model; else a sentence that says how to get one."""
    if isinstance(given, Predictor):
        return given
    if isinstance(given, (str, PathLike)):
        raise ModelError(f"{given} is a path; open it and pass the model: longtail.open({str(given)!r})")
    raise ModelError(f"expected a model, not {type(given).__name__}: pass longtail.open(path), or what fit returned")


# -- what is refused -----------------------------------------------------------------------------------------------


def refuse_huge(documents: int, k: int) -> None:
    """Raise where a Ranking and one copy of it would not fit into memory; small ones are not worth asking for it."""
    needed = 2 * documents * k * BYTES_A_LABEL
    if needed > UNASKED and needed > (free := free_memory()):
        raise RunError(
            f"{k:,} labels for each of {documents:,} documents take {size(needed)}, and {size(free)} are free; "
            "ask for fewer labels, or for fewer documents at once"
        )


BYTES_A_LABEL = 8  # an int32 and a float32


UNASKED = 1 << 28


def _check_documents(documents: object) -> None:
    if isinstance(documents, Corpus):
        raise CorpusError(f"{documents.name} is a corpus; rank takes what is read of it: corpus.documents")
    if not isinstance(documents, Documents):
        raise CorpusError(
            f"rank takes documents, not {type(documents).__name__}: pass longtail.Documents.of(texts), "
            "or ask predict(texts)"
        )
    documents.check_numbers()


def _refuse_infinite(ranking: Ranking) -> None:
    """Weights can be finite and their sums not; such scores rank nothing, and JSON cannot hold them."""
    if not np.isfinite(ranking.scores).all():
        raise ModelError(
            "the model gives scores that are NaN or infinite: its training went astray; train it again, "
            "with a smaller learning rate if it has one"
        )
