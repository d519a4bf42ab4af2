"""One connection without a network."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from longtail.serve.connection import Connection, connection_class
from longtail.serve.meter import Meter
from longtail.serve.settings import Limits

GUARD = SimpleNamespace(  # of a server that has room
    latest=SimpleNamespace(settle=lambda connection: None, busy=False),
    state=SimpleNamespace(queue=SimpleNamespace(full=False, overloaded=False)),
    turned_away=lambda *words: None,
    known=SimpleNamespace(find=lambda data: None),
)


class Transport(asyncio.Transport):
    """A client that may have left; writing to it is a mistake then, as it is to uvloop."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.written = False, b""

    def write(self, data: Any) -> None:
        if self.left:
            raise RuntimeError("the handler is closed")
        self.written += data

    def is_closing(self) -> bool:
        return self.left

    def close(self) -> None:
        self.left = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def test_an_answer_is_not_written_to_a_client_that_left_while_it_did_not_read():
    """The client sends a second request, stops reading, and leaves while the first answer waits to be written."""
    mistakes: list[Exception] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except Exception as error:
            mistakes.append(error)

    async def visit() -> None:
        config = uvicorn.Config(app, http=connection_class(Limits(), Meter(), GUARD), ws="none", log_config=None)  # type: ignore[arg-type]
        made: Any = config.http
        connection: Connection = made(config, ServerState(), {})
        transport = Transport()
        connection.connection_made(transport)
        connection.data_received(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        connection.pause_writing()
        await asyncio.sleep(0)  # the answer begins, and waits
        transport.left = True
        connection.connection_lost(None)
        await asyncio.sleep(0.01)
        assert transport.written == b""

    asyncio.run(visit())
    assert mistakes == []
