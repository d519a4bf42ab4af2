"""The training loop, the only one.

    for every epoch
        for every batch
            loss, gradient, and a step of each parameter group that has accumulated its batches
            periodically: average the weights, validate, checkpoint

A model is an nn.Module with

    loss(batch) -> Tensor               mean over the documents of the batch
    rank(batch, k) -> Ranking           predictions for validation
    groups(optim) -> list[Group]        optional: parameters with their own rates or optimisers (optim.py)
    start_epoch(epoch) -> None          optional: called before the first batch of an epoch, never within one;
                                        its results are kept in buffers, which checkpoints include
    start_batch(done) -> None           optional: called before every batch with the share of training done

Everything random in a step, from the order of the documents to dropout, is a function of (seed, epoch, batch).  So
a training resumed from a checkpoint ends with bit-identical weights to an uninterrupted one, on the same number of
threads, and a checkpoint holds no generator state.
"""

from __future__ import annotations

import dataclasses
import gc
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import nn

from longtail import store
from longtail.data.batches import Batches, generator, longest_first, prefetched, shuffled
from longtail.encoders.learn.bfloat16 import multiplies_bfloat16
from longtail.errors import RunError
from longtail.judge.frequencies import Frequencies
from longtail.judge.gains import cut_off
from longtail.judge.metrics import evaluate_ranking
from longtail.progress import steps
from longtail.ranking import Ranking
from longtail.ranks import here
from longtail.train import checkpoint
from longtail.train.averaging import Average
from longtail.train.claim import changes
from longtail.train.optim import Optim, groups_of, rate
from longtail.train.phrases import phrase
from longtail.train.settings import LAST
from longtail.train.watch import Watch

if TYPE_CHECKING:
    from longtail.train.run import Run

Model = TypeVar("Model", bound=nn.Module)
Batch = TypeVar("Batch")


def train(
    run: Run, name: str, model: Model, batches: Batches, optim: Optim, *, seed: int,
    valid: Batches | None = None, until: int | None = None, device: str = "cpu",
) -> Model:  # fmt: skip
    """Train `model`, resume its training, or load the weights of a finished one.

    With `until`, training pauses after that many epochs; the next call with the same name continues, possibly with
    other batches of the same documents.  After a kill, an early part may return later weights, so anything computed
    from a paused model belongs into a `run.stage`.
    """
    training = Training(run, name, model, batches, optim, seed, valid, torch.device(device))
    if not training.was_finished():
        if optim.average_from is not None and optim.average_from > optim.epochs:
            run.warn(f"weights are not averaged: average_from = {optim.average_from} of {optim.epochs} epochs")
        training.resume()
        with seeded(seed, device), stop_requests() as asked:
            training.go(optim.epochs if until is None else min(until, optim.epochs), asked)
        training.finish() if training.is_over else training.save()
    del training
    gc.collect()  # moments and averages are in cycles, and many times as large as what makes Python look for these
    return model.eval()


