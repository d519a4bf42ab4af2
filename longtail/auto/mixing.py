"""Members in one score, in the size that is allowed, and calibrated."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from longtail.auto.settings import Config
from longtail.corpus import Corpus
from longtail.errors import LongtailError
from longtail.judge.evaluation import evaluate
from longtail.judge.gains import cut_off
from longtail.judge.joining import join
from longtail.judge.validation import calibrate
from longtail.predict.ensemble import Ensemble
from longtail.predict.export import expected_size, in_precision
from longtail.predict.predictor import Predictor
from longtail.rankers.joint import Known


@dataclass(frozen=True)
class Mix:
    """Members and what was learned about them on held-out documents, and the metrics they reach."""

    model: Predictor
    value: float  # percent
    size: int  # bytes on disk
    kept: tuple[int, ...]  # places of its members among all
    precision: str | None = None  # of their tables, where it is not their own


def best_mix(members: Sequence[Predictor], known: Known, valid: Corpus, config: Config) -> Mix:
    """All members in one score; where they are too large, in fewer bits or fewer of them; or the smallest."""
    everyone = tuple(range(len(members)))
    whole = _mix(members, everyone, known, valid, config)
    if config.max_size is None or whole.size <= config.max_size:
        return whole
    smaller = [in_precision(member, "int8") for member in members]
    alone = [Mix(each, _worth(each, valid, config), expected_size(each), (at,)) for at, each in enumerate(smaller)]
    subsets = largest_that_fit([each.size for each in alone], config.max_size)
    small = [*(_mix(smaller, part, known, valid, config) for part in subsets), *alone]
    small = [dataclasses.replace(mix, precision="int8") for mix in small]
    fitting = [mix for mix in small if mix.size <= config.max_size]
    return max(fitting, key=lambda mix: mix.value) if fitting else min(small, key=lambda mix: mix.size)


def largest_that_fit(sizes: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Sets of members that take no more than the limit together, the largest first; not all, each takes time.

    >>> largest_that_fit([10, 20, 40], 60)
    [(1, 2), (0, 2), (2,), (0, 1)]
    """
    every = [part for count in range(1, len(sizes) + 1) for part in combinations(range(len(sizes)), count)]
    taken = {part: sum(sizes[at] for at in part) for part in every}
    return sorted((part for part in every if taken[part] <= limit), key=lambda part: -taken[part])[:MOST_TRIED]


MOST_TRIED = 4


def _mix(members: Sequence[Predictor], part: tuple[int, ...], known: Known, valid: Corpus, config: Config) -> Mix:
    """Some of the members in one score, or one of them."""
    model, value = join([members[at] for at in part], known, valid, config.metrics, config.shares, config.floor)
    assert isinstance(model.model, Ensemble)
    kept = tuple(at for at in part if any(members[at] is each for each in model.model.members))
    return Mix(model, value, expected_size(model), kept)


def _worth(model: Predictor, valid: Corpus, config: Config) -> float:
    """The mean of metrics of one member."""
    found = evaluate(model, valid, ks=sorted({cut_off(metric) for metric in config.metrics})).metrics
    return float(np.mean([found[metric] for metric in config.metrics]))


def replaced(mix: Mix, at: int, member: Predictor, known: Known) -> Mix:
    """With another member in the place of one, and what is known of labels now; what was learned stays."""
    new = member if mix.precision is None else in_precision(member, mix.precision)
    old = mix.model
    if not isinstance(old.model, Ensemble):
        about = dataclasses.replace(new.about, chosen=new.about.chosen | old.about.chosen)
        return dataclasses.replace(mix, model=dataclasses.replace(new, about=about, calibration=old.calibration))
    joint = None if old.model.joint is None else dataclasses.replace(old.model.joint, known=known)
    place = mix.kept.index(at)
    members = tuple(new if each == place else one for each, one in enumerate(old.model.members))
    about = dataclasses.replace(old.about, corpus=members[0].about.corpus)
    ensemble = Ensemble(members, old.model.weights, joint)
    model = dataclasses.replace(old, model=ensemble, about=about, counts=members[0].counts)
    return dataclasses.replace(mix, model=model)


def calibrated(model: Predictor, valid: Corpus, say: Callable[[str], None]) -> Predictor:
    """The model with probabilities as scores and a threshold for the best F1, where documents allow it."""
    try:
        return calibrate(model, valid, threshold="f1").model
    except LongtailError as error:
        say(f"scores are not calibrated: {error}")
        return model


def described(model: Predictor) -> str:
    """`0.60 elias++ + 0.40 linear`, or the name of a single method."""
    if not isinstance(model.model, Ensemble):
        return model.about.method
    pairs = sorted(zip(model.model.weights, model.model.members), key=lambda pair: -pair[0])
    return " + ".join(f"{weight:.2f} {member.about.method}" for weight, member in pairs)
