"""One connection: uvicorn's, with what it lacks against clients that are slow on purpose.

uvicorn waits for ever for a request that began and does not end and for a client that does not read its answer, takes
headers of any length and any number of requests ahead, and lets as many connect as there are file descriptors.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from longtail.serve.guard import Guard
from longtail.serve.meter import Meter
from longtail.serve.overload import Refusal
from longtail.serve.settings import Limits
from longtail.serve.state import ARRIVED, LEAVING

PIPELINED = 16  # requests that a client may send before it reads an answer
LONGEST_HEADERS = 32_768  # bytes of a request line and all headers


def connection_class(limits: Limits, meter: Meter, guard: Guard) -> type[HttpToolsProtocol]:
    """The class of connections with these limits."""
    return type("Bounded", (Connection,), {"limits": limits, "meter": meter, "guard": guard})


class Connection(HttpToolsProtocol):
    """Headers arrive in time and are not too long; whoever leaves is forgotten."""

    limits: Limits
    meter: Meter
    guard: Guard

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connects; one too many is turned away."""
        super().connection_made(transport)
        self.leaving: set[asyncio.Future[Any]] = set()
        self._answering: RequestResponseCycle | None = None  # `cycle` is the latest, which may wait behind it
        self._head = 0  # bytes of a request that began
        self._reason = "this is not HTTP"
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._answered = False  # the request was refused when its headers were there; its body is of no use
        self._resting = True  # nothing of the next request was read yet
        self._begun = 0  # requests that began with the bytes read latest
        self._refused: Refusal | None = None  # the answer to one of them, where the connection stays open
        self._read = time.perf_counter()  # when the latest bytes were read
        self.meter.gauge("connections", len(self.connections))
        if len(self.connections) > self.limits.connections:
            transport.abort()
        else:
            self._await_next(self.timeout_keep_alive)  # browsers connect before they ask; it is idle until a byte comes

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits for what is still being predicted."""
        self._cancel_timer()
        if self._unread is not None:
            self._unread.cancel()
        for future in list(self.leaving):
            future.cancel()
        if self._answering is not None:
            self._answering.disconnected = True
        super().connection_lost(exc)
        self.meter.gauge("connections", len(self.connections))

    def data_received(self, data: bytes) -> None:
        """Count what arrives before the headers are complete."""
        self._read = time.perf_counter()
        self.guard.latest.settle(self)  # what it sent before comes first
        if not (self._resting and self._is_free() and self._shed(data)):
            self.let_in(data)

    def let_in(self, data: bytes) -> None:
        """Read what arrived."""
        if self.transport.is_closing():
            return
        resting = self._resting and self._is_free()
        self._head += len(data)
        self._begun, self._refused = 0, None
        super().data_received(data)
        if resting and self._refused is not None and self._begun == 1 and self._resting:
            self.guard.known.keep(data, self._refused, self.headers)
        if self._answered and self._timer is None:  # more of the body is to come
            self._timer = self.loop.call_later(self.limits.arrival, self.transport.abort)
        if self._head > LONGEST_HEADERS and self._awaits_headers and not self.transport.is_closing():
            self._refuse(431, f"the headers are longer than {LONGEST_HEADERS:,} bytes")
        if resting and self._begun == 0 and self.timeout_keep_alive_task is None:  # empty lines before a request
            self._await_next(self.timeout_keep_alive)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._resting = False
        self._begun += 1
        self.scope[LEAVING] = self.leaving  # type: ignore[literal-required]
        self._await_headers()

    def on_headers_complete(self) -> None:
        """Its headers are there."""
        self._cancel_timer()
        self._head = 0
        if len(self.pipeline) >= PIPELINED:
            self._reason = f"more than {PIPELINED} requests wait on one connection; read answers first"
            raise httptools.HttpParserError(self._reason)
        if not self._turned_away():
            super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:  # noqa: ANN401 - uvicorn's
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """A part of its body is there."""
        if not self._answered:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._resting = True
        if not self._answered:
            self.scope[ARRIVED] = True  # type: ignore[literal-required]
            super().on_message_complete()
            return
        self._answered = False
        self._cancel_timer()
        self._await_next(self.timeout_keep_alive)

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets a problem like everything else."""
        self._refuse(400, self._reason)

    def pause_writing(self) -> None:
        """A client does not read its answer."""
        super().pause_writing()
        self.flow.pause_reading()  # or refusals would pile up
        self._unread = self.loop.call_later(self.limits.arrival, self.transport.abort)

    def resume_writing(self) -> None:
        """It has read."""
        super().resume_writing()
        self.flow.resume_reading()
        if self._unread is not None:
            self._unread.cancel()

    # -- overload ------------------------------------------------------------------------------------------------------

    def _is_free(self) -> bool:
        """Whether no request of this connection is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _shed(self, data: bytes) -> bool:
        """In an overload a whole request whose head is known need not even be parsed to be refused; whether it was one.

        Where one may wait, it is the latest of those that are read together: it has waited least.
        """
        queue, latest = self.guard.state.queue, self.guard.latest
        full = not latest.busy and queue.full
        refusal = self.guard.known.find(data) if latest.busy or full or queue.overloaded else None
        if refusal is None or self.transport.is_closing():
            return False
        if full:
            self.refuse_known(refusal)
        else:
            latest.keep(self, data, refusal)
        return True

    def refuse_known(self, refusal: Refusal) -> None:
        """Refuse what was not parsed."""
        self._cancel_timer()
        if self.transport.is_closing():
            return
        self.transport.write(self._dated(refusal, refusal.kept))
        self.guard.refusals.count(refusal.route, refusal.status, time.perf_counter() - self._read)
        if self.timeout_keep_alive_task is None:
            self._await_next(self.timeout_keep_alive)

    def _turned_away(self) -> bool:
        """Refuse a request that finds the queue full, without a task of its own; whether it was."""
        if not self._is_free():
            return False  # answers keep their order
        refusal = self.guard.turned_away(self.parser.get_method(), self.url, self.headers)
        if refusal is None:
            return False
        keep = self.parser.should_keep_alive() and not self.expect_100_continue
        self.transport.write(self._dated(refusal, refusal.kept if keep else refusal.closed))
        if not keep:
            self.transport.close()
        self._answered = True
        self._refused = refusal if keep else None
        self.guard.refusals.count(refusal.route, refusal.status, time.perf_counter() - self._read)
        return True

    def _dated(self, refusal: Refusal, rest: bytes) -> bytes:
        date = b"".join(b"%s: %s\r\n" % pair for pair in self.server_state.default_headers)
        return STATUS_LINE[refusal.status] + date + rest

    # -- time ----------------------------------------------------------------------------------------------------------

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that was idle for too long; refusals do not set the timer anew, which would cost more."""
        left = self._read + self.timeout_keep_alive - time.perf_counter()
        if left > 0:
            self._await_next(left)
        else:
            super().timeout_keep_alive_handler()

    def _await_next(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    @property
    def _awaits_headers(self) -> bool:
        return self._timer is not None and not self._resting and not self._answered

    def _await_headers(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.limits.arrival, self._too_slow)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self._refuse(408, f"the headers did not arrive within {self.limits.arrival:g} s")

    def _refuse(self, status: int, detail: str) -> None:
        told = {"type": "about:blank", "title": "Bad Request", "status": status, "detail": detail}
        body = json.dumps(told).encode()
        head = b"content-type: application/problem+json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()
        # Closing waits until everything is read, which a client can put off for ever.
        self._cancel_timer()
        self._timer = self.loop.call_later(self.limits.arrival, self.transport.abort)
