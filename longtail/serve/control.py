"""Swapping models: in one process, or in several that agree first.

With several workers, the one that is asked tells the supervisor, who asks every worker to *prepare*: to open the model
on disk.  When all of them have opened the same one, he tells them to *commit*; when one refuses, all keep what they
have.  A worker that dies meanwhile takes no part; its successor opens what is on disk.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from typing import Any

from longtail.errors import LongtailError
from longtail.serve.logs import Log
from longtail.serve.meter import Meter
from longtail.serve.models import Models, Served
from longtail.serve.problems import Problem
from longtail.serve.settings import Settings


class Swapping:
    """What both kinds share: opening in a thread, counting, saving labels."""

    def __init__(self, settings: Settings, models: Models, meter: Meter, log: Log):
        self.settings, self.models, self.meter, self.log = settings, models, meter, log
        self._one_at_a_time = asyncio.Lock()

    async def prepared(self, name: str) -> Served:
        """The model on disk, opened; a Problem where it is refused."""
        try:
            return await asyncio.to_thread(self.models.prepare, name)
        except LongtailError as error:
            raise refused(str(error)) from None

    def done(self, name: str, checksum: str) -> None:
        """Count a swap."""
        self.meter.count("reloads_total")
        self.log.say("reloaded", model=name, checksum=checksum)

    def failed(self, name: str, reason: str) -> None:
        """Count a model that was refused."""
        self.meter.count("reloads_refused_total")
        self.log.say("reload refused", "warning", model=name, reason=reason)

    async def grown(self, name: str, labels: list[dict[str, Any]]) -> Served:
        """The model with more labels; ConfigError passes, where its method cannot add any."""
        return await asyncio.to_thread(self.models.grown, name, labels)


def refused(reason: str) -> Problem:
    """A model on disk that cannot be used."""
    return Problem(409, f"{reason}; the model that answered before goes on", "Model refused")


class Alone(Swapping):
    """One process."""

    async def reload(self, name: str) -> str:
        """Open, then swap."""
        async with self._one_at_a_time:
            try:
                served = await self.prepared(name)
            except Problem as problem:
                self.failed(name, problem.detail)
                raise
            self.models.swap(served)
        self.done(name, served.checksum)
        return served.checksum

    async def add_labels(self, name: str, labels: list[dict[str, Any]]) -> bool:
        """Into memory, and to disk where the server was told so."""
        async with self._one_at_a_time:
            served = await self.grown(name, labels)
            if not self.settings.save_labels:
                self.models.swap(served)
                return False
            await asyncio.to_thread(served.predictor.save, served.place)
        await self.reload(name)
        return True


class Together(Swapping):
    """One of several workers."""

    def __init__(self, settings: Settings, models: Models, meter: Meter, log: Log, line: socket.socket):
        super().__init__(settings, models, meter, log)
        self._line = line
        self._tickets = itertools.count()
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._prepared: dict[int, Served] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self) -> None:
        """Do what the supervisor says, until he is gone."""
        reader, self._writer = await asyncio.open_connection(sock=self._line)
        while line := await reader.readline():
            task = asyncio.create_task(self._obey(json.loads(line)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def say(self, **words: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        """Tell the supervisor."""
        self._writer.write(json.dumps(words).encode() + b"\n")

    async def _obey(self, told: dict[str, Any]) -> None:
        match told["do"]:
            case "prepare":
                await self._prepare(told["round"], told["name"])
            case "commit":
                served = self._prepared.pop(told["round"], None)
                if served is not None:
                    self.models.swap(served)
            case "abort":
                self._prepared.pop(told["round"], None)
            case "outcome":
                self._asked.pop(told["ticket"]).set_result(told)

    async def _prepare(self, round: int, name: str) -> None:
        try:
            served = await self.prepared(name)
            self._prepared[round] = served
            self.say(did="prepare", round=round, checksum=served.checksum)
        except Exception as error:
            self.say(did="prepare", round=round, refused=str(error))

    async def reload(self, name: str) -> str:
        """Ask the supervisor, and wait for what all workers did."""
        ticket = next(self._tickets)
        self._asked[ticket] = asyncio.get_running_loop().create_future()
        self.say(did="ask", ticket=ticket, name=name)
        outcome = await self._asked[ticket]
        if "refused" in outcome:
            self.failed(name, outcome["refused"])
            raise Problem(409, outcome["refused"], "Model refused")
        self.done(name, outcome["checksum"])
        return str(outcome["checksum"])

    async def add_labels(self, name: str, labels: list[dict[str, Any]]) -> bool:
        """To disk, from where all workers read them; in the memory of one they would be lost to the others."""
        if not self.settings.save_labels:
            raise Problem(
                409,
                f"this server has {self.settings.workers} workers, which read models from disk; start it with "
                "--save-labels to have labels written into the model's directory, or with --workers 1",
            )
        async with self._one_at_a_time:
            served = await self.grown(name, labels)
            await asyncio.to_thread(served.predictor.save, served.place)
        await self.reload(name)
        return True
