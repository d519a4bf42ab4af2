"""Rates, memory and overload."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import uvloop

import longtail
from benchmarks.load import Outcome, percentile
from benchmarks.served import BATCH, Server, Subject, closed_loop, drive, most_a_second, request, serving
from longtail.corpus import Label
from longtail.serve.label_search import LabelSearch


def steady(subject: Subject, options) -> dict:
    """1,000 single texts a second."""
    with serving(subject.place) as server:
        drive(server, subject.singles(), None, 200, 2)
        before = server.memory()
        outcome = drive(server, subject.singles(), subject.right(1), options.rate, options.seconds)
        late = {"generator late p99 ms": percentile(outcome.late, 99)}
        return outcome.summary() | late | {"MB before": before, "MB after": server.memory()}


def batches(subject: Subject, options) -> dict:
    """5,000 documents a second in batches of 32."""
    with serving(subject.place) as server:
        drive(server, subject.batches(), None, 10, 2)
        outcome = drive(server, subject.batches(), subject.right(BATCH), 5000 / BATCH, options.seconds)
        return outcome.summary() | {"documents/s": round(BATCH * outcome.statuses[200] / outcome.seconds)}


def many(subject: Subject, options) -> dict:
    """Memory before and after a million requests, asked as fast as 16 connections can."""
    with serving(subject.place) as server:
        drive(server, subject.singles(), None, 200, 2)
        before, started = server.memory(), time.monotonic()
        wrong = uvloop.run(closed_loop(server.port, subject.singles(), subject.right(1), options.requests))
        seconds = time.monotonic() - started
        return {
            "requests": options.requests, "requests/s": round(options.requests / seconds), "wrong or refused": wrong,
            "MB before": before, "MB after": server.memory(),
        }  # fmt: skip


def overload(subject: Subject, options) -> dict:
    """Five times what it can answer, then what it usually can."""
    singles, right, seconds = subject.singles(), subject.right(1), min(options.seconds, 30)
    with serving(subject.place) as server:
        drive(server, singles, None, 200, 2)
        capacity = most_a_second(server, singles, right)
        idle = drive(server, singles, right, 0.1 * capacity, min(seconds, 10))
        usual = drive(server, singles, right, 0.7 * capacity, min(seconds, 10))
        flood = drive(server, singles, right, 5 * capacity, seconds)
        after = drive(server, singles, right, 0.5 * capacity, 5)
        inside = histogram(server, "refusal_seconds")
    return {
        "capacity requests/s": round(capacity), "idle p50 ms": idle.percentile(50), "idle p99 ms": idle.percentile(99),
        "p99 at 0.7 × capacity ms": usual.percentile(99), "errors at 0.7 × capacity": usual.errors,
    } | flooded(flood, seconds) | {
        "accepted p99 / idle p99": round(flood.percentile(99) / idle.percentile(99), 2),
        "refusal p99 in the server ms": quantile(inside, 0.99), "refusal max in the server ms": quantile(inside, 1),
        "recovered after s": after.last_trouble(2e-3 * usual.percentile(99)), "p99 after ms": after.percentile(99),
        "errors after": after.errors,
    }  # fmt: skip


def flooded(flood: Outcome, seconds: float) -> dict:
    """What became of too many requests; "since sent" leaves out what the generator itself was late."""
    return {
        "sent/s": round(flood.sent / seconds), "answered/s": round(flood.statuses[200] / flood.seconds),
        "refused": flood.statuses[429], "broken": flood.broken, "wrong": flood.wrong,
        "generator late p50 ms": percentile(flood.late, 50), "generator late p99 ms": percentile(flood.late, 99),
        "refusal p50 ms": flood.percentile(50, 429), "refusal p99 ms": flood.percentile(99, 429),
        "refusal p50 since sent ms": flood.since_sent(50, 429), "refusal p99 since sent ms": flood.since_sent(99, 429),
        "accepted p50 ms": flood.percentile(50), "accepted p99 ms": flood.percentile(99),
        "accepted p99 since sent ms": flood.since_sent(99),
    }  # fmt: skip


def histogram(server: Server, name: str) -> list[tuple[float, int]]:
    """Upper bounds in seconds, and how many were no more than that, from /metrics."""
    start = f"longtail_{name}_bucket{{"
    lines = [line for line in request(server, "GET", "/metrics")[1].decode().splitlines() if line.startswith(start)]
    return [(float(line.split('"')[1]), int(line.rpartition(" ")[2])) for line in lines]


def quantile(found: list[tuple[float, int]], share: float) -> str:
    """The bound, in milliseconds, that so many are within."""
    total = found[-1][1]
    return next(f"≤ {1000 * bound:g}" for bound, count in found if count >= share * total) if total else "none"


def search(subject: Subject, options) -> dict:
    """Labels by a part of their names, of a million labels: the slowest of the medians of 9 searches each."""
    rng, names = np.random.default_rng(0), [label.name for label in subject.model.labels]
    drawn = rng.integers(0, len(names), 1_000_000).tolist()
    labels = [Label(f"id{at}", names[one]) for at, one in enumerate(drawn)]
    started = time.perf_counter()
    found = LabelSearch.of(labels, rng.integers(0, 1000, len(labels)))
    told = {"labels": len(labels), "build s": round(time.perf_counter() - started, 2)}
    for part in ("a", "z", "th", "ing", "animal", "musical instrument", "qqq", "x-ray", "id77"):
        times = [seconds(lambda part=part: found.find(part, 20)) for _ in range(9)]
        told[f"{part} ms"] = round(1000 * float(np.median(times)), 2)
    return told | {"slowest ms": max(value for name, value in told.items() if name.endswith(" ms"))}


def seconds(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def annif(subject: Subject, options) -> dict:
    """The same client asks Annif with omikuji, and Longtail: the demo model, and `linear` trained on the same texts."""
    if options.annif is None:
        return {}
    from benchmarks.annif import beside

    with tempfile.TemporaryDirectory() as folder:
        longtail.fit("linear", longtail.load("demo").train).save(Path(folder) / "linear")
        with serving(subject.place, f"linear={folder}/linear") as server:
            own, seconds = f"http://127.0.0.1:{server.port}/v1/", min(options.seconds, 30)
            return beside(options.annif.absolute(), own, ["demo", "linear"], subject.texts, seconds)
