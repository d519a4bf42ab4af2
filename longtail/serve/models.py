"""The models that a server answers with: immutable objects by name, swapped whole."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from longtail import store
from longtail.corpus import PAD, Documents, Label
from longtail.encoders.transformer import Transformer
from longtail.errors import LongtailError, ModelError
from longtail.predict.opening import open_model
from longtail.predict.predictor import LABELS, Predictor
from longtail.serve.label_search import LabelSearch
from longtail.serve.neighbours import label_rows, parts_of
from longtail.serve.pace import Pace
from longtail.serve.problems import Problem

PROBES = 8  # texts that a new model answers before anybody asks
REMEMBERED = 1 << 16  # labels whose JSON is kept
USUAL = 50  # labels of a text: to find and to render more takes longer than the pace tells


@dataclass(frozen=True)
class Served:
    """A model under a name."""

    name: str
    place: Path
    predictor: Predictor
    checksum: str  # of its manifest, which names the checksum of every file
    changed: float  # when it was written
    size: int  # bytes on disk
    mergeable: bool = True  # whether a text is answered alike, to the last bit, whatever texts are beside it
    rendered: dict[int, str] = field(default_factory=dict, repr=False)
    subjects: dict[int, str] = field(default_factory=dict, repr=False)
    pace: Pace = field(default_factory=Pace, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @cached_property
    def _search(self) -> LabelSearch:
        return LabelSearch.of(self.predictor.labels, self.predictor.counts)

    @cached_property
    def precision(self) -> str:
        """What its label rows are stored as."""
        return str(getattr(label_rows(self.predictor.model), "precision", "fp32"))

    @property
    def search(self) -> LabelSearch:
        """Its labels by id and name; built once, by whoever asks first."""
        with self.lock:
            return self._search

    def label(self, at: int) -> str:
        """JSON of a label, open at the end: the score is still to come."""
        return self.rendered.get(at) or self._keep(self.rendered, at, self._about)

    def subject(self, at: int) -> str:
        """The same as Annif has it."""
        return self.subjects.get(at) or self._keep(self.subjects, at, self._subject)

    def _about(self, at: int) -> dict[str, Any]:
        label = self.predictor.labels[at]
        return {"index": at, "id": label.id, "name": label.name, "count": int(self.predictor.counts[at])}

    def _subject(self, at: int) -> dict[str, Any]:
        label = self.predictor.labels[at]
        return {"uri": label.id, "label": label.name, "notation": None}

    @staticmethod
    def _keep(known: dict[int, str], at: int, about: Callable[[int], dict[str, Any]]) -> str:
        text = json.dumps(about(at))[:-1] + ', "score": '
        if len(known) < REMEMBERED:
            known[at] = text
        return text


@dataclass(frozen=True)
class Row:
    """The labels and scores of one text, as the Ranking has them."""

    labels: list[int]
    scores: list[float]

    def above(self, threshold: float) -> list[tuple[int, float]]:
        """Those that are suggested: the same that `Predictor.suggestions` keeps."""
        return [(at, score) for at, score in zip(self.labels, self.scores) if at != PAD and score >= threshold]


@dataclass(frozen=True)
class Rank:
    """Work for the queue: the k best labels of texts."""

    served: Served
    k: int

    @property
    def key(self) -> Hashable:
        """One model, one k: a label behind the k-th may change how scores in front of it are calibrated."""
        return id(self.served), self.k

    @property
    def mergeable(self) -> bool:
        """As it was found when the model was opened."""
        return self.served.mergeable

    @property
    def pace(self) -> Pace:
        """The model's, for answers as short as most are."""
        return self.served.pace if self.k <= USUAL else Pace()

    def run(self, texts: list[str]) -> Sequence[Row]:
        """Ask the predictor."""
        ranking = self.served.predictor.rank(Documents.of(texts), self.k)
        return list(map(Row, ranking.labels.tolist(), ranking.scores.tolist()))


@dataclass(frozen=True)
class Explain:
    """Work for the queue: why these labels."""

    served: Served
    k: int
    mergeable = False

    @property
    def pace(self) -> Pace:
        """Not known: explanations take several times as long as answers."""
        return Pace()

    @property
    def key(self) -> Hashable:
        """Explanations are made one after the other."""
        return id(self), self.k

    def run(self, texts: list[str]) -> Sequence[Any]:
        """Ask the predictor."""
        return [self.served.predictor.explain(text, self.k).to_json() for text in texts]


# -- opening -----------------------------------------------------------------------------------------------------------


def open_served(name: str, place: Path) -> Served:
    """A model that has answered its first texts, so that the next wait for nothing to be loaded or compiled."""
    before = _checksum(place)
    predictor = open_model(place)
    if _checksum(place) != before:
        raise ModelError(f"{place}: it was replaced while it was read; try again")
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    changed = (place / store.MANIFEST).stat().st_mtime
    alike = answers_alike(predictor)
    return Served(name, place, predictor, before, changed, size, mergeable=alike, pace=pace_of(predictor))


