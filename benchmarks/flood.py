"""A load generator for overloads: plain sockets and epoll, at 10 to 15 µs of processor time a request.

    python -m benchmarks.flood

Like load.py it is open-loop and counts latency from the moment a request was due.  Unlike it, the connections are open
before the first request, and there are never more of them: a client that opens another connection whenever an answer is
late measures how fast connections are accepted.  A request that finds all of them busy waits, and its wait counts.
Requests that are due are sent four times a millisecond.  The command tells how many requests a second the generator
itself can send, against a server that does nothing else than to send the same bytes.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from benchmarks.load import Outcome, post

CONNECTIONS = 256
TICK = 0.00025  # seconds between two looks at the clock
LATE = 5.0  # seconds that the last answers may take
LARGEST = 1 << 18  # bytes that are read at once


class Connection:
    """One request at a time."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)  # a request never waits in here
        self.socket.setblocking(False)
        self.at, self.due, self.sent, self.buffer = -1, 0.0, 0.0, b""


class Flood:
    """Requests to send by turns, and the bodies that are right for them."""

    def __init__(
        self, port: int, requests: list[bytes], right: list[bytes | None] | None = None, connections: int = CONNECTIONS
    ):
        self.port, self.requests, self.right = port, requests, right or [None] * len(requests)
        self.by_number: dict[int, Connection] = {}
        self.idle: deque[Connection] = deque()  # by turns, so that none is idle for long
        self.busy, self.epoll = 0, select.epoll()
        for _ in range(connections):
            self._open()

    def run(self, rate: float, seconds: float) -> Outcome:
        """Send so many requests a second for so long; where the rate is more than it can, as many as it can."""
        self.outcome = outcome = Outcome(rate)
        gc.collect()
        gc.disable()
        try:
            with ticking(max(TICK, 1 / rate)) as timer:
                self.epoll.register(timer, select.EPOLLIN)
                self._send_all(timer, rate, seconds)
        finally:
            gc.enable()
        outcome.broken += self.busy  # never answered
        outcome.seconds = time.monotonic() - outcome.started
        return outcome

    def close(self) -> None:
        for one in self.by_number.values():
            one.socket.close()
        self.epoll.close()

    def _send_all(self, timer: int, rate: float, seconds: float) -> None:
        started, number, total = time.monotonic(), 0, int(rate * seconds)
        self.outcome.started = started
        while (now := time.monotonic()) < started + seconds and number < total:
            due = min(total, int((now - started) * rate) + 1)
            while number < due and self.idle:
                self._send(number % len(self.requests), started + number / rate)
                number += 1
            self._receive(timer, -1)
        self.outcome.sent = number
        until = time.monotonic() + LATE
        while self.busy and time.monotonic() < until:
            self._receive(timer, 0.01)

    def _send(self, at: int, due: float) -> None:
        one = self.idle.popleft()
        one.at, one.due, one.sent, one.buffer = at, due, time.monotonic(), b""
        self.busy += 1
        try:
            whole = one.socket.send(self.requests[at]) == len(self.requests[at])
        except OSError:
            whole = False
        if not whole:
            self._lose(one)

    def _receive(self, timer: int, wait: float) -> None:
        for number, _ in self.epoll.poll(wait):
            if number == timer:
                os.read(timer, 8)
                continue
            one = self.by_number[number]
            try:
                data = one.socket.recv(LARGEST)
            except OSError:
                data = b""
            if not data:
                self._lose(one)
            elif one.at >= 0:
                one.buffer = one.buffer + data if one.buffer else data
                self._read(one)

    def _read(self, one: Connection) -> None:
        """Take an answer that is whole."""
        told = one.buffer
        end = told.find(b"\r\n\r\n")
        length = told.find(b"content-length: ", 0, end) + 16
        if end < 0 or len(told) < end + 4 + int(told[length : told.index(b"\r", length)]):
            return
        status, right = int(told[9:12]), self.right[one.at]
        self.outcome.add(status, one.due, one.sent, time.monotonic())
        if status == 200 and right is not None and told[end + 4 :] != right:
            self.outcome.wrong += 1
        one.at = -1
        self.busy -= 1
        self.idle.append(one)

    def _lose(self, one: Connection) -> None:
        """The server closed it: another takes its place."""
        self.epoll.unregister(one.socket)
        del self.by_number[one.socket.fileno()]
        one.socket.close()
        if one.at >= 0:
            self.busy -= 1
            self.outcome.broken += 1
        else:
            self.idle.remove(one)
        with suppress(OSError):  # then there is one less
            self._open()

    def _open(self) -> None:
        one = Connection(self.port)
        self.by_number[one.socket.fileno()] = one
        self.epoll.register(one.socket, select.EPOLLIN)
        self.idle.append(one)


@contextmanager
def ticking(seconds: float) -> Iterator[int]:
    """A descriptor that is readable every so many seconds; epoll's own time-out counts milliseconds."""
    libc = ctypes.CDLL(None, use_errno=True)
    timer = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    nanoseconds = round(1e9 * seconds)
    every = divmod(nanoseconds, 1_000_000_000)
    libc.timerfd_settime(timer, 0, (ctypes.c_long * 4)(*every, *every), None)
    try:
        yield timer
    finally:
        os.close(timer)


# -- what the generator itself can do ----------------------------------------------------------------------------------


def ceiling(requests: list[bytes], seconds: float = 3.0) -> float:
    """Requests a second that the generator sends where each is answered at once with as many bytes as a refusal has."""
    command = [sys.executable, "-c", f"from benchmarks.flood import answer_at_once; answer_at_once({CONNECTIONS})"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        flood = Flood(int(process.stdout.readline()), requests)
        outcome = flood.run(200_000, seconds)  # more than it can
        flood.close()
        return outcome.statuses[200] / outcome.seconds
    finally:
        process.terminate()
        process.wait(10)


def answer_at_once(connections: int) -> None:
    """A server that answers whatever it reads, without looking at it."""
    listener, epoll = socket.create_server(("127.0.0.1", 0), backlog=connections), select.epoll()
    print(listener.getsockname()[1], flush=True)
    body = b"x" * 150
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n%s\r\n" % (len(body), b"a: b\r\n" * 60) + body
    opened = {}
    for _ in range(connections):
        one = listener.accept()[0]
        opened[one.fileno()] = one
        epoll.register(one, select.EPOLLIN)
    while True:
        for number, _ in epoll.poll():
            if opened[number].recv(LARGEST):
                opened[number].send(answer)
            else:
                epoll.unregister(number)


def main() -> None:
    for texts in (1, 32, 256):
        requests = [post("/v1/predict", json.dumps({"texts": ["a word and another " * 4] * texts}).encode())]
        print(f"requests of {texts} texts: {ceiling(requests):,.0f} a second")


if __name__ == "__main__":
    main()
