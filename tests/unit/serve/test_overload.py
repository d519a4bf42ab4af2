"""Requests that find the queue full: which bytes are known to be one of them, and which is let in."""

from __future__ import annotations

import asyncio

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
    """A connection that tells what becomes of its requests."""

    def __init__(self, told: list[str], name: str) -> None:
        self.told, self.name = told, name

    def let_in(self, data: bytes) -> None:
        self.told.append(f"{self.name} is let in")
        asyncio.get_running_loop().call_soon(self.told.append, f"{self.name} is answered")

    def refuse_known(self, refusal: Refusal) -> None:
        self.told.append(f"{self.name} is refused")


class Room:
    """A queue that counts who made room for others."""

    def __init__(self, full: bool = False) -> None:
        self.full, self.made = full, 0

    def make_room(self) -> None:
        self.made += 1


def in_turns(*reads: str, full: bool = False) -> tuple[list[str], int]:
    """What becomes of clients that are read in each turn of an event loop, and how many made room."""
    told: list[str] = []
    turned: list[str] = []
    room = Room(full)

    async def turns() -> None:
        latest, clients = Latest(room), {name: Client(told, name) for name in "".join(reads)}
        for names in (*reads, *[""] * 9):
            for name in names:
                latest.settle(clients[name])
                latest.keep(clients[name], name.encode(), REFUSAL)
            await asyncio.sleep(0)
            turned.append(" ".join(told))
            told.clear()
        assert not latest.busy

    asyncio.run(turns())
    while not turned[-1]:
        turned.pop()
    return turned, room.made


def test_the_latest_of_those_that_are_read_together_is_let_in():
    told, made_room = in_turns("abc")
    assert told == ["c is let in", "c is answered a is refused b is refused"]
    assert made_room == 2


def test_those_that_are_read_meanwhile_are_refused_after_the_answer():
    told, made_room = in_turns("ab", "cd", "e")
    assert told == [
        "b is let in",
        "b is answered a is refused c is refused",
        "e is let in",
        "e is answered d is refused",
    ]
    assert made_room == 3


def test_where_no_room_is_left_all_are_refused():
    told, made_room = in_turns("ab", "cd", full=True)
    assert told == ["b is let in", "b is answered d is refused a is refused c is refused"]
    assert made_room == 2  # the queue has counted the fourth


def test_what_a_client_sends_next_does_not_overtake_what_it_sent():
    told, _ = in_turns("aa")
    assert told == ["a is let in a is let in a is answered", "a is answered"]
    told, _ = in_turns("aba")
    assert told == ["a is refused a is let in", "a is answered b is refused"]
