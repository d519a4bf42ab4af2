"""The server under load, overload and faults; everything on this machine, over loopback.

    python -m benchmarks.serve [MODEL] [--seconds 300] [--requests 1000000] [--annif VENV/bin/annif] [--only steady,…]

Writes results/serve.json and results/serve.md.  A run keeps what earlier ones measured of other scenarios.  The load
generator (load.py) is open-loop; answers are compared with the predictor's.  MODEL is that of `longtail demo`, and is
trained if it is not there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import uvloop

import longtail
from benchmarks.load import Load, Outcome, post
from benchmarks.machine import RESULTS, earlier, save
from longtail.corpus import Label
from longtail.predict.predictor import Predictor
from longtail.serve.label_search import LabelSearch

TEXTS, BATCH = 512, 32


class Subject:
    """The model that is served, texts to ask about, and the answers that are right."""

    def __init__(self, place: Path):
        self.place, self.model = place, longtail.open(place)
        self.texts = list(longtail.load("demo").test.texts[:TEXTS])
        self.name = "demo"

    def singles(self) -> list[bytes]:
        return [post("/v1/predict", json.dumps({"text": text}).encode()) for text in self.texts]

    def batches(self) -> list[bytes]:
        parts = [self.texts[at : at + BATCH] for at in range(0, TEXTS, BATCH)]
        return [post("/v1/predict", json.dumps({"texts": part}).encode()) for part in parts]

    def right(self, size: int, model: Predictor | None = None) -> list[bytes | None]:
        """The bodies that the server must send: the predictor's answers, rendered here once more."""
        model = model or self.model
        rows = model.predict(self.texts)
        results = [{"labels": [self._label(model, one) for one in row]} for row in rows]
        parts = [results[at : at + size] for at in range(0, TEXTS, size)]
        return [json.dumps({"model": self.name, "results": part}).encode() for part in parts]

    @staticmethod
    def _label(model: Predictor, one) -> dict:
        count = int(model.counts[one.index])
        return {"index": one.index, "id": one.id, "name": one.name, "count": count, "score": one.score}


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen, port: int):
        self.process, self.port = process, port

    def memory(self) -> float:
        """MB of all its processes that are theirs alone, and mapped models once."""
        processes = [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children()]
        return round(sum(one.memory_full_info().uss for one in processes) / 1e6, 1)

    def workers(self) -> list[int]:
        return [one.pid for one in psutil.Process(self.process.pid).children()]


@contextmanager
def serving(place: Path, *words: object, log: object = subprocess.DEVNULL, before=None) -> Iterator[Server]:
    command = [sys.executable, "-m", "longtail", "serve", f"demo={place}", "--port", "0", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=before)
    greeting = process.stdout.readline()
    try:
        yield Server(process, int(greeting.rpartition(":")[2].partition("/")[0]))
    finally:
        process.terminate()
        process.wait(40)


def drive(server: Server, requests: list[bytes], right, rate: float, seconds: float, *beside) -> Outcome:
    """Load, with other things going on beside it."""

    async def all_of_it() -> Outcome:
        load = Load(server.port, requests, right)
        others = [asyncio.create_task(one()) for one in beside]
        outcome = await load.run(rate, seconds)
        await asyncio.gather(*others)
        load.close()
        return outcome

    return uvloop.run(all_of_it())


def request(server: Server, method: str, path: str) -> tuple[int, bytes]:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path)
    answer = connection.getresponse()
    status, body = answer.status, answer.read()
    connection.close()
    return status, body


# -- rates -------------------------------------------------------------------------------------------------------------


def steady(subject: Subject, options) -> dict:
    """1,000 single texts a second."""
    with serving(subject.place) as server:
        drive(server, subject.singles(), None, 200, 2)
        before = server.memory()
        outcome = drive(server, subject.singles(), subject.right(1), options.rate, options.seconds)
        return outcome.summary() | {"MB before": before, "MB after": server.memory()}


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


