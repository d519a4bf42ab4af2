"""Train cheap models before dear ones, mix them by weights learned on held-out documents, and always have a model.

    corpus ─► train, held out ─► for each step that fits into the time: train ─► weigh all so far ─► calibrate ─► save
                                 then, where time is left: each member again, on all documents ─► save

The model directory is whole after the first step and replaced whenever a mix is better, so that a time limit, Ctrl-C
or a kill leaves the best so far.  Every member is a run of its own and resumes.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from functools import cached_property

from longtail import store
from longtail.auto.mixing import Mix, best_mix, calibrated, described, replaced
from longtail.auto.plan import Step, duration, planned
from longtail.auto.settings import Config
from longtail.auto.spent import Spent
from longtail.corpus import Corpus
from longtail.errors import ConfigError, CorpusError, MissingExtraError, OutOfTime, RunError
from longtail.predict.fit import fit
from longtail.predict.predictor import Predictor
from longtail.rankers.joint import Known
from longtail.train.machine import size
from longtail.train.run import Run

MEMBERS = "members"  # the directory of their runs, in that of the run
WHOLE = "members-of-all"  # and of those that learn from the documents held out too


@dataclass
class Search:
    """Members trained so far, and the best mix of them."""

    whole: Corpus
    train: Corpus
    valid: Corpus
    config: Config
    run: Run
    device: str
    steps: list[Step] = field(default_factory=list)  # that were taken
    members: list[Predictor] = field(default_factory=list)  # of these
    best: Mix | None = None
    smallest: int | None = None  # bytes of the smallest mix, where none is small enough
    late: str = ""  # the step in which the time limit passed

    def go(self) -> Predictor:
        """Train every step that fits, mix, train again on all documents, and return the best."""
        for usual, quicker in self.announced():
            step = next((each for each in (usual, quicker) if each is not None and self.fits(each, MEMBERS)), None)
            if step is None and self.members:
                self.leave_out(usual)
                continue
            self.take(step or usual)
        if self.best is None:
            least, most = size(self.smallest or 0), size(self.config.max_size or 0)
            raise ConfigError(f"the smallest model takes {least}, and {most} are allowed; allow more with max_size")
        if self.config.use_all and len(self.whole) > len(self.train):
            self.train_again()
        self.say_how_late()
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
        if self.config.use_all and len(self.whole) > len(self.train):
            self.run.say("  then, where time is left, each again on all documents, as long again")
        self.run.log("plan", steps={step.name: step.seconds for step, _ in plan}, documents=len(self.train))
        return plan

    @cached_property
    def known(self) -> Known:
        """What training documents tell about labels."""
        return Known.of(self.train)

    def fits(self, step: Step, place: str) -> bool:
        """Whether a step is trained already, or fits into the time left."""
        return self.finished(step, place) or step.seconds <= self.run.deadline - time.monotonic()

    def finished(self, step: Step, place: str) -> bool:
        """Whether its model is there."""
        return store.finished(self.run.directory / place / step.name / "model")

    def leave_out(self, step: Step) -> None:
        """Say that a step is too long."""
        left = self.run.deadline - time.monotonic()
        self.run.say(f"{step.name} is left out: it would take about {duration(step.seconds)}, {_left(left)}")

    def take(self, step: Step) -> None:
        """Train one model and mix it in; the first must succeed, others are left out with a reason."""
        try:
            # Nothing is there before the first model, so it may take longer than allowed.
            deadline = self.run.deadline if self.members else float("inf")
            member = self.trained(step, self.train, MEMBERS, deadline)
        except (ConfigError, CorpusError, MissingExtraError, RunError) as error:
            if not self.members:
                raise
            self.fail(step, error)
            return
        self.steps.append(step)
        self.members.append(member)
        self.mix_in()

    def trained(self, step: Step, corpus: Corpus, place: str, deadline: float) -> Predictor:
        """A model by its own run, which goes on where it stopped; what it took is logged."""
        directory, spent = self.run.directory / place / step.name, Spent()
        fresh = not directory.exists()
        begun = not self.run.is_late or not self.members  # the first begins however late it is
        try:
            made = fit(
                step.method, corpus, directory, say=self.run.say, device=self.device, deadline=deadline, **step.settings
            )
        finally:
            self.late = step.name if begun and self.run.is_late else self.late
        self.run.log("member", method=step.name, of=place, fresh=fresh, expected=step.expected, taken=spent.so_far())
        return made

    def say_how_late(self) -> None:
        """Say by how much the time limit was passed, and in what."""
        seconds = time.monotonic() - self.run.deadline
        if seconds < 1:
            return
        reason = "mixing and calibrating took longer"
        if self.late:
            first = bool(self.steps) and self.late == self.steps[0].name
            why = (
                "the first model is finished however short the time" if first else "a stage that has begun is finished"
            )
            reason = f"{self.late} was in training, and {why}"
        self.run.say(f"the time limit was passed by {duration(seconds)}: {reason}")

    def fail(self, step: Step, error: Exception) -> None:
        """Say why a step is left out."""
        self.run.say(f"{step.name} is left out: {'the time is over' if isinstance(error, OutOfTime) else error}")
        self.run.log("left out", method=step.name, reason=str(error))

    def mix_in(self) -> None:
        """Weigh all members, and save the mix if it is the best so far."""
        found, metric = best_mix(self.members, self.known, self.valid, self.config), self.config.chosen_by
        if self.config.max_size is not None and found.size > self.config.max_size:
            self.smallest = found.size
            self.run.say(f"too large so far: {size(found.size)} by {described(found.model)}")
            return
        self.run.log("mix", members=[described(found.model)], value=found.value, bytes=found.size)
        if self.best is not None and found.value <= self.best.value:
            self.run.say(f"{self.steps.pop().name} adds nothing: {metric} stays {self.best.value:.2f}")
            self.members.pop()
            return
        self.best = dataclasses.replace(found, model=calibrated(found.model, self.valid, self.run.say))
        self.save()
        self.run.say(f"{metric} {found.value:.2f} by {described(found.model)}, {size(found.size)}: saved")

    def save(self) -> None:
        """The best so far as the model of the run."""
        assert self.best is not None
        self.best.model.save(self.run.directory / "model")

    def train_again(self) -> None:
        """Members of the mix once more, on all documents: weights and calibration stay."""
        assert self.best is not None
        more, known = len(self.whole) / len(self.train), Known.of(self.whole)
        for at in self.best.kept:
            step = self.steps[at]
            longer = dataclasses.replace(step, seconds=more * step.seconds, processor=more * step.processor)
            if not self.fits(longer, WHOLE):
                self.run.say(f"{step.name} stays as it is: no time to train it again on all documents")
                continue
            try:
                member = self.trained(longer, self.whole, WHOLE, self.run.deadline)
            except OutOfTime as error:
                self.fail(longer, error)
                return
            self.best = replaced(self.best, at, member, known)
            self.save()
            self.run.say(f"{step.name} trained again on all {len(self.whole):,} documents: saved")


def search(corpus: Corpus, config: Config, run: Run, device: str = "cpu") -> Predictor:
    """The best mix for this corpus, saved as the model of the run."""
    train, valid = corpus.hold_out(held_out(len(corpus), config.valid_documents), config.seed)
    if len(valid) == 0:
        raise CorpusError(f"{corpus.name}: {len(corpus)} documents are too few to hold some out; train linear instead")
    return Search(corpus, train, valid, config, run, device).go()


def held_out(documents: int, most: int) -> int:
    """How many to hold out: a twentieth, or a thousand where that is more; a corpus gives no more than a tenth."""
    return min(most, max(documents // 20, 1000))


def _left(seconds: float) -> str:
    return "and the time is over" if seconds <= 0 else f"and {duration(seconds)} are left"
