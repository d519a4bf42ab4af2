"""The load generator for overloads: what it sends, and what it makes of answers and of connections that end."""

from __future__ import annotations

import socket
import threading

from benchmarks.flood import Flood, ceiling
from benchmarks.load import Outcome

REQUEST = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"


def test_every_request_is_answered_by_a_server_that_does_nothing_else():
    assert ceiling([REQUEST], 0.2) > 0


def answer(listener: socket.socket, told: bytes) -> None:
    """Answer one request, and wait for the client to leave; without an answer leave first."""
    with listener.accept()[0] as connection:
        connection.settimeout(10)
        connection.recv(100)
        if told:
            connection.sendall(told)
            connection.recv(100)


def test_refusals_wrong_answers_and_lost_connections_are_told_apart():
    right = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes"
    refused = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answers = [right, right.replace(b"yes", b"yet"), refused, b""]
        threads = [threading.Thread(target=answer, args=(listener, one)) for one in answers]
        for thread in threads:
            thread.start()
        flood = Flood(listener.getsockname()[1], [REQUEST], [b"yes"], connections=4)
        flood.outcome = outcome = Outcome(rate=4)
        for _ in answers:
            flood._send(0, due=0.0)
        while flood.busy:
            flood._receive(timer=-1, wait=1)
        flood.close()
        for thread in threads:
            thread.join(10)
    assert outcome.statuses == {200: 2, 429: 1}
    assert (outcome.wrong, outcome.broken) == (1, 1)