async def closed_loop(port: int, requests: list[bytes], right, count: int, connections: int = 16) -> int:
    """Ask as fast as possible; how many answers were not right."""
    numbers, wrong = iter(range(count)), 0

    async def one() -> None:
        nonlocal wrong
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            writer.write(requests[number % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
            wrong += await reader.readexactly(length) != right[number % len(requests)]
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return wrong


def overload(subject: Subject, options) -> dict:
    """Five times what it can answer, then nothing more than usual."""
    singles, right, seconds = subject.singles(), subject.right(1), min(options.seconds, 30)
    with serving(subject.place) as server:
        drive(server, singles, None, 200, 2)
        started = time.monotonic()
        uvloop.run(closed_loop(server.port, singles, right, 4000))
        capacity = 4000 / (time.monotonic() - started)
        idle = drive(server, singles, right, 0.1 * capacity, min(seconds, 10))
        usual = drive(server, singles, right, 0.7 * capacity, min(seconds, 10))
        flood = drive(server, singles, right, 5 * capacity, seconds)
        after = drive(server, singles, right, 0.1 * capacity, 5)
        return {
            "capacity requests/s": round(capacity), "idle p99 ms": idle.percentile(99),
            "p99 at 0.7 × capacity ms": usual.percentile(99), "sent/s": round(flood.sent / seconds),
            "answered/s": round(flood.statuses[200] / flood.seconds), "refused": flood.statuses[429],
            "refusal p50 ms": flood.percentile(50, 429), "refusal p99 ms": flood.percentile(99, 429),
            "accepted p50 ms": flood.percentile(50), "accepted p99 ms": flood.percentile(99), "broken": flood.broken,
            "wrong": flood.wrong, "p99 after ms": after.percentile(99), "errors after": after.errors,
        }  # fmt: skip


# -- faults ------------------------------------------------------------------------------------------------------------


def reloads(subject: Subject, options) -> dict:
    """100 reloads under load, of two workers."""
    done: list[float] = []
    with serving(subject.place, "--workers", 2) as server:

        async def reload() -> None:
            for _ in range(options.reloads):
                started = time.monotonic()
                status, _ = await asyncio.to_thread(request, server, "POST", "/v1/models/demo/reload")
                done.append(time.monotonic() - started if status == 200 else float("nan"))

        outcome = drive(server, subject.singles(), subject.right(1), 200, max(20, options.reloads * 1.2), reload)
    return outcome.summary() | {"reloads": len(done), "slowest reload s": round(max(done), 2)}


def kills(subject: Subject, options) -> dict:
    """20 times SIGKILL to one of two workers, under load."""
    back: list[float] = []
    with serving(subject.place, "--workers", 2) as server:

        async def kill() -> None:
            for turn in range(options.kills):
                await asyncio.sleep(3)
                victim = server.workers()[turn % 2]
                started, starts = time.monotonic(), _starts(server)
                os.kill(victim, signal.SIGKILL)
                while (await asyncio.to_thread(_starts, server)) == starts or victim in server.workers():
                    await asyncio.sleep(0.02)
                back.append(time.monotonic() - started)

        outcome = drive(server, subject.singles(), subject.right(1), 200, 6 * options.kills, kill)
    told = outcome.summary() | {"kills": len(back), "slowest new worker s": round(max(back), 2)}
    return told | {"longest time without an answer s": outcome.longest_gap()}


def _starts(server: Server) -> float:
    """How often workers were started, as far as they count."""
    try:
        _, body = request(server, "GET", "/metrics")
    except OSError:
        return -1
    return float(body.decode().partition("\nlongtail_worker_starts_total ")[2].split()[0])


def corrupt(subject: Subject, options) -> dict:
    """A new model that is damaged, under load."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(shutil.copytree(subject.place, Path(folder) / "model"))
        statuses: list[int] = []
        with serving(place, "--workers", 2) as server:
            weights = place / "weights.safetensors"
            damaged = bytearray(weights.read_bytes())
            damaged[-1000] ^= 1
            weights.unlink()
            weights.write_bytes(damaged)

            async def reload() -> None:
                for _ in range(5):
                    statuses.append((await asyncio.to_thread(request, server, "POST", "/v1/models/demo/reload"))[0])

            outcome = drive(server, subject.singles(), subject.right(1), 200, 10, reload)
    return outcome.summary() | {"reloads refused": statuses.count(409), "reloads": len(statuses)}


def crowd(subject: Subject, options) -> dict:
    """1,000 idle connections and 200 that send a byte a second, under load."""
    with serving(subject.place) as server:

        async def idle() -> None:
            crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(1000)]
            slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
            for byte in b"GET /livez":
                for one in slow:
                    one.send(bytes([byte]))
                await asyncio.sleep(1)
            for one in (*crowd, *slow):
                one.close()

        outcome = drive(server, subject.singles(), subject.right(1), 500, 15, idle)
    return outcome.summary()


def full_disk(subject: Subject, options) -> dict:
    """A log that cannot grow, under load."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    with (
        tempfile.NamedTemporaryFile("w") as log,
        serving(subject.place, log=log, before=limited) as server,
    ):
        outcome = drive(server, subject.singles(), subject.right(1), 500, 10)
        dropped = request(server, "GET", "/metrics")[1].decode().partition("\nlongtail_log_lines_dropped_total ")[2]
    return outcome.summary() | {"log lines dropped": int(dropped.split()[0])}


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
    """The same client asks Annif with omikuji, and Longtail."""
    from benchmarks.annif import beside

    if options.annif is None:
        return earlier("serve").get("annif", {})
    with serving(subject.place) as server:
        return beside(options.annif, f"http://127.0.0.1:{server.port}/v1/", subject.texts, min(options.seconds, 30))


# -- all ---------------------------------------------------------------------------------------------------------------

SCENARIOS = {
    "steady": steady, "batches": batches, "many": many, "overload": overload, "reloads": reloads, "kills": kills,
    "corrupt": corrupt, "crowd": crowd, "full_disk": full_disk, "search": search, "annif": annif,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", default=Path("runs/demo/model"))
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--reloads", type=int, default=100)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--annif", type=Path, help="Annif's command, in an environment of its own")
    parser.add_argument("--only", default=",".join(SCENARIOS))
    options = parser.parse_args()
    if not options.model.is_dir():
        longtail.fit("decaf", longtail.load("demo").train, run=options.model.parent, say=print)
    subject, results = Subject(options.model), earlier("serve")
    for name in options.only.split(","):
        print(f"== {name}", flush=True)
        load = round(os.getloadavg()[0], 1)  # what else the machine did when it began
        found = SCENARIOS[name](subject, options)
        if found:
            results[name] = found | {"load average before": load}
        print(json.dumps(found, indent=1), flush=True)
        print(save("serve", results), flush=True)
    (RESULTS / "serve.md").write_text(page(results), "utf-8")


def page(results: dict) -> str:
    """One table a scenario."""
    lines = ["# The server under load", "", "`python -m benchmarks.serve`; machine and versions are in serve.json.", ""]
    for name, found in results.items():
        about = (SCENARIOS[name].__doc__ or "").strip()
        lines += [f"## {name}", "", about, "", "| measured | value |", "|---|---|"]
        lines += [f"| {what} | {value} |" for what, value in found.items()] + [""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
