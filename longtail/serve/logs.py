"""One JSON object a line, written by a thread of its own: a slow or full disk must not stop answers."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

KEPT = 10_000  # lines that wait to be written; beyond them the oldest are dropped
AT_ONCE = 16  # lines rendered before a write lets other threads run: answers wait while lines are rendered
PAUSE = 0.1  # seconds between two writes, so that a busy server writes many lines at once


class Log:
    """Lines for standard error."""

    def __init__(self, descriptor: int = 2, dropped: Callable[[int], None] | None = None):
        self.descriptor = descriptor
        self.dropped: Callable[[int], None] = dropped or (lambda lines: None)
        self._lines: deque[dict[str, Any]] = deque()
        self._wake, self._closed = threading.Event(), False
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def say(self, event: str, level: str = "info", **fields: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        """Write a line soon."""
        if len(self._lines) >= KEPT:
            self._lines.popleft()
            self.dropped(1)
        self._lines.append({"time": time.time(), "level": level, "event": event} | fields)
        if not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Write what waits, if it can be written within a second."""
        self._closed = True
        self._wake.set()
        self._thread.join(1)

    def _write(self) -> None:
        while not (self._closed and not self._lines):
            self._wake.wait()
            if not self._closed:
                time.sleep(PAUSE)
            self._wake.clear()
            self._flush()

    def _flush(self) -> None:
        while lines := [self._lines.popleft() for _ in range(min(len(self._lines), AT_ONCE))]:
            self._put(lines)

    def _put(self, lines: list[dict[str, Any]]) -> None:
        rest = "".join(map(rendered, lines)).encode()
        try:
            while rest:
                # Not through a stream, which would keep what it cannot write and grow.
                rest = rest[os.write(self.descriptor, rest) :]
        except OSError:  # the disk is full, or whoever read our output has left
            self.dropped(len(lines))


def rendered(line: dict[str, Any]) -> str:
    """As it stands in the log: times in UTC, to the millisecond."""
    at = line["time"]
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03d}Z"
    return _encode(line | {"time": stamp}) + "\n"


_encode = json.JSONEncoder(default=str).encode
