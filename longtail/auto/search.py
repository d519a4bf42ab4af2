"""Train cheap models before dear ones, mix them by weights learned on held-out documents, and always have a model.

    corpus ─► train, held out ─► for each step that fits into the time: train ─► weigh all so far ─► calibrate ─► save

The model directory is whole after the first step and replaced whenever a mix is better, so that a time limit, Ctrl-C
or a kill leaves the best so far.  Every member is a run of its own and resumes.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from longtail.auto.plan import Step, duration, planned
from longtail.auto.settings import Config
from longtail.corpus import Corpus
from longtail.errors import ConfigError, CorpusError, LongtailError, MissingExtraError, OutOfTime, RunError
from longtail.judge.validation import calibrate, weigh
from longtail.predict.export import expected_size, in_precision
from longtail.predict.fit import fit
from longtail.predict.predictor import Predictor
from longtail.train.machine import size
from longtail.train.run import Run

MEMBERS = "members"  # the directory of their runs, in that of the run


@dataclass(frozen=True)
class Mix:
    """Members with the weights that are best on held-out documents, and the metric they reach."""

    model: Predictor
    value: float  # percent
    size: int  # bytes on disk


@dataclass
class Search:
    """Members trained so far, and the best mix of them."""

    train: Corpus
    valid: Corpus
    config: Config
    run: Run
    device: str
    members: list[Predictor] = field(default_factory=list)
    best: Mix | None = None
    smallest: int | None = None  # bytes of the smallest mix, where none is small enough

    def go(self) -> Predictor:
        """Train every step that fits, and return the best mix."""
        deadline = self.run.deadline
        for usual, quicker in self.announced():
            left = deadline - time.monotonic()
            step = next((each for each in (usual, quicker) if each is not None and each.seconds <= left), None)
            if step is None and self.members:
                self.run.say(
                    f"{usual.method} is left out: it would take about {duration(usual.seconds)}, {_left(left)}"
                )
                continue
            self.take(step or usual)
        if self.best is None:
            least, most = size(self.smallest or 0), size(self.config.max_size or 0)
            raise ConfigError(f"the smallest model takes {least}, and {most} are allowed; allow more with max_size")
        return self.best.model

    def announced(self) -> list[tuple[Step, Step | None]]:
        """The plan, after saying it."""
        plan = planned(self.train, self.config)
        total = sum(step.seconds for step, _ in plan)
        limit = "" if self.config.time_limit is None else f", of at most {duration(self.config.time_limit)}"
        self.run.say(f"the plan, about {duration(total)}{limit}:")
        for step, _ in plan:
            self.run.say(f"  {step}")
        self.run.say(f"  and a mix of them by {self.config.chosen_by} on {len(self.valid):,} documents held out")
        self.run.log("plan", steps={step.method: step.seconds for step, _ in plan}, documents=len(self.train))
        return plan

    def take(self, step: Step) -> None:
        """Train one model and mix it in; the first must succeed, others are left out with a reason."""
        started = time.monotonic()
        # Nothing is there before the first model, so it may take longer than allowed.
        deadline = self.run.deadline if self.members else float("inf")
        try:
            member = fit(
                step.method, self.train, self.run.directory / MEMBERS / step.method,
                say=self.run.say, device=self.device, deadline=deadline, **step.settings,
            )  # fmt: skip
        except (ConfigError, CorpusError, MissingExtraError, RunError) as error:
            if not self.members:
                raise
            late = isinstance(error, OutOfTime)
            self.run.say(f"{step.method} is left out: {'the time is over' if late else error}")
            self.run.log("left out", method=step.method, reason=str(error))
            return
        spent = time.monotonic() - started
        self.run.log("member", method=step.method, expected=round(step.seconds, 1), seconds=round(spent, 1))
        self.members.append(member)
        self.mix_in()

    def mix_in(self) -> None:
        """Weigh all members, and save the mix if it is the best so far."""
        found, metric = best_mix(self.members, self.valid, self.config), self.config.chosen_by
        if self.config.max_size is not None and found.size > self.config.max_size:
            self.smallest = found.size
            self.run.say(f"too large so far: {size(found.size)} by {_described(found.model)}")
            return
        self.run.log("mix", members=[_described(found.model)], value=found.value, bytes=found.size)
        if self.best is not None and found.value <= self.best.value:
            self.run.say(f"{self.members[-1].about.method} adds nothing: {metric} stays {self.best.value:.2f}")
            return
        self.best = dataclasses.replace(found, model=calibrated(found.model, self.valid, self.run.say))
        self.best.model.save(self.run.directory / "model")
        self.run.say(f"{metric} {found.value:.2f} by {_described(found.model)}, {size(found.size)}: saved")


def search(corpus: Corpus, config: Config, run: Run, device: str = "cpu") -> Predictor:
    """The best mix for this corpus, saved as the model of the run."""
    train, valid = corpus.hold_out(config.valid_documents, config.seed)
    if len(valid) == 0:
        raise CorpusError(f"{corpus.name}: {len(corpus)} documents are too few to hold some out; train linear instead")
    return Search(train, valid, config, run, device).go()


# -- mixing ------------------------------------------------------------------------------------------------------------


def best_mix(members: Sequence[Predictor], valid: Corpus, config: Config) -> Mix:
    """All members with the best weights; where they are too large, in fewer bits or fewer of them; or the smallest."""
    whole = _mix(members, valid, config)
    if config.max_size is None or whole.size <= config.max_size:
        return whole
    subsets = [part for count in range(len(members), 0, -1) for part in combinations(members, count)]
    small = [_mix([in_precision(member, "int8") for member in part], valid, config) for part in subsets]
    fitting = [mix for mix in small if mix.size <= config.max_size]
    return max(fitting, key=lambda mix: mix.value) if fitting else min(small, key=lambda mix: mix.size)


def _mix(members: Sequence[Predictor], valid: Corpus, config: Config) -> Mix:
    mixed, value = weigh(members, valid, config.chosen_by)
    weights = mixed.model.weights  # type: ignore[attr-defined]
    kept = [at for at, weight in enumerate(weights) if weight > 0]
    if len(kept) == 1:
        mixed = members[kept[0]]
    elif len(kept) < len(members):
        mixed, value = weigh([members[at] for at in kept], valid, config.chosen_by)
    return Mix(mixed, value, expected_size(mixed))


def calibrated(model: Predictor, valid: Corpus, say: Callable[[str], None]) -> Predictor:
    """The model with probabilities as scores and a threshold for the best F1, where documents allow it."""
    try:
        return calibrate(model, valid, threshold="f1").model
    except LongtailError as error:
        say(f"scores are not calibrated: {error}")
        return model


def _described(model: Predictor) -> str:
    """`0.60 elias++ + 0.40 linear`, or the name of a single method."""
    weights = getattr(model.model, "weights", None)
    if weights is None:
        return model.about.method
    pairs = sorted(zip(weights, model.model.members), key=lambda pair: -pair[0])  # type: ignore[attr-defined]
    return " + ".join(f"{weight:.2f} {member.about.method}" for weight, member in pairs)


def _left(seconds: float) -> str:
    return "and the time is over" if seconds <= 0 else f"and {duration(seconds)} are left"
