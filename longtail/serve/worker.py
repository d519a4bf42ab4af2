"""One process that answers: it opens the models, runs uvicorn, and stops when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator

import uvicorn

from longtail.errors import LongtailError
from longtail.serve.app import build
from longtail.serve.connection import connection_class
from longtail.serve.control import Alone, Swapping, Together
from longtail.serve.logs import Log
from longtail.serve.meter import Board, Meter
from longtail.serve.models import Models
from longtail.serve.problems import Problem
from longtail.serve.queue import Queue
from longtail.serve.settings import Settings
from longtail.serve.state import State

Greet = Callable[[str], None]
SWITCH = 0.001  # seconds after which a thread that computes in Python lets another run


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: ours drain and exit with 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled by `Worker`."""
        yield


class Worker:
    """A process of the server."""

    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        greet: Greet,
        board: Board | None = None,
        number: int = 0,
        line: socket.socket | None = None,
        successor: bool = False,
    ):
        self.settings, self.listener, self.greet, self.line = settings, listener, greet, line
        self.successor = successor  # of a worker that died; the others answer while it opens the models
        self.meter = Meter(board, number)
        self.log = Log(dropped=lambda lines: self.meter.count("log_lines_dropped_total", lines))
        self.models = Models(settings.models, grow=settings.workers == 1 or settings.save_labels)
        self.refused: Exception | None = None  # why a model could not be opened at the start

    def run(self) -> None:
        """Answer until told to stop; raises where a model is refused at the start."""
        sys.setswitchinterval(SWITCH)
        allow_files(self.settings.limits.connections + 64)
        logging.getLogger("uvicorn.error").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn.error").propagate = False
        import uvloop

        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        finally:
            self.log.say("stopped", pid=os.getpid())
            self.log.close()
        if self.refused is not None:
            raise self.refused

    async def _serve(self) -> None:
        control = self._control()
        queue = Queue(self.settings.limits, self.meter)
        self.state = State(self.settings, self.models, queue, self.meter, self.log, control)
        self.server = Server(self._config())
        self._handle_signals(control)
        opening = asyncio.create_task(self._open())
        listening = asyncio.create_task(control.listen()) if isinstance(control, Together) else None
        if self.successor:
            await opening
        if self.refused is None:
            await self.server.serve(sockets=[self.listener])
        opening.cancel()
        if listening is not None:
            listening.cancel()
        await asyncio.to_thread(queue.close)

    def _control(self) -> Alone | Together:
        words = self.settings, self.models, self.meter, self.log
        return Alone(*words) if self.line is None else Together(*words, self.line)

    def _config(self) -> uvicorn.Config:
        limits, guard = self.settings.limits, build(self.state)
        return uvicorn.Config(
            guard, loop="none", http=connection_class(limits, self.meter, guard), ws="none", lifespan="off",
            log_config=None, access_log=False, server_header=False, proxy_headers=False, backlog=2048,
            timeout_keep_alive=int(limits.idle), timeout_graceful_shutdown=int(limits.drain),
        )  # fmt: skip

    async def _open(self) -> None:
        started = time.monotonic()
        try:
            await asyncio.to_thread(self.models.open_all)
        except (LongtailError, OSError) as error:
            self.refused = error
            self.server.should_exit = True
            return
        gc.collect()
        gc.freeze()  # models and modules stay; looking at them again would only pause answers
        names = list(self.settings.models)
        self.meter.gauge("workers_ready", 1)
        self.log.say("ready", pid=os.getpid(), models=names, seconds=round(time.monotonic() - started, 3))
        if self.line is None:
            self.greet(greeting(self.settings, self.listener))
        elif isinstance(self.state.control, Together):
            self.state.control.say(did="ready")

    # -- signals -------------------------------------------------------------------------------------------------------

    def _handle_signals(self, control: Swapping) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        if self.line is None:
            loop.add_signal_handler(signal.SIGHUP, self._reload_all)
        else:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the supervisor's

    def _stop(self) -> None:
        if self.state.stopping:
            self.server.force_exit = True
        self.state.stopping = self.server.should_exit = True
        self.log.say("stopping", pid=os.getpid(), seconds=self.settings.limits.drain)

    def _reload_all(self) -> None:
        self._reloading = asyncio.create_task(self._reload_each())

    async def _reload_each(self) -> None:
        for name in self.settings.models:
            with contextlib.suppress(Problem):  # which is in the log
                await self.state.control.reload(name)


def allow_files(wanted: int) -> None:
    """As many open files as connections need, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def greeting(settings: Settings, listener: socket.socket) -> str:
    """What a person reads when the server is ready."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    models = ", ".join(settings.models)
    return f"serving {models} at http://{shown}:{port}/ (Ctrl-C stops)"
