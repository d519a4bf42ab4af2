"""Rates, memory, searches, and Annif beside."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import uvloop

from benchmarks.load import percentile
from benchmarks.served import BATCH, Subject, closed_loop, drive, serving, trained
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

    with serving(subject.place, f"linear={trained('linear', LINEAR)}") as server:
        own, seconds = f"http://127.0.0.1:{server.port}/v1/", min(options.seconds, 15)
        return beside(options.annif.absolute(), own, ["demo", "linear"], subject.texts, seconds)


LINEAR = Path("runs/linear/model")
