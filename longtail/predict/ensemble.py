"""Several models as one: it ranks by the weighted mean of their scores, or by a score learned from theirs.

It is saved like any other model."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from longtail import store
from longtail.corpus import Documents
from longtail.errors import ConfigError, ModelError
from longtail.features.described import Described
from longtail.invariants import Unsound
from longtail.judge.ensemble import average, shares
from longtail.predict.explain import reasons_of
from longtail.predict.labels import label_digest
from longtail.predict.predictor import About, Predictor, model_of
from longtail.predict.saving import ENSEMBLE, WEIGHTS, member_place, write_model
from longtail.rankers.joint import Joint
from longtail.ranking import Ranking
from longtail.reasons import Reasons, average_of

JOINT = "joint"  # what model.json holds of a joint score


@dataclass(frozen=True)
class Ensemble:
    """A weighted mean of Rankings; labels a member does not mention count as 0.

    With a `joint` score that one ranks, and the weights are those of members in an explanation.
    """

    members: tuple[Predictor, ...]
    weights: tuple[float, ...]
    joint: Joint | None = None

    # Members are asked deeper than the answer: a label just below one member's k may lead in the mean.
    POOL: typing.ClassVar[int] = 100

    @property
    def n_labels(self) -> int:
        """How many labels the members share."""
        return self.members[0].model.n_labels

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k labels with the best score."""
        if self.joint is not None:
            return self.joint.rank(documents, [each.rank(documents, max(k, self.POOL)) for each in self.members], k)
        # Who has no weight, as learned weights may say of some, need not be asked.
        asked = [(member, weight) for member, weight in zip(self.members, self.weights) if weight > 0]
        rankings = [member.rank(documents, max(k, self.POOL)) for member, _ in asked]
        return average(rankings, [weight for _, weight in asked], k)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """The weighted mean of the members' logits, by words, and the clusters of all."""
        total = sum(self.weights)
        asked = [(member, weight / total) for member, weight in zip(self.members, self.weights) if weight > 0]
        return average_of([reasons_of(member, documents, labels) for member, _ in asked], [part for _, part in asked])

    def with_labels(self, new: Described) -> Ensemble:
        """With more labels in every member."""
        joint = None if self.joint is None else self.joint.with_labels(new)
        return replace(self, members=tuple(member.add_labels(new.labels) for member in self.members), joint=joint)

    def without_labels(self, labels: np.ndarray) -> Ensemble:
        """With members that do not rank these labels."""
        ids = [self.members[0].labels[label].id for label in labels]
        return replace(self, members=tuple(member.remove_labels(ids) for member in self.members))

    def write(self, directory: Path) -> dict[str, Any]:
        """Write the members, each a model directory; `model.json` holds the weights (see `Shares`)."""
        for at, member in enumerate(self.members):
            write_model(member, member_place(directory, at))
        joint = {} if self.joint is None else {JOINT: store.write_parts(directory, self.joint, WEIGHTS)}
        return {"weights": list(self.weights)} | joint


@dataclass(frozen=True)
class Shares:
    """The ensemble's entry in model.json."""

    weights: tuple[float, ...]

    def check(self) -> None:
        """Check that members fit together, as `combine` does."""
        if not self.weights or min(self.weights) < 0 or not 0 < sum(self.weights) < np.inf:
            raise Unsound(f"weights are {self.weights}; none may be negative, and not all zero")


def weights_of(directory: Path, state: Any) -> tuple[float, ...]:  # noqa: ANN401 - whatever JSON can hold
    """The weights of a stored ensemble, from what its model.json holds."""
    plain = {name: value for name, value in state.items() if name != JOINT} if isinstance(state, dict) else state
    return store.read_plain(directory, Shares, plain).weights


def combine(members: Sequence[Predictor], weights: Sequence[float] | None = None) -> Predictor:
    """An ensemble that predicts, saves and evaluates like any other model."""
    members = models_of(members)
    share = tuple(shares(weights, len(members), "models").tolist())
    first = members[0]
    for at, member in enumerate(members[1:], 2):
        if label_digest(member.labels) != label_digest(first.labels):
            raise ModelError(f"model {at} has other labels than model 1; an ensemble's members share one label set")
    about = About(ENSEMBLE, {"members": [member.about.method for member in members]}, first.about.corpus)
    return Predictor(Ensemble(tuple(members), share), first.labels, first.counts, about)


def models_of(given: object) -> list[Predictor]:
    """The models in a list, at least one."""
    if isinstance(given, Predictor):
        raise ConfigError("an ensemble is made of a list of models; put your one model in a list: [model]")
    if isinstance(given, (str, PathLike)) or not isinstance(given, Iterable):
        raise ConfigError(f"an ensemble is made of a list of models, not {given!r:.60}; as in [longtail.open(path), …]")
    members = [model_of(member) for member in given]
    if not members:
        raise ConfigError("an ensemble needs at least one model")
    return members
