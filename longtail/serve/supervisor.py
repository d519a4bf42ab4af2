"""The parent of several workers: it holds the socket, starts who died, and has all of them swap models together.

It opens no model and starts no thread, so that forking it is safe; modules are imported before, so that a new worker
has only the models to open.  The socket is bound once and shared: connections that wait when a worker is killed are
accepted by another.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from longtail.errors import ModelError
from longtail.serve.meter import Board
from longtail.serve.settings import Settings
from longtail.serve.worker import Greet, Worker, greeting

TICK = 0.1  # seconds between two looks at who lives
PAUSE = 1.0  # seconds before a worker that died at once is started again


@dataclass
class Child:
    """A worker, as its parent sees it."""

    number: int
    pid: int
    line: socket.socket
    started: float
    ready: bool = False
    heard: bytes = b""


@dataclass
class Round:
    """A swap that all workers take part in."""

    name: str
    asker: tuple[int, int] | None  # pid and ticket; nobody where it was a signal
    waiting: set[int] = field(default_factory=set)  # pids that have not answered yet
    checksums: set[str] = field(default_factory=set)
    refused: str = ""


def import_ahead() -> None:
    """Have numba import the rest of itself, as it otherwise does in every worker that runs its first compiled loop."""
    with suppress(ImportError, AttributeError):  # another version may do it in another way, or need not
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


class Supervisor:
    """Starts workers, restarts them, stops them."""

    def __init__(self, settings: Settings, listener: socket.socket, greet: Greet):
        self.settings, self.listener, self.greet = settings, listener, greet
        self.board = Board(settings.workers)
        self.children: dict[int, Child] = {}  # by pid
        self.selector = selectors.DefaultSelector()
        self.rounds: deque[Round] = deque()  # the first is under way
        self.turn = 0
        self.stopping = self.greeted = self.hangup = False
        self.due: dict[int, float] = {}  # when a worker's number is started again
        self.refused = ""  # why a model could not be opened at the start

    def run(self) -> None:
        """Until a signal comes and all workers are gone; raises where a model is refused at the start."""
        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, self._stop)
        signal.signal(signal.SIGHUP, self._hang_up)
        import_ahead()
        for number in range(self.settings.workers):
            self._start(number)
        while self.children or (self.due and not self.stopping):
            self._listen()
            self._reap()
            self._restart()
            if self.hangup:
                self.hangup = False
                for name in self.settings.models:
                    self._enqueue(Round(name, None))
        if self.refused:
            raise ModelError(self.refused)

    # -- children ------------------------------------------------------------------------------------------------------

    def _start(self, number: int) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            self._become_worker(number, ours, theirs)
        theirs.close()
        ours.setblocking(False)
        self.children[pid] = Child(number, pid, ours, time.monotonic())
        self.selector.register(ours, selectors.EVENT_READ, pid)

    def _become_worker(self, number: int, ours: socket.socket, theirs: socket.socket) -> None:
        code = 1
        try:
            for inherited in (signal.SIGTERM, signal.SIGINT):
                signal.signal(inherited, signal.SIG_DFL)
            ours.close()
            for child in self.children.values():
                child.line.close()
            theirs.setblocking(False)
            spare = theirs.dup()  # the event loop closes what it was given
            Worker(self.settings, self.listener, self.greet, self.board, number, theirs, self.greeted).run()
            code = 0
        except Exception as error:
            spare.sendall(json.dumps({"did": "refuse", "reason": str(error)}).encode() + b"\n")
        finally:
            os._exit(code)  # what belongs to the parent is not ours to clean up

    def _reap(self) -> None:
        while self.children:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._lost(self.children.pop(pid))

    def _lost(self, child: Child) -> None:
        self._read(child)  # its last words
        self.selector.unregister(child.line)
        child.line.close()
        for row in self.rounds:
            row.waiting.discard(child.pid)
        self._advance()
        if self.stopping:
            return
        lived = time.monotonic() - child.started
        self.due[child.number] = time.monotonic() + (PAUSE if lived < PAUSE and not child.ready else 0)

    def _restart(self) -> None:
        for number, when in list(self.due.items()):
            if not self.stopping and time.monotonic() >= when:
                del self.due[number]
                self._start(number)

    def _stop(self, *signal_and_frame: object) -> None:
        self.stopping = True
        for pid in self.children:
            os.kill(pid, signal.SIGTERM)

    def _hang_up(self, *signal_and_frame: object) -> None:
        self.hangup = True

    # -- what workers say ----------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        for key, _ in self.selector.select(TICK):
            if key.data in self.children:
                self._read(self.children[key.data])

    def _read(self, child: Child) -> None:
        with suppress(OSError):  # nothing to read, or it has died
            child.heard += child.line.recv(1 << 16)
        *lines, child.heard = child.heard.split(b"\n")
        for line in lines:
            self._hear(child, json.loads(line))

    def _hear(self, child: Child, said: dict[str, Any]) -> None:
        match said["did"]:
            case "ready":
                child.ready = True
                self._greet()
            case "refuse" if not self.greeted:  # a model that was never good
                self.refused = said["reason"]
                self._stop()
            case "ask":
                self._enqueue(Round(said["name"], (child.pid, said["ticket"])))
            case "prepare" if self.rounds and said["round"] == self.turn:
                row = self.rounds[0]
                row.waiting.discard(child.pid)
                row.refused = row.refused or said.get("refused", "")
                row.checksums |= {said["checksum"]} if "checksum" in said else set()
                self._advance()

    def _greet(self) -> None:
        if not self.greeted and all(child.ready for child in self.children.values()):
            self.greeted = True
            self.greet(greeting(self.settings, self.listener))

    # -- rounds --------------------------------------------------------------------------------------------------------

    def _enqueue(self, row: Round) -> None:
        self.rounds.append(row)
        if len(self.rounds) == 1:
            self._begin()

    def _begin(self) -> None:
        self.turn += 1
        row = self.rounds[0]
        row.waiting = {pid for pid, child in self.children.items() if child.ready}
        for pid in row.waiting:
            self._tell(pid, do="prepare", round=self.turn, name=row.name)
        self._advance()

    def _advance(self) -> None:
        """End the round under way when nobody is missing, and begin the next."""
        while self.rounds and not self.rounds[0].waiting:
            row = self.rounds.popleft()
            if len(row.checksums) > 1:
                row.refused = row.refused or f"{row.name}: the directory was replaced while it was read; ask again"
            for pid in self.children:
                self._tell(pid, do="abort" if row.refused else "commit", round=self.turn)
            self._tell_asker(row)
            if self.rounds:
                self._begin()

    def _tell_asker(self, row: Round) -> None:
        if row.asker is None or row.asker[0] not in self.children:
            return
        pid, ticket = row.asker
        told = {"refused": row.refused} if row.refused else {"checksum": next(iter(row.checksums), "")}
        self._tell(pid, do="outcome", ticket=ticket, **told)

    def _tell(self, pid: int, **words: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        with suppress(OSError):  # it has died; the next look notices
            self.children[pid].line.sendall(json.dumps(words).encode() + b"\n")
