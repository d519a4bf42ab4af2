"""Random requests, as somebody's broken program could send them."""

from __future__ import annotations

import http.client
import json
import random
from collections import Counter
from typing import Any

from tests.planted import word

GET = (
    "/v1/models", "/v1/models/linear", "/v1/labels", "/v1/labels/L1", "/v1/limits", "/metrics", "/", "/v1/projects",
    "/v1/vocabs", "/v1/", "/openapi.json", "/page/x", "/v1/projects/nobody",
)  # fmt: skip
POST = (
    "/v1/predict", "/v1/predict", "/v1/projects/linear/suggest", "/v1/projects/linear/suggest-batch",
    "/v1/projects/linear/learn", "/v1/detect-language", "/v1/projects/nobody/suggest",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH")
KINDS = ["application/json"] * 5 + ["application/x-www-form-urlencoded"] * 3 + ["text/plain", "", "a/b"]
JUNK = ("1", "0", "-1", "1e9", "nan", "%00", "%ff", "%F0%9F%98%80", "aaaa", word(4), "", "true")
PLAIN = (
    None, True, False, 0, 1, 5, -1, 2**70, 0.5, 1e300, float("nan"), "", "auto", "linear", "en", "\ud800", "\U0001f600",
    "\0", word(3), "x" * 2999,
)  # fmt: skip
NAMES = (
    "text", "texts", "model", "k", "threshold", "documents", "document_id", "metadata", "languages", "labels", "id",
    "name", "examples", "subjects", "uri", "other",
)  # fmt: skip


def fuzzed(rng: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """A request that somebody's broken program could send."""
    method = rng.choices(("GET", "POST"), (1, 3))[0]
    path, kind = rng.choice(GET if method == "GET" else POST), rng.choice(KINDS)
    if rng.random() < 0.3:
        path += "?" + pairs(rng, ("q", "k", "limit", "model", "threshold", "x"))
    if "form" in kind and rng.random() < 0.8:
        body = pairs(rng, ("text", "limit", "threshold", "language", "metadata_x", "y")).encode()
    else:
        body = json.dumps(nearly_right(rng) if rng.random() < 0.5 else value(rng, 4)).encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        at = rng.randrange(len(body) + 1)
        body = body[:at] + rng.randbytes(rng.randrange(5)) + body[at + rng.randrange(3) :]
    return method if rng.random() < 0.9 else rng.choice(METHODS), path, body, {"Content-Type": kind}


def nearly_right(rng: random.Random) -> dict[str, Any]:
    """The fields of a good request, some of them with a value of another kind."""
    text, document = rng.choice((word(5), "", "\0", "x" * 300)), {"text": word(3), "document_id": "1"}
    query = rng.choice((
        {"text": text, "k": rng.choice((1, 5, 50)), "threshold": rng.choice((0, 0.5, 1))},
        {"texts": [text] * rng.randrange(6), "explain": rng.random() < 0.1},
        {"documents": [document] * rng.randrange(4)},
        {"text": text, "languages": rng.sample(("en", "fi", "de", "xx"), rng.randrange(4))},
    ))  # fmt: skip
    return {name: value(rng, 1) if rng.random() < 0.2 else one for name, one in query.items()}


def pairs(rng: random.Random, names: tuple[str, ...]) -> str:
    return "&".join(f"{rng.choice(names)}={rng.choice(JUNK)}" for _ in range(rng.randrange(5)))


def value(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(PLAIN)
    if rng.random() < 0.75:
        return {name: value(rng, depth - 1) for name in rng.sample(NAMES, rng.randrange(5))}
    return [value(rng, depth - 1) for _ in range(rng.randrange(6))]


def fuzz(port: int, count: int, seed: int, model: str = "linear") -> tuple[Counter[int], list[object]]:
    """How often each status came, and the requests that the server made a mistake at."""
    rng, statuses, mistakes = random.Random(seed), Counter[int](), []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for _ in range(count):
        method, path, body, headers = fuzzed(rng)
        try:
            connection.request(method, path.replace("linear", model), body, headers)
            answer = connection.getresponse()
            received = answer.read()
        except (OSError, http.client.RemoteDisconnected):  # closed after a refusal; the next request opens another
            connection.close()
            continue
        if answer.headers.get("Connection") == "close":
            connection.close()
        statuses[answer.status] += 1
        if answer.status >= 500:
            mistakes.append((method, path, body, received))
    connection.close()
    return statuses, mistakes
