"""An open-loop load generator: requests leave at a constant rate whether or not earlier ones were answered.

Latency is counted from the moment a request was due, not from when it could be sent: a server that stalls cannot
hide it.  Requests that are due are sent once a millisecond.  Connections are kept alive; where all are busy another is
opened.  How late the generator itself is, which shares two cores with the server, is told beside (`late`).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

MOST = 4000  # connections
POOL = 32  # connections that are open before the first request
AT_ONCE = 64  # requests that are sent before answers are read
LATE = 30.0  # seconds that the last answers may take


@dataclass
class Outcome:
    """What became of the requests of one run."""

    rate: float
    started: float = 0.0  # by time.monotonic
    seconds: float = 0.0
    sent: int = 0
    statuses: Counter = field(default_factory=Counter)
    wrong: int = 0  # answers with status 200 that are not the predictor's
    broken: int = 0  # connections that ended before the answer
    latencies: dict[int, list[float]] = field(default_factory=dict)  # by status, from when requests were due
    answers: dict[int, list[float]] = field(default_factory=dict)  # by status, from when requests were sent
    late: list[float] = field(default_factory=list)  # from due to sent
    finished: list[float] = field(default_factory=list)  # when good answers came, by time.monotonic
    failed: list[float] = field(default_factory=list)  # when others did

    def add(self, status: int, due: float, sent: float, now: float) -> None:
        self.statuses[status] += 1
        self.latencies.setdefault(status, []).append(now - due)
        self.answers.setdefault(status, []).append(now - sent)
        self.late.append(sent - due)
        (self.finished if status == 200 else self.failed).append(now)

    def last_trouble(self, slow: float) -> float:
        """Seconds from the start to the last answer that was a refusal, or took longer than so many seconds."""
        times = [at for at, latency in zip(self.finished, self.latencies.get(200, [])) if latency > slow]
        return round(max([*times, *self.failed], default=self.started) - self.started, 2)

    def percentile(self, share: float, status: int = 200) -> float | None:
        """In milliseconds."""
        return percentile(self.latencies.get(status), share)

    def since_sent(self, share: float, status: int = 200) -> float | None:
        """In milliseconds, without what the generator itself was late."""
        return percentile(self.answers.get(status), share)

    @property
    def errors(self) -> int:
        return self.broken + sum(count for status, count in self.statuses.items() if status != 200)

    def longest_gap(self) -> float:
        """Seconds without a good answer."""
        return round(float(np.diff(self.finished).max()), 3) if len(self.finished) > 1 else float("inf")

    def summary(self) -> dict:
        return {
            "requests/s": round(self.rate), "seconds": round(self.seconds, 1), "sent": self.sent,
            "answered": self.statuses[200], "errors": self.errors, "wrong": self.wrong, "broken": self.broken,
            "p50 ms": self.percentile(50), "p99 ms": self.percentile(99), "p99.9 ms": self.percentile(99.9),
            "max ms": self.percentile(100), "refused": self.statuses[429],
        }  # fmt: skip


def percentile(seconds: list[float] | None, share: float) -> float | None:
    """In milliseconds."""
    return round(1000 * float(np.percentile(seconds, share)), 2) if seconds else None


class Connection(asyncio.Protocol):
    """One connection: one request at a time."""

    def __init__(self, load: Load):
        self.load, self.buffer, self.at, self.due, self.sent, self.need = load, b"", -1, 0.0, 0.0, None

    def connection_made(self, transport):
        self.transport = transport

    def send(self, at: int, due: float) -> None:
        self.at, self.due, self.sent, self.buffer, self.need = at, due, time.monotonic(), b"", None
        self.transport.write(self.load.requests[at])

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.need is None:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].lower()
            start = head.find(b"content-length: ") + 16
            self.need = end + 4 + int(head[start:].split(b"\r\n", 1)[0])
            self.body = end + 4
        if len(self.buffer) >= self.need:
            self.load.answered(self, int(self.buffer[9:12]), self.buffer[self.body :])

    def connection_lost(self, error):
        self.load.lost(self)


class Load:
    """Requests to send by turns, and the bodies that are right for them."""

    def __init__(self, port: int, requests: list[bytes], right: list[bytes | None] | None = None):
        self.port, self.requests = port, requests
        self.right = right or [None] * len(requests)
        self.idle: deque[Connection] = deque()
        self.opening: set[asyncio.Task] = set()
        self.open = self.running = 0
        self.end = math.inf  # when to stop, by time.monotonic

    async def run(self, rate: float, seconds: float) -> Outcome:
        self.outcome, total = Outcome(rate), int(rate * seconds)
        await asyncio.gather(*(self._open() for _ in range(POOL)))
        started, number = time.monotonic(), 0
        self.outcome.started = started
        while number < total and time.monotonic() < self.end:
            due = min(total, int((time.monotonic() - started) * rate) + 1, number + AT_ONCE)
            while number < due:
                self._start(number % len(self.requests), started + number / rate)
                number += 1
            await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
        until = time.monotonic() + LATE
        while self.running and time.monotonic() < until:
            await asyncio.sleep(0.01)
        self.outcome.broken += self.running  # never answered
        self.outcome.seconds, self.running = time.monotonic() - started, 0
        return self.outcome

    def end_in(self, seconds: float) -> None:
        """Send requests for so long, and then no more."""
        self.end = time.monotonic() + seconds

    def _start(self, at: int, due: float) -> None:
        self.outcome.sent += 1
        self.running += 1
        while self.idle:
            connection = self.idle.pop()
            if not connection.transport.is_closing():
                connection.send(at, due)
                return
        if self.open >= MOST:
            self.outcome.broken += 1
            self.running -= 1
            return
        task = asyncio.create_task(self._open(at, due))
        self.opening.add(task)
        task.add_done_callback(self.opening.discard)

    async def _open(self, at: int = -1, due: float = 0.0) -> None:
        """Another connection, for a request or for later."""
        loop = asyncio.get_running_loop()
        self.open += 1
        try:
            _, connection = await loop.create_connection(lambda: Connection(self), "127.0.0.1", self.port)
        except OSError:
            self.open -= 1
            self.running -= at >= 0
            self.outcome.broken += at >= 0
            return
        if at < 0:
            self.idle.append(connection)
        else:
            connection.send(at, due)

    def answered(self, connection: Connection, status: int, body: bytes) -> None:
        if connection.at < 0:  # nobody asked
            return
        self.running -= 1
        self.outcome.add(status, connection.due, connection.sent, time.monotonic())
        right = self.right[connection.at]
        if status == 200 and right is not None and body != right:
            self.outcome.wrong += 1
        connection.at = -1
        self.idle.append(connection)

    def lost(self, connection: Connection) -> None:
        self.open -= 1
        if connection.at >= 0:
            self.running -= 1
            self.outcome.broken += 1

    def close(self) -> None:
        for connection in self.idle:
            connection.transport.close()


def post(path: str, body: bytes, kind: str = "application/json") -> bytes:
    """A request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
