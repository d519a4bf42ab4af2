"""What every request passes before a route sees it, and every answer before a client does.

Admission (host, origin, token, a full queue), security headers, problems instead of exceptions, one line of the log,
and the counters.
"""

from __future__ import annotations

import hashlib
import hmac
import time
import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from longtail.errors import ConfigError, CorpusError, LongtailError
from longtail.serve.headers import HEADERS
from longtail.serve.overload import ANNIF, REFUSALS, WAITING, Headers, KnownHeads, Latest, Refusal, Refusals, ending_of
from longtail.serve.problems import LEFT, ClientLeft, Problem, overloaded
from longtail.serve.settings import is_loopback
from longtail.serve.state import NOTES, STATE, State

# Without a token: whether the process lives, whether it is ready, and the page, which asks for the token.
OPEN = ("/livez", "/readyz", "/", "/v1/limits")
OPEN_BELOW = "/page/"


class Guard:
    """The application that uvicorn runs."""

    def __init__(self, state: State, routes: ASGIApp, name_of: Callable[[Scope], str]):
        self.state, self.routes, self.name_of = state, routes, name_of
        token = state.settings.token
        self._token = None if token is None else _digest(f"Bearer {token}".encode())
        self._running = 0
        self.refusals, self.known = Refusals(state.meter, state.log), KnownHeads()
        self.latest = Latest(state.queue)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        started, answer = time.perf_counter(), Answer(send)
        scope["app"], scope[STATE] = self, self.state
        self._running += 1
        self.state.meter.gauge("requests_in_progress", self._running)
        try:
            await self._answered(scope, receive, answer)
        except ClientLeft:
            answer.status = LEFT
        finally:
            self._running -= 1
            self.state.meter.gauge("requests_in_progress", self._running)
            seconds = time.perf_counter() - started
            if answer.refused:
                self.refusals.count(self.name_of(scope), answer.status, seconds)
            else:
                self._record(scope, answer.status, seconds)

    async def _answered(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        try:
            self._admit(scope["method"], scope["path"], scope["headers"])
            if self._must_refuse(scope):
                raise overloaded()
            await self.routes(scope, receive, answer)
            return
        except (Problem, HTTPException, LongtailError) as error:
            problem = _as_problem(error)
        except ClientLeft:
            raise
        except Exception:
            self.state.log.say("error", "error", path=scope["path"], traceback=traceback.format_exc())
            problem = Problem(500, "the server made a mistake; its log has the details")
        if not answer.status:
            answer.refused = problem.status == 429
            problem = self._shaped(problem, scope)
            await problem.response()(scope, receive, answer)

    def _must_refuse(self, scope: Scope) -> bool:
        """Whether the queue is full and this would wait in it: then its body need not be read."""
        return scope["method"] == "POST" and scope["path"].endswith(WAITING) and self.state.queue.full

    def _shaped(self, problem: Problem, scope: Scope) -> Problem:
        """Annif's clients know 503 where ours get 429."""
        if problem.status == 429 and scope["path"].startswith(ANNIF):
            return Problem(503, problem.detail, headers=problem.headers)
        return problem

    # -- admission -----------------------------------------------------------------------------------------------------

    def turned_away(self, method: bytes, target: bytes, headers: Headers) -> Refusal | None:
        """The answer to a request that finds the queue full, before anything is made of it; or None.

        With more requests than can be answered, this is what the server does most.
        """
        refusal = REFUSALS.get(ending_of(target)) if method == b"POST" else None
        if refusal is None:
            return None
        if not self.state.queue.full:
            self.state.queue.expect()
            return None
        try:
            self._admit("POST", target.decode("ascii").partition("?")[0], headers)
        except (Problem, UnicodeDecodeError):
            return None  # the longer way tells why
        return refusal

    def _admit(self, method: str, path: str, headers: Headers) -> None:
        """Raises where this client may not ask this."""
        wanted = dict.fromkeys((b"host", b"origin", b"authorization"))
        for name, value in headers:
            if name in wanted:
                wanted[name] = value
        self._check_origin(method, wanted)
        if self._token is None:
            self._check_host(wanted[b"host"])
        elif path not in OPEN and not path.startswith(OPEN_BELOW):
            self._check_token(wanted[b"authorization"])

    def _check_host(self, given: bytes | None) -> None:
        """A page of another host can have its name lead here, and would then be taken for ours (DNS rebinding)."""
        if given is None:
            return
        host = host_of(given)
        if not is_loopback(host) and host not in self.state.settings.hosts:
            raise Problem(
                421, f"this server is not called {host!a:.70}; start it with --allow-host NAME or --token-file FILE"
            )

    def _check_origin(self, method: str, given: dict[bytes, Any]) -> None:
        """Pages of other hosts may not change anything here, nor ask."""
        origin = given[b"origin"]
        if method in ("GET", "HEAD") or origin is None:
            return
        own = given[b"host"]
        if own is None or origin.partition(b"://")[2].lower() != own.lower():
            raise Problem(403, f"requests from pages of another host, {origin.decode('latin-1')!a:.70}, are refused")

    def _check_token(self, given: bytes | None) -> None:
        # Digests are of one length, so that comparing takes as long whatever was given.
        if given is None or not hmac.compare_digest(_digest(given), self._token or b""):
            raise Problem(
                401,
                "send the server's token in the header Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        name = self.name_of(scope)
        self.state.meter.request(name, status, seconds)
        client = scope.get("client")
        self.state.log.say(
            "request", method=scope["method"], path=scope["path"], status=status, ms=round(1000 * seconds, 3),
            client=client[0] if client else None, **scope.get(NOTES, {}),
        )  # fmt: skip


class Answer:
    """What is sent, with the headers that every answer has; `status` is 0 until it begins."""

    def __init__(self, send: Send):
        self._send, self.status, self.refused = send, 0, False

    async def __call__(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            named = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in HEADERS if pair[0] not in named)]
            if b"cache-control" not in named:
                message["headers"].append((b"cache-control", b"no-store"))
        await self._send(message)


def _as_problem(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return Problem(
            error.status_code, NOWHERE.get(error.status_code, error.detail), headers=dict(error.headers or {})
        )
    # The request is well formed, but what it holds is not, or this model cannot do it.
    status = 422 if isinstance(error, CorpusError) else 409 if isinstance(error, ConfigError) else 503
    return Problem(status, str(error))


NOWHERE = {404: "there is nothing at this address; /openapi.json lists what there is", 405: "not with this method"}


def host_of(given: bytes) -> str:
    """The name in a Host header, without the port.

    >>> host_of(b"[::1]:8080"), host_of(b"localhost:1"), host_of(b"LOCALHOST")
    ('::1', 'localhost', 'localhost')
    """
    try:
        return urlsplit(f"//{given.decode('latin-1')}").hostname or ""
    except ValueError:
        return ""


def _digest(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()
