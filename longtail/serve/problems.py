"""What a client is told when it gets no answer: `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus

from starlette.responses import Response


class Problem(Exception):
    """A request that is refused, with the sentence that the client reads."""

    def __init__(self, status: int, detail: str, title: str = "", headers: dict[str, str] | None = None):
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.title = title or HTTPStatus(status).phrase
        self.headers = headers or {}

    def response(self) -> Response:
        """As it is sent."""
        told = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        body = json.dumps(told, ensure_ascii=True).encode()
        return Response(body, self.status, self.headers, "application/problem+json")


class ClientLeft(Exception):
    """Nobody waits for the answer any more."""


LEFT = 499  # in logs and metrics: the client closed the connection first


def overloaded() -> Problem:
    """The queue is full."""
    return Problem(429, "the server has as many requests as it can answer in time; ask again", headers=RETRY)


def too_late(seconds: float) -> Problem:
    """The deadline is over."""
    return Problem(504, f"no answer within {seconds:g} s; ask again, or for less at once", headers=RETRY)


def starting() -> Problem:
    """The models are not open yet."""
    return Problem(503, "the models are being opened; ask again", headers=RETRY)


RETRY = {"Retry-After": "1"}
