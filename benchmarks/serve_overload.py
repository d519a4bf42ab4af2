"""Five times what the server can answer, in requests of one text, of 32 and of 256."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.flood import CONNECTIONS, Flood, ceiling
from benchmarks.load import Outcome, percentile
from benchmarks.served import BATCH, Server, Subject, request, serving

ENDLESS = 1e6  # requests a second: more than anybody can send


def overload(subject: Subject, options) -> dict:
    """Five times what it can answer, in requests of one text, then what it usually can."""
    with serving(subject.place) as server:
        return overloaded(server, subject.singles(), subject.right(1), 16, options)


def overload_32(subject: Subject, options) -> dict:
    """The same in requests of 32 texts."""
    with serving(subject.place) as server:
        return overloaded(server, subject.batches(), subject.right(BATCH), 4, options)


def overload_256(subject: Subject, options) -> dict:
    """The same in requests of 256 texts (`--max-texts 256 --queue-texts 512`)."""
    with serving(subject.place, "--max-texts", 256, "--queue-texts", 512) as server:
        return overloaded(server, subject.batches(256), subject.right(256), 2, options)


def overloaded(server: Server, requests: list[bytes], right: list, clients: int, options) -> dict:
    """Capacity is what so many clients get that ask again as soon as they are answered."""
    seconds = min(options.seconds, 30)

    def drive(rate: float, seconds: float, connections: int = CONNECTIONS) -> Outcome:
        flood = Flood(server.port, requests, right, connections)
        try:
            return flood.run(rate, seconds)
        finally:
            flood.close()

    drive(ENDLESS, 2, clients)
    most, of_most = timed(server, lambda: drive(ENDLESS, 3, clients))
    capacity = most.statuses[200] / most.seconds
    idle, usual = drive(0.1 * capacity, 10), drive(0.7 * capacity, 5)
    before = refusals(server)
    flood, of_flood = timed(server, lambda: drive(5 * capacity, seconds))
    after = drive(0.5 * capacity, 5)
    inside = [(bound, count - old) for (bound, count), (_, old) in zip(refusals(server), before)]
    texts = right[0].count(b'{"labels": ')
    return {
        "capacity requests/s": round(capacity), "capacity documents/s": round(texts * capacity),
        "idle p50 ms": idle.percentile(50), "idle p99 ms": idle.percentile(99),
        "p99 at 0.7 × capacity ms": usual.percentile(99), "errors at 0.7 × capacity": usual.errors,
    } | flooded(flood, seconds) | {
        "accepted p99 / idle p99": round(flood.percentile(99) / idle.percentile(99), 2),
        "refusal p99 in the server ms": quantile(inside, 0.99), "refusal max in the server ms": quantile(inside, 1),
        "recovered after s": after.last_trouble(2e-3 * usual.percentile(99)), "p99 after ms": after.percentile(99),
        "errors after": after.errors,
    } | spent_on(most, of_most, flood, of_flood) | {"generator alone requests/s": round(ceiling(requests))}  # fmt: skip


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


def timed(server: Server, drive: Callable[[], Outcome]) -> tuple[Outcome, tuple[float, float]]:
    """What became of requests, and the processor time that the server and the generator took for them."""
    before = server.processor_seconds(), time.process_time()
    outcome = drive()
    return outcome, (server.processor_seconds() - before[0], time.process_time() - before[1])


def spent_on(most: Outcome, of_most: tuple[float, float], flood: Outcome, of_flood: tuple[float, float]) -> dict:
    """Processor time of an answer, of a refusal and of sending; a refusal's is what answers leave of the flood's."""
    answer = of_most[0] / most.statuses[200]
    refusal = max(0.0, of_flood[0] - answer * flood.statuses[200]) / max(1, flood.statuses[429])
    return {
        "processor µs of an answer": round(1e6 * answer), "processor µs of a refusal": round(1e6 * refusal),
        "processor µs of the generator a request": round(1e6 * of_flood[1] / flood.sent),
        "cores busy in the flood": round(sum(of_flood) / flood.seconds, 2),
    }  # fmt: skip


def refusals(server: Server) -> list[tuple[float, int]]:
    """Upper bounds in seconds, and how many were no more than that, from /metrics."""
    start = "longtail_refusal_seconds_bucket{"
    lines = [line for line in request(server, "GET", "/metrics")[1].decode().splitlines() if line.startswith(start)]
    return [(float(line.split('"')[1]), int(line.rpartition(" ")[2])) for line in lines]


def quantile(found: list[tuple[float, int]], share: float) -> str:
    """The bound, in milliseconds, that so many are within."""
    total = found[-1][1]
    return next(f"≤ {1000 * bound:g}" for bound, count in found if count >= share * total) if total else "none"
