"""What every route reaches: settings, models, the queue, counters and the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from starlette.requests import Request

from longtail.serve.logs import Log
from longtail.serve.meter import Meter
from longtail.serve.models import Models
from longtail.serve.problems import ClientLeft, starting, too_late
from longtail.serve.queue import Queue, Work
from longtail.serve.settings import Settings

# Our keys in an ASGI scope.
STATE, LEAVING, NOTES, ARRIVED = "longtail.state", "longtail.leaving", "longtail.notes", "longtail.arrived"


class Control(Protocol):
    """Who swaps models in all workers."""

    async def reload(self, name: str) -> str:
        """The checksum of the model that answers from now on; a Problem where the one on disk is refused."""

    async def add_labels(self, name: str, labels: list[dict[str, Any]]) -> bool:
        """Add labels to a model; whether they are on disk."""


@dataclass
class State:
    """One worker."""

    settings: Settings
    models: Models
    queue: Queue
    meter: Meter
    log: Log
    control: Control
    stopping: bool = False

    @property
    def ready(self) -> bool:
        """Whether it answers."""
        return self.models.ready and not self.stopping

    async def answer(self, request: Request, work: Work, texts: list[str]) -> Sequence[Any]:
        """One result for each text, unless the deadline comes first or the client leaves."""
        seconds, loop = self.settings.limits.deadline, asyncio.get_running_loop()
        future = self.queue.submit(work, texts, seconds)
        if future.done():
            return future.result()
        leaving: set[asyncio.Future[Any]] = request.scope.get(LEAVING, set())
        leaving.add(future)
        timer = loop.call_later(seconds, _expire, future, seconds)
        try:
            return await future
        except asyncio.CancelledError:
            if future.cancelled() and not _is_cancelled():
                raise ClientLeft from None
            raise
        finally:
            timer.cancel()
            leaving.discard(future)

    def note(self, request: Request, **notes: object) -> None:
        """Say something about a request in its line of the log."""
        request.scope.setdefault(NOTES, {}).update(notes)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _expire(future: asyncio.Future[Any], seconds: float) -> None:
    if not future.done():
        future.set_exception(too_late(seconds))


Words = ParamSpec("Words")
Result = TypeVar("Result")
MANY = 2000  # labels whose rendering would keep the event loop from others for too long


async def unhurried(labels: int, function: Callable[Words, Result], *words: Words.args, **more: Words.kwargs) -> Result:
    """Call a function that renders so many labels; in a thread where they are many."""
    return await asyncio.to_thread(function, *words, **more) if labels > MANY else function(*words, **more)


def state_of(request: Request) -> State:
    """The worker that answers this request, once its models are open."""
    state: State = request.scope[STATE]
    if not state.models.ready:
        raise starting()
    return state
