"""Requests that find the queue full: their whole answer is made before, and the log hears of them once a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from longtail.serve.headers import HEADERS
from longtail.serve.logs import Log
from longtail.serve.meter import Meter
from longtail.serve.problems import Problem, overloaded

Headers = Iterable[tuple[bytes, bytes]]
ANNIF = ("/v1/projects/", "/v1/detect-language")  # whose clients know 503 where ours get 429
PREDICTS = "/v1/predict"
SUGGESTS = {"/suggest": "annif_suggest", "/suggest-batch": "annif_suggest_batch"}
WAITING = (PREDICTS, *SUGGESTS)  # how paths end that wait in the queue


@dataclass(frozen=True)
class Refusal:
    """An answer."""

    route: str  # as metrics call it
    status: int
    kept: bytes  # what comes after the status line and the date, where the connection stays open
    closed: bytes  # the same where it does not


def _refusal(route: str, status: int) -> Refusal:
    """The same answer that the longer way through the guard gives."""
    told = overloaded()
    response = Problem(status, told.detail, headers=told.headers).response()
    pairs = [*response.raw_headers, *HEADERS, (b"cache-control", b"no-store")]
    head, body = b"".join(b"%s: %s\r\n" % pair for pair in pairs), bytes(response.body)
    return Refusal(route, status, head + b"\r\n" + body, head + b"connection: close\r\n\r\n" + body)


REFUSALS = {PREDICTS.encode(): _refusal("predict", HTTPStatus.TOO_MANY_REQUESTS)} | {
    ending.encode(): _refusal(route, HTTPStatus.SERVICE_UNAVAILABLE) for ending, route in SUGGESTS.items()
}


def ending_of(target: bytes) -> bytes:
    """The part of an address that says whether it waits in the queue.

    >>> ending_of(b"/v1/predict?x"), ending_of(b"/v1/projects/demo/suggest"), ending_of(b"/v1/projects/a/b/suggest")
    (b'/v1/predict', b'/suggest', b'')
    """
    path = target.partition(b"?")[0]
    if not path.startswith(b"/v1/projects/"):
        return path
    parts = path.split(b"/")
    return b"/" + parts[4] if len(parts) == 5 else b""


class KnownHeads:
    """Heads of requests that were refused: the same bytes at the beginning of a request mean the same once more.

    Whoever asks a full server asks again and again, so a look at the bytes saves to parse them, which takes most of the
    time of a refusal.  Only heads that passed the guard are here.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[Refusal, int]] = {}

    def find(self, data: bytes) -> Refusal | None:
        """How this was refused, if it is one whole request with a known head."""
        end = data.find(END)
        refusal, length = self._kept.get(data[:end], (None, 0))
        return refusal if end + len(END) + length == len(data) else None

    def keep(self, data: bytes, refusal: Refusal, headers: Headers) -> None:
        """Remember the head of a request that was refused; `data` is that request, whole and alone."""
        head, _, body = data.partition(END)
        lengths = [value for name, value in headers if name == b"content-length"]
        if lengths != [b"%d" % len(body)] or len(head) > LONGEST:
            return
        if len(self._kept) >= MOST:
            self._kept.clear()
        self._kept[head] = refusal, len(body)


END = b"\r\n\r\n"  # of a head
MOST, LONGEST = 1024, 2048  # heads that are kept, and bytes of one


class Reads(Protocol):
    """A connection."""

    def let_in(self, data: bytes) -> None:
        """Read a request."""

    def refuse_known(self, refusal: Refusal) -> None:
        """Refuse it without reading it."""


class Room(Protocol):
    """The queue."""

    @property
    def full(self) -> bool:
        """Whether no request may wait; where it is so, one more counts as refused."""

    def make_room(self) -> None:
        """One was refused for the sake of a later one."""


class Latest:
    """Of the requests that are read together in an overload the latest is let in; the others are refused afterwards.

    Others that are served first come, first served would wait until all that came before were answered or refused; the
    latest has waited least, and is answered nearly as soon as on an idle server.

        read, keep the latest ─► let it in ─► answer it, refuse the others ─┐
         ▲                                                                  │
         └────────────────────── while any was kept ────────────────────────┘

    Each arrow leads to the next turn of the event loop, and all that arrived meanwhile is read between two turns.
    Otherwise an answer would wait for refusals: of those that were read before it, and of those that were read after.
    """

    def __init__(self, room: Room):
        self.busy = False  # one is let in, and the others wait for its answer to be written
        self._kept: tuple[Reads, bytes, Refusal] | None = None
        self._earlier: dict[Reads, Refusal] = {}
        self._room = room

    def keep(self, connection: Reads, data: bytes, refusal: Refusal) -> None:
        """This is the latest by now."""
        if not self.busy:
            self.busy = True
            _soon(self._let_in)  # when all that arrived is read
        if self._kept is not None:
            earlier, _, its_refusal = self._kept
            self._earlier[earlier] = its_refusal
        self._kept = connection, data, refusal

    def settle(self, connection: Reads) -> None:
        """Do not wait any more, if something of this connection's waits."""
        if self._kept is not None and self._kept[0] is connection:
            self._admit()
        elif (refusal := self._earlier.pop(connection, None)) is not None:
            self._displace(connection, refusal)

    def _let_in(self) -> None:
        self._admit()
        _soon(self._refuse)  # after what answers

    def _admit(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept[0].let_in(kept[1])

    def _refuse(self) -> None:
        if self._kept is not None and self._room.full:
            connection, _, refusal = self._kept
            self._kept = None
            connection.refuse_known(refusal)
        earlier, self._earlier = self._earlier, {}
        for connection, refusal in earlier.items():
            self._displace(connection, refusal)
        self.busy = self._kept is not None
        if self.busy:
            _soon(self._let_in)  # unless a later one is read before

    def _displace(self, connection: Reads, refusal: Refusal) -> None:
        connection.refuse_known(refusal)
        self._room.make_room()


def _soon(function: Callable[..., object], *words: object) -> None:
    asyncio.get_running_loop().call_soon(function, *words)


class Refusals:
    """How many there were."""

    def __init__(self, meter: Meter, log: Log):
        self.meter, self.log = meter, log
        self._untold = 0

    def count(self, route: str, status: int, seconds: float) -> None:
        """A request was refused, so long after it was read."""
        self.meter.refusal(seconds)
        self.meter.request(route, status, seconds)
        if self._untold == 0:
            asyncio.get_running_loop().call_later(1.0, self._tell)
        self._untold += 1

    def _tell(self) -> None:
        """One line a second: an overload must not be made worse by telling of it."""
        self.log.say("refused", "warning", requests=self._untold, reason="the queue was full")
        self._untold = 0
