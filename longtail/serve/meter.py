"""Counters of all workers in one piece of shared memory, and Prometheus' text of them.

Every series has its place in a row of numbers; every worker has a row of its own, which only it writes.  Whichever
worker is asked for /metrics adds up the rows.  A worker that was killed leaves its row to its successor, so counters
never fall.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

ROUTES = (
    "predict", "models", "model", "reload", "labels", "label", "add_labels", "limits", "health", "metrics", "openapi",
    "page", "annif_info", "annif_vocabs", "annif_projects", "annif_project", "annif_suggest", "annif_suggest_batch",
    "annif_learn", "annif_detect_language", "none",
)  # fmt: skip
STATUSES = (
    200, 201, 204, 304, 400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 431, 499, 500, 501, 503, 504, 0,
)  # fmt: skip
SECONDS = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
REFUSALS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
GAUGES = ("requests_in_progress", "queue_requests", "queue_texts", "connections", "workers_ready")
COUNTERS = ("texts_total", "refused_total", "log_lines_dropped_total", "reloads_total", "reloads_refused_total",
            "worker_starts_total")  # fmt: skip
HELP = {
    "requests_in_progress": "Requests that are being answered.",
    "queue_requests": "Requests that wait to be predicted.",
    "queue_texts": "Texts that wait to be predicted.",
    "connections": "Open connections.",
    "workers_ready": "Workers whose models are open.",
    "texts_total": "Texts predicted.",
    "refused_total": "Requests refused because the queue was full.",
    "log_lines_dropped_total": "Log lines that could not be written.",
    "reloads_total": "Models swapped for the one on disk.",
    "reloads_refused_total": "Models on disk that were refused; the one before stayed.",
    "worker_starts_total": "Times that a worker was started.",
}


@dataclass(frozen=True)
class Histogram:
    """Where a histogram's buckets, sum and count lie in a row."""

    name: str
    help: str
    start: int
    bounds: tuple[float, ...]
    labels: str = ""

    @property
    def width(self) -> int:
        """Numbers that it takes: its buckets, the one above them, and the sum."""
        return len(self.bounds) + 2

    def lines(self, row: list[float]) -> Iterator[str]:
        """Its series, as Prometheus reads them."""
        counts = list(accumulate(row[self.start : self.start + len(self.bounds) + 1]))
        comma = "," if self.labels else ""
        for bound, count in zip((*self.bounds, "+Inf"), counts):
            yield f'longtail_{self.name}_bucket{{{self.labels}{comma}le="{bound}"}} {count:.0f}'
        braces = f"{{{self.labels}}}" if self.labels else ""
        yield f"longtail_{self.name}_sum{braces} {row[self.start + self.width - 1]:.6f}"
        yield f"longtail_{self.name}_count{braces} {counts[-1]:.0f}"


def _laid_out() -> tuple[dict[str, Histogram], dict[str, int], int]:
    """Every histogram and every plain number, and how long a row is."""
    place, histograms, numbers = 0, {}, {}
    for route in ROUTES:
        one = Histogram("request_seconds", "Time to answer.", place, SECONDS, f'route="{route}"')
        histograms[route] = one
        place += one.width
    for name, about, bounds in (
        ("batch_texts", "Texts predicted together.", SIZES),
        ("predict_seconds", "Time to predict a batch.", SECONDS),
        ("queue_seconds", "Time that a request waited to be predicted.", SECONDS),
        ("refusal_seconds", "Time from reading a request to refusing it because the queue was full.", REFUSALS),
    ):
        histograms[name] = Histogram(name, about, place, bounds)
        place += histograms[name].width
    for name in (*GAUGES, *COUNTERS, *(f"{route} {status}" for route in ROUTES for status in STATUSES)):
        numbers[name] = place
        place += 1
    return histograms, numbers, place


HISTOGRAMS, NUMBERS, WIDTH = _laid_out()


class Board:
    """Rows of numbers that forked processes share."""

    def __init__(self, rows: int):
        self.rows = rows
        self._memory: memoryview[float] = memoryview(mmap.mmap(-1, 8 * WIDTH * rows)).cast("d")

    def row(self, at: int) -> memoryview[float]:
        """The numbers of one worker."""
        return self._memory[at * WIDTH : (at + 1) * WIDTH]

    def total(self) -> list[float]:
        """The sum of all rows."""
        return [sum(column) for column in zip(*(self.row(at).tolist() for at in range(self.rows)))]


class Meter:
    """Counts for one worker."""

    def __init__(self, board: Board | None = None, worker: int = 0):
        self.board = board or Board(1)
        self._row = self.board.row(worker)
        for name in GAUGES:
            self._row[NUMBERS[name]] = 0
        self.count("worker_starts_total")

    def count(self, name: str, more: float = 1) -> None:
        """One more."""
        self._row[NUMBERS[name]] += more

    def gauge(self, name: str, value: float) -> None:
        """So many now."""
        self._row[NUMBERS[name]] = value

    def request(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self.count(f"{route} {status if status in STATUSES else 0}")
        self._observe(HISTOGRAMS[route], seconds)

    def refusal(self, seconds: float) -> None:
        """A request found the queue full."""
        self.count("refused_total")
        self._observe(HISTOGRAMS["refusal_seconds"], seconds)

    def waiting(self, requests: int, texts: int) -> None:
        """So many wait."""
        self.gauge("queue_requests", requests)
        self.gauge("queue_texts", texts)

    def batch(self, texts: int, seconds: float, waited: Iterable[float]) -> None:
        """A batch was predicted."""
        self.count("texts_total", texts)
        self._observe(HISTOGRAMS["batch_texts"], texts)
        self._observe(HISTOGRAMS["predict_seconds"], seconds)
        for each in waited:
            self._observe(HISTOGRAMS["queue_seconds"], each)

    def _observe(self, histogram: Histogram, value: float) -> None:
        self._row[histogram.start + bisect_left(histogram.bounds, value)] += 1
        self._row[histogram.start + histogram.width - 1] += value

    def text(self) -> str:
        """All workers' numbers, in Prometheus' format."""
        row = self.board.total()
        return "\n".join([*_plain(row), *_requests(row), *_histograms(row)]) + "\n"


def _plain(row: list[float]) -> Iterator[str]:
    for name in (*GAUGES, *COUNTERS):
        yield from _head(name, HELP[name], "gauge" if name in GAUGES else "counter")
        yield f"longtail_{name} {row[NUMBERS[name]]:.0f}"


def _requests(row: list[float]) -> Iterator[str]:
    yield from _head("requests_total", "Requests answered, by route and status.", "counter")
    for route in ROUTES:
        for status in STATUSES:
            if count := row[NUMBERS[f"{route} {status}"]]:
                yield f'longtail_requests_total{{route="{route}",status="{status or "other"}"}} {count:.0f}'


def _histograms(row: list[float]) -> Iterator[str]:
    last = ""
    for histogram in HISTOGRAMS.values():
        if histogram.name != last:
            yield from _head(histogram.name, histogram.help, "histogram")
            last = histogram.name
        yield from histogram.lines(row)


def _head(name: str, about: str, kind: str) -> Iterator[str]:
    yield f"# HELP longtail_{name} {about}"
    yield f"# TYPE longtail_{name} {kind}"
