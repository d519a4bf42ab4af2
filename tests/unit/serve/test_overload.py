"""Requests that find the queue full: which bytes are known to be one of them, and which is let in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from longtail.serve.overload import LONGEST, MOST, REFUSALS, KnownHeads, Latest, Refusal

REFUSAL = REFUSALS[b"/v1/predict"]


def head(length: int, more: bytes = b"") -> bytes:
    return b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d%s\r\n\r\n" % (length, more)


def headers(length: int) -> list[tuple[bytes, bytes]]:
    return [(b"host", b"localhost"), (b"content-length", b"%d" % length)]


def known(data: bytes, length: int) -> KnownHeads:
    heads = KnownHeads()
    heads.keep(data, REFUSAL, headers(length))
    return heads


def test_the_same_head_is_known_whatever_the_body_is():
    heads = known(head(4) + b"abcd", 4)
    assert heads.find(head(4) + b"wxyz") is REFUSAL


@pytest.mark.parametrize(
    "data",
    [
        head(4),  # the body is still to come
        head(4) + b"abc",
        head(4) + b"abcd" + head(4) + b"abcd",  # two requests
        head(5) + b"abcde",  # another head
        head(4, b"\r\nOrigin: http://elsewhere.example") + b"abcd",
        b"\r\n" + head(4) + b"abcd",
        head(4)[:-2],
        b"",
    ],
)
def test_anything_else_is_parsed(data: bytes):
    assert known(head(4) + b"abcd", 4).find(data) is None


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (head(4) + b"abc", headers(4)),
        (head(4) + b"abcd", []),  # its length is told in another way
        (head(4) + b"abcd", headers(4) * 2),
        (head(4, b"\r\nCookie: " + b"x" * LONGEST) + b"abcd", headers(4)),
    ],
)
def test_a_head_that_is_not_plain_is_not_kept(data: bytes, told: list[tuple[bytes, bytes]]):
    heads = KnownHeads()
    heads.keep(data, REFUSAL, told)
    assert heads.find(data) is None


def test_no_more_than_so_many_are_kept():
    heads = KnownHeads()
    for length in range(MOST + 1):
        heads.keep(head(length) + b"x" * length, REFUSAL, headers(length))
    assert len(heads._kept) == 1 and heads.find(head(MOST) + b"y" * MOST) is REFUSAL


class Client:
    """A connection that remembers what became of its requests."""

    def __init__(self) -> None:
        self.became: list[bytes | Refusal] = []

    def let_in(self, data: bytes) -> None:
        self.became.append(data)

    def refuse_known(self, refusal: Refusal) -> None:
        self.became.append(refusal)


def in_a_turn(work: Callable[[Latest], None]) -> int:
    """What is read in one turn of an event loop; how many made room."""
    made_room: list[None] = []

    async def turn() -> None:
        work(Latest(lambda: made_room.append(None)))
        await asyncio.sleep(0)

    asyncio.run(turn())
    return len(made_room)


def test_the_latest_of_those_that_are_read_together_is_let_in():
    clients = [Client() for _ in range(3)]

    def read(latest: Latest) -> None:
        for at, client in enumerate(clients):
            latest.keep(client, b"%d" % at, REFUSAL)
            assert not client.became  # a later one may come

    assert in_a_turn(read) == 2
    assert [client.became for client in clients] == [[REFUSAL], [REFUSAL], [b"2"]]


def test_what_a_client_sends_next_does_not_overtake_what_it_sent():
    first, second = Client(), Client()

    def read(latest: Latest) -> None:
        latest.keep(first, b"a", REFUSAL)
        latest.let_in(second)
        assert not first.became
        latest.let_in(first)
        assert first.became == [b"a"]
        latest.keep(second, b"b", REFUSAL)

    assert in_a_turn(read) == 0
    assert first.became == [b"a"] and second.became == [b"b"]
