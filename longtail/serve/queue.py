"""Requests that arrive together are predicted together, by one thread; the event loop goes on reading and writing.

    event loop:  submit ─► waiting jobs (bounded) ─┐                       ┌─► futures of the jobs
    the thread:                                    └► a batch ─► predict ──┘

What takes little (`Pace.allows`) the event loop does itself, sooner than by way of the thread, with which it shares the
interpreter's lock.  Nobody waits for company: a job that finds the thread idle starts at once.  Those that arrive while
it works wait, and the oldest of them takes along all that ask for the same, where enough texts wait: a few are done
sooner one after the other.  So batches grow with the load, and there is no timer.

A burst may fill the queue (`queue`): it will be caught up with, and so will clients that wait for an answer before they
ask again.  When somebody has to be refused, more comes than can be done.  A long queue would then answer no more
requests, only later; so one waits at most: the latest of those that are read together, and where the thread works, not
before it is half through with what it does.  Every moment it is asked anew whether what came was more work than there
was time, and at least as much was refused as was not.  Refusals alone would not tell: a queue that short refuses some
of what could be done, and must not keep itself up.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from longtail.serve.meter import Meter
from longtail.serve.pace import Pace
from longtail.serve.problems import overloaded
from longtail.serve.settings import Limits


class Work(Protocol):
    """What is done to texts."""

    @property
    def key(self) -> Hashable:
        """Jobs whose works have equal keys may be done as one."""

    @property
    def mergeable(self) -> bool:
        """Whether the results of a text do not depend on the texts beside it, to the last bit."""

    @property
    def pace(self) -> Pace:
        """How long it takes, of late."""

    def run(self, texts: list[str]) -> Sequence[Any]:
        """One result for every text."""


@dataclass(eq=False, slots=True)
class Job:
    """Texts of one request."""

    work: Work
    texts: list[str]
    until: float  # when nobody waits any more, by time.monotonic
    done: asyncio.Future[Sequence[Any]]
    since: float = field(default_factory=time.monotonic)


CALM = 0.2  # seconds after which an overload ends, or does not
USUAL = 0.0001  # seconds that a text takes, before any was measured
FEW = 8  # texts: fewer take as long one after the other as together, and the first is answered sooner


class Queue:
    """Jobs that wait, and the thread that does them."""

    def __init__(self, limits: Limits, meter: Meter):
        self.limits, self.meter = limits, meter
        self.loop = asyncio.get_running_loop()
        self._waiting: deque[Job] = deque()
        self._texts = self._expected = self._together = 0
        self._changed = threading.Condition()
        self._closed = False
        self._overloaded = 0.0  # until when at least, by time.monotonic; 0 without an overload
        self._refused = self._accepted = self._accepted_texts = 0  # in the moment that is looked at
        self._pace = USUAL  # seconds of the processor that a text takes, of late
        self._half_done = 0.0  # when the thread will be, by time.monotonic; 0 where it does nothing
        self._thread = threading.Thread(target=self._work, name="predict", daemon=True)
        self._thread.start()

    @property
    def full(self) -> bool:
        """Whether not even one request more may wait, beside those that are about to be submitted."""
        return not self._has_room(1, self._expected)

    @property
    def overloaded(self) -> bool:
        """Whether more comes than can be done."""
        return self._is_overloaded(time.monotonic())

    def make_room(self) -> None:
        """One that could have waited was refused for the sake of a later one."""
        self._refused += 1

    def expect(self) -> None:
        """One more is about to be submitted: requests that are read together must not all find the same room."""
        if self._expected == 0:
            self.loop.call_soon(self._expect_nobody)  # what was read runs right after
        self._expected += 1

    def _expect_nobody(self) -> None:
        self._together, self._expected = self._expected, 0

    def _has_room(self, texts: int, expected: int = 0) -> bool:
        waiting, now, limits = len(self._waiting) + expected, time.monotonic(), self.limits
        if self._is_overloaded(now):
            has_room = waiting == 0 and now >= self._half_done
        else:
            has_room = waiting == 0 or (waiting < limits.queue and self._texts + expected + texts <= limits.queue_texts)
        if has_room:
            return True
        if not self._overloaded:
            self._overload(now)
        self._refused += 1
        return False

    def _is_overloaded(self, now: float) -> bool:
        """Whether more comes than can be done: looked at again after a moment."""
        if self._overloaded and now >= self._overloaded:
            goes_on = self._is_too_much(now - self._overloaded + CALM) and now < self._overloaded + CALM
            self._overload(now if goes_on else -CALM)
        return self._overloaded > 0

    def _is_too_much(self, seconds: float) -> bool:
        """Whether what came in so many seconds would have taken longer, as far as what was accepted tells."""
        came = self._refused + self._accepted
        work = came * self._pace * self._accepted_texts / max(1, self._accepted)
        return self._refused >= max(1, self._accepted) and work > seconds

    def _overload(self, now: float) -> None:
        self._overloaded, self._refused, self._accepted, self._accepted_texts = now + CALM, 0, 0, 0

    def submit(self, work: Work, texts: list[str], seconds: float) -> asyncio.Future[Sequence[Any]]:
        """The results, in time; cancel it to be forgotten.  Raises where too many wait."""
        if not self._has_room(len(texts)):
            raise overloaded()
        job = Job(work, texts, time.monotonic() + seconds, self.loop.create_future())
        self._accepted += 1
        self._accepted_texts += len(texts)
        if self._together < FEW and work.pace.allows(texts):
            self._deliver([job], *self._done([job], job.since))
        else:
            self._append(job)
        return job.done

    def _append(self, job: Job) -> None:
        with self._changed:
            self._waiting.append(job)
            self._texts += len(job.texts)
            self._changed.notify()
        self.meter.waiting(len(self._waiting), self._texts)

    def close(self) -> None:
        """End the thread when it has done what waits."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while batch := self._next():
            now = time.monotonic()
            wanted = [job for job in batch if not job.done.done() and job.until > now]
            if wanted:
                self._do(wanted, now)

    def _next(self) -> list[Job]:
        """The oldest job and those that can be done with it; nothing when the queue is closed."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            batch = self._taken() if self._waiting else []
            self._texts -= sum(len(job.texts) for job in batch)
        self.meter.waiting(len(self._waiting), self._texts)
        return batch

    def _taken(self) -> list[Job]:
        first = self._waiting.popleft()
        batch, size, rest = [first], len(first.texts), deque[Job]()
        few = self._texts < FEW  # with the first
        while self._waiting and first.work.mergeable and size < self.limits.batch and not few:
            job = self._waiting.popleft()
            if job.work.key == first.work.key and size + len(job.texts) <= self.limits.batch:
                batch.append(job)
                size += len(job.texts)
            else:
                rest.append(job)
        self._waiting.extendleft(reversed(rest))
        return batch

    def _do(self, batch: list[Job], started: float) -> None:
        self._half_done = started + sum(len(job.texts) for job in batch) * self._pace / 2
        results, error = self._done(batch, started)
        self._half_done = 0.0
        if error is not None and len(batch) > 1:
            for job in batch:  # what one of them brought must not hurt the others
                self._do([job], started)
        else:
            self._tell(self._deliver, batch, results, error)

    def _done(self, batch: list[Job], started: float) -> tuple[Sequence[Any], Exception | None]:
        """The results of all texts of a batch, or why there are none; called in either thread."""
        texts, before, work = [text for job in batch for text in job.texts], time.thread_time(), batch[0].work
        try:
            results = work.run(texts)
        except Exception as raised:  # whatever it is, the thread goes on and the clients are told
            return [], raised
        # Not by the clock: what others do on this machine would make texts look slow, and overloads last for ever.
        self._pace += ((time.thread_time() - before) / len(texts) - self._pace) / 8
        seconds = time.monotonic() - started
        work.pace.took(len(texts), seconds)
        self.meter.batch(len(texts), seconds, [started - job.since for job in batch])
        return results, None

    def _tell(self, function: Callable[..., None], *words: object) -> None:
        """Call in the event loop, unless it has ended."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(function, *words)

    @staticmethod
    def _deliver(batch: list[Job], results: Sequence[Any], error: Exception | None) -> None:
        start = 0
        for job in batch:
            stop = start + len(job.texts)
            if not job.done.done():
                job.done.set_result(results[start:stop]) if error is None else job.done.set_exception(error)
            start = stop