class Training:
    """State of one training."""

    def __init__(
        self, run: Run, name: str, model: nn.Module, batches: Batches, optim: Optim, seed: int,
        valid: Batches | None, device: torch.device,
    ):  # fmt: skip
        self.run, self.name, self.place = run, name, run.directory / "training" / name
        self.model, self.batches, self.optim, self.seed, self.device = model.to(device), batches, optim, seed, device
        self.valid = valid if valid is not None and len(valid.lengths) else None
        self.cut_off = cut_off(optim.metric)
        self.per_epoch = math.ceil(len(batches.lengths) / optim.batch_size)
        self.total = optim.epochs * self.per_epoch
        self.groups = groups_of(model, optim)
        self.average = self._average()
        self.step = 0  # batches done in total
        self.latest: dict[str, float] = {}  # metrics of the last validation
        self.best: dict[str, float] = {}  # metrics of the best validation
        self.on_disk, self.saved = 0, time.monotonic()  # step and time of the last checkpoint

    # -- the loop -------------------------------------------------------------------------------------------------

    def go(self, epochs: int, asked_to_stop: threading.Event) -> None:
        """Train until `epochs` epochs are done."""
        self.model.train()
        with Watch(self.run, self.name, self.groups, self.step, self.total, self.per_epoch) as watch:
            while self.step < epochs * self.per_epoch and not self.is_over:
                epoch, start = divmod(self.step, self.per_epoch)
                if start == 0:
                    with watch.stage.aside():
                        self.start_epoch(epoch)
                for documents, batch in self.made_ahead(self.epoch_from(epoch, start)):
                    loss = self.learn(batch, documents)
                    self.step += 1
                    self.average.take(self.step)
                    watch.step(loss, documents)
                    if self.is_due_for_validation:
                        self.validate(watch)
                    due, stop, late = here().any_of(
                        self.is_due_for_checkpoint, asked_to_stop.is_set(), self.run.is_late
                    )
                    if due or stop or late:
                        self.save_between_steps(stop, late)

    def start_epoch(self, epoch: int) -> None:
        """Call the model's `start_epoch`, if it has one."""
        if hasattr(self.model, "start_epoch"):
            reseed(self.device, self.seed, epoch)
            self.model.start_epoch(epoch)  # type: ignore[operator]

    def made_ahead(self, batches: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        """Prefetch batches in a thread on a GPU only.

        On a CPU the thread competes with the training steps for the GIL (DECAF: 17 % slower).
        """
        return batches if self.device.type == "cpu" else prefetched(batches)

    def epoch_from(self, epoch: int, start: int) -> Iterator[tuple[int, Any]]:
        """The batches of an epoch from `start` on, each with its number of documents."""
        order = shuffled(self.batches.lengths, self.optim.batch_size, self.seed, epoch)
        for at, rows in enumerate(order[start:], start):
            batch = self.batches.batch(rows, generator(self.seed, epoch, at))
            yield len(rows), on_device(batch, self.device)

    def learn(self, batch: Any, documents: int) -> float:  # noqa: ANN401 - any batch of the model
        """Compute loss and gradient of a batch, and step the groups that are due; returns the loss."""
        reseed(self.device, self.seed, *divmod(self.step, self.per_epoch))
        if hasattr(self.model, "start_batch"):
            self.model.start_batch(self.step / self.total)  # type: ignore[operator]
        with self._precision():
            loss = self.model.loss(batch)  # type: ignore[operator]
        value = float(loss.detach())
        if not math.isfinite(value):
            raise self._diverged(f"the loss became {value}")
        # A short batch counts as a fraction of a full one; a step divides by the sum of fractions.
        share = documents / self.optim.batch_size
        if loss.requires_grad:  # a model with compiled gradients may pass them to its optimiser directly
            (loss * share).backward()
        for group in self.groups:
            group.gather(share)
            done, due = (group.steps(batches, self.per_epoch) for batches in (self.step, self.step + 1))
            if due > done:
                group.step(rate(self.optim, done, group.steps(self.total, self.per_epoch)))
        return value

    @property
    def is_over(self) -> bool:
        """Whether all batches are done."""
        return self.step >= self.total

    # -- validation -----------------------------------------------------------------------------------------------

    @property
    def keeps_best(self) -> bool:
        """Whether the best weights on validation are kept."""
        return self.optim.keep != LAST

    @property
    def is_due_for_validation(self) -> bool:
        """True after every epoch."""
        return self.valid is not None and self.step % self.per_epoch == 0

    def validate(self, watch: Watch) -> None:
        """Validate the current weights (or their average, if any) and store the best."""
        started = time.monotonic()
        with self.average.in_place(), watch.stage.aside():
            self.latest = here().leaders(self._metrics())
            if self.latest[self.optim.metric] > self.best.get(self.optim.metric, -math.inf):
                self.best = self.latest
                if self.keeps_best:
                    self._write("best", self.best, checkpoint.weights_of(self.model))
        watch.validated(self.latest, time.monotonic() - started)

    def _metrics(self) -> dict[str, float]:
        assert self.valid is not None
        hidden = 0 if self.valid.filtered is None else int(np.diff(self.valid.filtered.indptr).max(initial=0))
        ks = sorted({1, 3, 5, self.cut_off})
        asked = min(ks[-1] + hidden, self.valid.labels.shape[1])
        with self._precision():
            ranking = rank(self.model, self.valid, asked, self.optim.batch_size, str(self.device))
        return evaluate_ranking(
            ranking, self.valid.labels, train=self._frequencies, ks=ks, filtered=self.valid.filtered
        ).metrics

    @cached_property
    def _frequencies(self) -> Frequencies:
        return Frequencies.of(self.batches.labels)

    # -- on disk --------------------------------------------------------------------------------------------------

    @property
    def is_due_for_checkpoint(self) -> bool:
        """True every `checkpoint_every` seconds."""
        return time.monotonic() - self.saved >= self.run.checkpoint_every

    def save_between_steps(self, stop: bool, late: bool) -> None:
        """Checkpoint, unless a group holds accumulated gradients; its next step comes soon."""
        if any(group.gathered for group in self.groups):
            return
        self.save()
        if stop:
            epoch, at = divmod(self.step, self.per_epoch)
            where = f"epoch {epoch + 1}, batch {at} of {self.per_epoch}"
            line = f"{phrase(self.name)} stopped in {where}, and was saved"
            self.run.say(line)
            raise KeyboardInterrupt(line)
        if late and not self.is_over:
            self.run.check_time(self.name)

    def save(self) -> None:
        """Write a checkpoint."""
        if self.step == self.on_disk:
            return
        self.refuse_infinite_weights()
        numbers, tensors = checkpoint.pack(self.model, self.groups, self.average)
        self._write("last", self._state() | numbers, tensors)
        self.on_disk, self.saved = self.step, time.monotonic()

    def refuse_infinite_weights(self) -> None:
        """Raise before writing weights that are not finite."""
        # A sum is finite only if every weight is, and needs no temporary mask.
        finite = all(math.isfinite(parameter.detach().sum()) for parameter in self.model.parameters())
        if here().any(not finite):
            raise self._diverged("the weights are no longer finite")

    def resume(self) -> None:
        """Restore the last checkpoint, if there is one."""
        if store.finished(self.place / "last"):
            state, tensors = self._read("last")
            checkpoint.unpack(state, tensors, self.model, self.groups, self.average)
            self.on_disk = self.step
            self.run.log("resumed", name=self.name, step=self.step)

    def finish(self) -> None:
        """Choose the final weights and write them."""
        if self.best and self.keeps_best:
            checkpoint.put_weights(self.model, self._tensors("best")[1])
        else:
            self.average.apply()
        self.refuse_infinite_weights()
        checkpoint.finish(self.place, self._state(), self.model, self.step, self._divided())
        self.run.validation = self._kept()
        self.run.log("trained", name=self.name, steps=self.step, **self._kept())

    def was_finished(self) -> bool:
        """Load the weights of a finished training, if there are any."""
        if not store.finished(self.place / "final"):
            return False
        checkpoint.put_weights(self.model, self._read("final")[1])
        self.run.validation = self._kept()
        return True

    def _state(self) -> dict[str, Any]:
        progress = {"step": self.step, "latest": self.latest, "best": self.best}
        return progress | {"training": self._identity()}

    def _read(self, which: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        state, tensors = self._tensors(which)
        if differences := changes(state["training"], self._identity()):
            raise RunError(f"{self.place / which} is of another training: {'; '.join(differences)}")
        self.step, self.latest, self.best = (state[key] for key in ("step", "latest", "best"))
        return state, tensors

    def _write(self, which: str, state: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        checkpoint.write(self.place / which, state, tensors, self.step, self._divided())

    def _tensors(self, which: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        return checkpoint.read(self.place / which, self.device, self._divided())

    def _divided(self) -> dict[str, int]:
        return checkpoint.divided(self.model, self.groups)

    def _identity(self) -> dict[str, Any]:
        return dataclasses.asdict(self.optim) | {"seed": self.seed, "documents": len(self.batches.lengths)}

    def _kept(self) -> dict[str, float]:
        return self.best if self.keeps_best else self.latest

    # -- helpers --------------------------------------------------------------------------------------------------

    def _average(self) -> Average:
        averaged = {id(parameter) for group in self.groups if group.average for parameter in group.parameters}
        named = {name: each for name, each in self.model.named_parameters() if id(each) in averaged}
        start = math.inf if self.optim.average_from is None else self.optim.average_from * self.per_epoch
        return Average(named, start, self.optim.average_every or self.per_epoch)

    def _precision(self) -> torch.autocast:
        asked = self.optim.precision
        enabled = asked == "bf16" or (asked == "auto" and multiplies_bfloat16(self.device))
        return torch.autocast(self.device.type, torch.bfloat16, enabled=enabled)

    def _diverged(self, what: str) -> RunError:
        epoch, at = divmod(self.step, self.per_epoch)
        return RunError(
            f"{phrase(self.name)}: {what} in epoch {epoch + 1}, batch {at + 1}. "
            f"Start a new run with smaller learning rates (row_lr = {self.optim.row_lr:g} now) or a warm-up; "
            "the last checkpoint here is from before."
        )


def rank(model: nn.Module, batches: Batches, k: int, batch_size: int, device: str = "cpu") -> Ranking:
    """The k best labels of every document, in document order."""
    order = longest_first(batches.lengths, batch_size)
    if not order:
        return Ranking.of_rows([], k)
    ready = (on_device(batches.batch(rows, generator(0)), torch.device(device)) for rows in order)
    was_training = model.training
    model.eval()
    with torch.no_grad():
        coming = steps(prefetched(ready), "ranking documents", total=len(order))
        ranking = Ranking.joined(model.rank(batch, k) for batch in coming)  # type: ignore[operator]
    model.train(was_training)
    back = np.argsort(np.concatenate(order))
    return Ranking(ranking.labels[back], ranking.scores[back])


def on_device(batch: Batch, device: torch.device) -> Batch:
    """Move the tensors of a batch, a (nested) dataclass, to `device`."""
    values = {item.name: getattr(batch, item.name) for item in dataclasses.fields(batch)}  # type: ignore[arg-type]
    moved: dict[str, Any] = {
        name: value.to(device) for name, value in values.items() if isinstance(value, torch.Tensor)
    }
    moved |= {name: on_device(value, device) for name, value in values.items() if dataclasses.is_dataclass(value)}
    return dataclasses.replace(batch, **moved)  # type: ignore[type-var]


# -- randomness and signals: the caller's state is restored -------------------------------------------------------


@contextmanager
def seeded(seed: int, device: str = "cpu") -> Iterator[None]:
    """Seed torch inside the block, as for initial weights, and restore its random state afterwards."""
    where = torch.device(device)
    with torch.random.fork_rng([where] if where.type == "cuda" else []):
        reseed(where, seed)
        yield


def reseed(device: torch.device, seed: int, *place: int) -> None:
    """Seed torch for this position of a training."""
    number = int(generator(seed, *place).integers(2**63))
    # torch.manual_seed seeds every possible device and takes a hundred times as long.
    torch.default_generator.manual_seed(number)
    if device.type == "cuda":
        torch.cuda.manual_seed(number)


@contextmanager
def stop_requests() -> Iterator[threading.Event]:
    """An event set by Ctrl-C and SIGTERM; a second signal stops the process at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield asked
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)}

    def give_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(*_: object) -> None:
        asked.set()
        give_back()

    for number in before:
        signal.signal(number, note)
    try:
        yield asked
    finally:
        give_back()
