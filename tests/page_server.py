"""A server for tests of the page: the HTTP interface of `longtail serve` with answers that can be worked out by hand.

A label scores σ(Σ weights of its words in the text − 3).  Model `subjects` is calibrated and can explain; `plain` is
neither.  `python -m tests.page_server` serves it on port 8099, to look at the page while working on it.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = Path(__file__).parents[1] / "longtail" / "serve" / "page"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
BIAS = -3.0

# name: training documents, words with their weights
SUBJECTS: dict[str, tuple[int, dict[str, float]]] = {
    "tigers": (3, {"tiger": 4.0, "tigers": 4.0, "striped": 1.5, "asia": 0.8}),
    "big cats": (42, {"cat": 2.2, "tiger": 2.0, "wild": 1.2, "leopard": 2.5}),
    "zoology": (310, {"zoologists": 2.5, "animals": 2.0, "hunts": 1.2, "wild": 0.9, "tiger": 0.7}),
    "nature conservation": (188, {"conservation": 2.8, "protect": 1.8, "remain": 0.6, "forests": 0.9}),
    "forests": (260, {"forests": 2.6, "trees": 2.2, "native": 0.5}),
    "nocturnal animals": (4, {"night": 2.4, "hunts": 1.1, "owls": 3.0}),
    "Asia": (530, {"asia": 2.9, "native": 0.4}),
    "cooking": (120, {"sauce": 2.5, "tomatoes": 2.4, "recipe": 3.0, "wild": -1.0}),
    "web servers": (95, {"server": 2.4, "http": 2.6, "proxy": 1.9}),
    "computer networks": (270, {"http": 1.4, "proxy": 1.7, "network": 3.0, "server": 0.8}),
}
TEXTS = {
    "tigers": "The tiger is a large wild cat with a striped coat, native to the forests of Asia. Zoologists study how "
    "it hunts at night, and conservation programmes protect the few that remain.",
}
CUTOFFS = [{"threshold": at / 20, "precision": 40 + 2.9 * at, "recall": 96 * (1 - (at / 20) ** 2)} for at in range(20)]
LIMITS = {"texts": 32, "text_bytes": 100_000, "body_bytes": 1_000_000, "k": 100}


@dataclass
class Fake:
    """What the server holds, and what it was asked."""

    token: str = ""
    busy: int = 0  # so many predictions are refused with 429 first
    can_add: bool = True
    delay: float = 0.0  # seconds a prediction takes
    held: dict[str, threading.Event] = field(default_factory=dict)  # a model's card waits for its event
    labels: dict[str, tuple[int, dict[str, float]]] = field(default_factory=lambda: dict(SUBJECTS))
    asked: list[dict[str, Any]] = field(default_factory=list)  # bodies of predictions

    def suggest(self, text: str, k: int = 5, threshold: float = 0.0) -> list[dict[str, Any]]:
        """What /v1/predict answers for one text."""
        found = [
            {"index": at, "id": name, "name": name, "score": 1 / (1 + math.exp(-self._logit(name, text)))}
            | {"count": self.labels[name][0]}
            for at, name in enumerate(self.labels)
        ]
        best = sorted(found, key=lambda label: -label["score"])[:k]
        return [label for label in best if label["score"] >= threshold]

    def _logit(self, name: str, text: str) -> float:
        return BIAS + sum(word["contribution"] for word in self.words(name, text))

    def words(self, name: str, text: str) -> list[dict[str, Any]]:
        """The label's words in a text."""
        weights = self.labels[name][1]
        return [
            {"text": word[0], "start": word.start(), "stop": word.end(), "contribution": weights[word[0].lower()]}
            for word in re.finditer(r"\w+", text)
            if word[0].lower() in weights
        ]

    def explain(self, text: str, k: int) -> dict[str, Any]:
        """An Explanation as JSON."""
        reasons = []
        for label in self.suggest(text, k):
            near = [name for name in self.labels if name != label["name"]][:3]
            reasons.append(
                label
                | {"probability": label["score"], "bias": BIAS, "logit": self._logit(label["name"], text)}
                | {"approximate": False, "words": self.words(label["name"], text)}
                | {"clusters": [{"cluster": label["index"] // 3, "belief": 0.83, "labels": near}]}
                | {"documents": [{"text": f"A training document about {label['name']}.", "similarity": 0.71}]}
            )
        return {"text": text, "labels": reasons}

    def add(self, labels: list[dict[str, Any]]) -> None:
        """New labels: every word of name, text and examples speaks for them."""
        for label in labels:
            said = " ".join([label["name"], label.get("text", ""), *label.get("examples", [])])
            self.labels[label["id"]] = (0, {word.lower(): 2.5 for word in re.findall(r"\w{4,}", said)})


class Problem(Exception):
    """An answer that is a refusal."""

    def __init__(self, status: int, detail: str):
        super().__init__(detail)
        self.status, self.detail = status, detail


class Handler(BaseHTTPRequestHandler):
    """Routes as in the agreed interface."""

    fake: Fake
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Pages and questions."""
        path = urlsplit(self.path).path
        if path == "/" or path.startswith("/page/"):
            self._file(PAGE / ("index.html" if path == "/" else path.removeprefix("/page/")))
        else:
            self._answer(lambda: self._get(path))

    def do_POST(self) -> None:
        """Predictions and new labels."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(lambda: self._post(urlsplit(self.path).path, body))

    def _get(self, path: str) -> dict[str, Any]:
        if path == "/v1/limits":
            return LIMITS | {"token_required": bool(self.fake.token)}
        self._authorise()
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        if path == "/v1/models":
            return {"models": [self._brief("subjects"), self._brief("plain")]}
        if path.startswith("/v1/models/"):
            return self._card(unquote(path.removeprefix("/v1/models/")))
        if path == "/v1/labels":
            return self._search(query.get("q", ""), int(query.get("limit", 20)))
        if path.startswith("/v1/labels/"):
            return self._label(unquote(path.removeprefix("/v1/labels/")))
        raise Problem(404, f"{path} is not here")

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self._authorise()
        if path == "/v1/labels":
            if not self.fake.can_add:
                raise Problem(501, "this version cannot add labels")
            self.fake.add(body["labels"])
            return {"added": len(body["labels"]), "model": body.get("model")}
        self.fake.asked.append(body)
        threading.Event().wait(self.fake.delay)
        if self.fake.busy > 0:
            self.fake.busy -= 1
            raise Problem(429, "the queue is full")
        return self._predict(body)

    def _predict(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = body.get("texts", [body.get("text")])
        if len(texts) > LIMITS["texts"]:
            raise Problem(422, f"at most {LIMITS['texts']} texts a request")
        k, threshold = body.get("k", 5), body.get("threshold", 0)
        lowest = 0.4 if threshold == "auto" else threshold
        results: list[dict[str, Any]] = [{"labels": self.fake.suggest(text, k, lowest)} for text in texts]
        if body.get("explain"):
            if body.get("model") == "plain":
                raise Problem(501, "this model cannot explain its suggestions")
            for text, result in zip(texts, results):
                result["explanation"] = self.fake.explain(text, k)
        return {"model": body.get("model", "subjects"), "results": results}

    def _authorise(self) -> None:
        if self.fake.token and self.headers.get("Authorization") != f"Bearer {self.fake.token}":
            raise Problem(401, "the token is missing or wrong")

    def _brief(self, name: str) -> dict[str, Any]:
        if name not in ("subjects", "plain"):
            raise Problem(404, f"there is no model {name}")
        return {
            "name": name, "method": "linear", "labels": len(self.fake.labels), "precision": "float32",
            "checksum": "5e1f" * 16, "default": name == "subjects", "calibrated": name == "subjects",
        }  # fmt: skip

    def _card(self, name: str) -> dict[str, Any]:
        if name in self.fake.held:
            self.fake.held[name].wait(timeout=30)
        return card(self._brief(name))

    def _search(self, query: str, limit: int) -> dict[str, Any]:
        names = [name for name in self.fake.labels if query.lower() in name.lower()]
        names.sort(key=lambda name: not name.lower().startswith(query.lower()))
        places = list(self.fake.labels)
        found = [
            {"index": places.index(name), "id": name, "name": name, "count": self.fake.labels[name][0]}
            for name in names
        ]
        return {"labels": found[:limit], "total": len(found)}

    def _label(self, id: str) -> dict[str, Any]:
        if id not in self.fake.labels:
            raise Problem(404, f"there is no label {id}")
        others = [name for name in self.fake.labels if name != id]
        return {
            "index": list(self.fake.labels).index(id), "id": id, "name": id, "text": TEXTS.get(id, ""),
            "count": self.fake.labels[id][0],
            "nearest": [{"id": n, "name": n, "similarity": 0.9 - 0.1 * at} for at, n in enumerate(others[:5])],
            "cluster": [{"id": n, "name": n} for n in others[2:6]],
        }  # fmt: skip

    # -- answering --------------------------------------------------------------------------------------------------

    def _answer(self, make: Any) -> None:
        try:
            self._send(201 if self.path == "/v1/labels" else 200, "application/json", json.dumps(make()).encode())
        except Problem as problem:
            said = {"type": "about:blank", "title": "Refused", "status": problem.status, "detail": problem.detail}
            self._send(problem.status, "application/problem+json", json.dumps(said).encode())

    def _file(self, path: Path) -> None:
        if path.is_file() and path.parent == PAGE:
            self._send(200, KINDS[path.suffix], path.read_bytes())
        else:
            self._send(404, "text/plain", b"not here")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", "default-src 'self'")
            if status == 429:
                self.send_header("Retry-After", "1")
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # whoever asked has left

    def log_message(self, *_: Any) -> None:
        """Nothing: tests say themselves what went wrong."""


def card(brief: dict[str, Any]) -> dict[str, Any]:
    """What /v1/models/{name} adds."""
    curve = [{"score": at / 10, "probability": min(0.98, (at / 10) ** 1.6 + 0.02)} for at in range(11)]
    auto = {"value": 0.4, "k": 10, "precision": 63.2, "recall": 80.6, "f1": 70.9}
    deciles = [
        {"decile": at, "labels": 4, "documents": 900 // at, "P@1": 60 - 3.7 * at, "P@5": 42 - 3.1 * at}
        for at in range(1, 11)
    ]
    metrics = {"P@1": 61.25, "P@3": 47.5, "P@5": 38.11, "nDCG@5": 52.7, "PSP@1": 40.04, "R@10": 71.3}
    known = brief["calibrated"]
    return brief | {
        "corpus": {"name": "subjects", "documents": 1826, "labels": brief["labels"], "fingerprint": "ab" * 16},
        "config": {"seed": 0, "clusters": {"labels": 8}}, "validation": {"P@1": 60.1},
        "versions": {"longtail": "0.1.0"},
        "metrics": metrics if known else None, "deciles": deciles if known else None, "size": 12_400_000,
        "calibration": {"threshold": auto, "curve": curve, "cutoffs": CUTOFFS} if known else None,
    }  # fmt: skip


@contextmanager
def serving(fake: Fake, port: int = 0) -> Iterator[str]:
    """The address of a server that runs until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Bound", (Handler,), {"fake": fake}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    with serving(Fake(), 8099):
        threading.Event().wait()