def _checksum(place: Path) -> str:
    manifest = place / store.MANIFEST
    return hashlib.sha256(manifest.read_bytes()).hexdigest() if manifest.is_file() else ""


def answers_alike(predictor: Predictor) -> bool:
    """Whether some texts rank the same, to the last bit, alone and together; asking also warms the model up.

    Compiled loops add up in one order whatever else is in a batch.  Matrix products of a transformer need not.
    """
    few = range(0, len(predictor.labels), max(1, len(predictor.labels) // PROBES))
    texts = ["", *(predictor.labels[at].words[:500] * (1 + at % 3) for at in few)]
    together = predictor.rank(Documents.of(texts), 10)
    alone = [predictor.rank(Documents.of([text]), 10) for text in texts]
    return all(
        np.array_equal(one.labels[0], labels) and np.array_equal(one.scores[0], scores)
        for one, labels, scores in zip(alone, together.labels, together.scores)
    )


def pace_of(predictor: Predictor) -> Pace:
    """How long one text takes a model that is warm."""
    text, times = Documents.of([predictor.labels[0].words[:500] if len(predictor.labels) else ""]), []
    for _ in range(PROBES):
        before = time.monotonic()
        predictor.rank(text, LABELS)
        times.append(time.monotonic() - before)
    return Pace(min(times))


def warm_up(predictor: Predictor, grow: bool) -> None:
    """Compile what runs only for explanations, searches of labels and, where they may be added, labels added.

    Without a cache on disk this takes seconds, which a request's deadline may not leave.  Transformers explain by
    torch, which takes seconds and memory whenever it is loaded; that is left to whoever asks.
    """
    if not any(isinstance(part, Transformer) for part in parts_of(predictor.model)):
        with suppress(Exception):  # whoever asks for it hears of it
            for text in EXPLAINED:
                predictor.explain(text)
    if grow:
        with suppress(Exception):
            predictor.add_labels([NOBODY_S]).rank(Documents.of(["", NOBODY_S["text"]]), 10)
    LabelSearch.of([Label(NOBODY_S["id"], NOBODY_S["name"])], np.ones(1)).find("label", 1)


NOBODY_S: dict[str, Any] = {
    "id": "\0longtail", "name": "label of nobody", "text": "a label that nobody has", "examples": ["a text about it"],
}  # fmt: skip
EXPLAINED = NOBODY_S["text"], "\u00e9tiquette"  # words are found in another way where a text is not ASCII


class Models:
    """Models by name; the first answers where none is named."""

    def __init__(self, places: dict[str, Path], grow: bool = True):
        self.places, self._grow = places, grow  # whether labels may be added
        self._served: dict[str, Served] = {}

    @property
    def ready(self) -> bool:
        """Whether all of them are open."""
        return len(self._served) == len(self.places)

    def open_all(self) -> None:
        """Open every model; raises where one is refused."""
        for name, place in self.places.items():
            served = open_served(name, place)
            warm_up(served.predictor, self._grow)
            self._served[name] = served

    def all(self) -> list[Served]:
        """In the order in which they were named."""
        return [self._served[name] for name in self.places if name in self._served]

    def __getitem__(self, name: str) -> Served:
        if name not in self._served:
            raise Problem(404, f"there is no model {name!a:.70}; there are {', '.join(self.places)}", "Model not found")
        return self._served[name]

    @property
    def first(self) -> str:
        """The name of the model that answers where none is named."""
        return next(iter(self.places))

    def prepare(self, name: str) -> Served:
        """The model that is on disk now; raises where it is refused.  Nothing is swapped yet."""
        try:
            return open_served(name, self.places[name])
        except LongtailError:
            raise
        except Exception as error:  # a file that vanishes or that no library can read must not end a server
            raise ModelError(f"{self.places[name]}: {type(error).__name__}: {error}") from error

    def swap(self, served: Served) -> None:
        """Answer with this model from now on; what is being predicted ends with the one before."""
        self._served[served.name] = served

    def grown(self, name: str, labels: list[dict[str, Any]]) -> Served:
        """The model with labels more; not swapped yet."""
        old = self[name]
        predictor = old.predictor.add_labels(labels)
        checksum = hashlib.sha256(f"{old.checksum} {json.dumps(labels)}".encode()).hexdigest()
        return replace(
            old, predictor=predictor, checksum=checksum, changed=time.time(), rendered={}, subjects={},
            lock=threading.Lock(), mergeable=answers_alike(predictor), pace=pace_of(predictor),
        )  # fmt: skip
