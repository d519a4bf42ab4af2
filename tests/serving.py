"""A real server in a process of its own, on a free port of this machine, and ways to ask it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class Answer:
    """What a server sent."""

    def __init__(self, response: http.client.HTTPResponse):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"{self.status} {self.body[:300]!r}"


class Server:
    """A process, and where it listens."""

    def __init__(self, process: subprocess.Popen[str], port: int, said: list[str]):
        self.process, self.port, self._said = process, port, said

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self, timeout: float = 30) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """On a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, value: Any, **headers: str) -> Answer:
        return self.ask("POST", path, json.dumps(value), {"Content-Type": "application/json"} | headers)

    def predict(self, **query: Any) -> Answer:
        return self.post("/v1/predict", query)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def log(self) -> list[dict[str, Any]]:
        """The lines of the log so far."""
        return [json.loads(line) for line in list(self._said) if line.startswith("{")]

    def said(self) -> str:
        return "".join(self._said)

    def workers(self) -> list[int]:
        """The processes that answer for a supervisor."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(pid) for pid in children]


@contextmanager
def running(
    *words: object, module: str = "longtail", wait: bool = True, before: Callable[[], None] | None = None,
    environment: dict[str, str] | None = None,
) -> Iterator[Server]:  # fmt: skip
    """`longtail serve WORDS --port 0`, stopped in the end however the test ends."""
    command = [sys.executable, "-m", module, "serve", *map(str, words), "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    settings = os.environ | {"PYTHONPATH": str(ROOT)} | (environment or {})
    process = subprocess.Popen(command, text=True, env=settings, cwd=ROOT, preexec_fn=before, **pipes)
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(iter(process.stderr.readline, "")), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        greeting = process.stdout.readline() if wait else ""  # type: ignore[union-attr]
        found = re.search(r":(\d+)/", greeting)
        assert found or not wait, f"no greeting: {''.join(said)}"
        yield Server(process, int(found[1]) if found else 0, said)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        reader.join(5)
        process.stdout.close()  # type: ignore[union-attr]


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """The results of so many threads that start at once."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(at: int) -> None:
        barrier.wait()
        results[at] = work(at)

    threads = [threading.Thread(target=run, args=(at,)) for at in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
