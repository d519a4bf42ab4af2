"""A server in a process of its own, what it is asked, and what it must answer."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import uvloop

import longtail
from benchmarks.load import Load, Outcome, post
from longtail.predict.predictor import Predictor

TEXTS, BATCH = 512, 32


def trained(method: str, place: Path) -> Path:
    """A model of the demo corpus, trained if it is not there yet."""
    if not place.is_dir():
        longtail.fit(method, longtail.load("demo").train, run=place.parent, say=print)
    return place


class Subject:
    """The model that is served, texts to ask about, and the answers that are right."""

    def __init__(self, place: Path):
        self.place, self.model = place, longtail.open(place)
        self.texts = list(longtail.load("demo").test.texts[:TEXTS])
        self.name = "demo"

    def singles(self) -> list[bytes]:
        return [post("/v1/predict", json.dumps({"text": text}).encode()) for text in self.texts]

    def batches(self, size: int = BATCH) -> list[bytes]:
        parts = [self.texts[at : at + size] for at in range(0, TEXTS, size)]
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

    def processor_seconds(self) -> float:
        """Processor time that it has taken so far, without its children."""
        return sum(psutil.Process(self.process.pid).cpu_times()[:2])

    def workers(self) -> list[int]:
        return [one.pid for one in psutil.Process(self.process.pid).children()]


@contextmanager
def serving(place: Path, *words: object, log: object = subprocess.DEVNULL, before=None) -> Iterator[Server]:
    """`longtail serve` until the block ends."""
    command = [sys.executable, "-m", "longtail", "serve", f"demo={place}", "--port", "0", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=before)
    greeting = process.stdout.readline()
    try:
        yield Server(process, int(greeting.rpartition(":")[2].partition("/")[0]))
    finally:
        process.terminate()
        process.wait(40)


def drive(server: Server, requests: list[bytes], right, rate: float, seconds: float, *beside) -> Outcome:
    """Load, with other things going on beside it; for as long as they take, where there are any."""

    async def all_of_it() -> Outcome:
        load = Load(server.port, requests, right)
        others = asyncio.gather(*(one() for one in beside))
        if beside:
            others.add_done_callback(lambda _: load.end_in(seconds))
        outcome = await load.run(rate, 3600 if beside else seconds)
        await others
        load.close()
        return outcome

    return uvloop.run(all_of_it())


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


def most_a_second(server: Server, requests: list[bytes], right: list, count: int = 4000) -> float:
    """Requests that are answered in a second, asked as fast as 16 connections can."""
    uvloop.run(closed_loop(server.port, requests, right, 200))
    started = time.monotonic()
    uvloop.run(closed_loop(server.port, requests, right, count))
    return count / (time.monotonic() - started)


def usual_rate(server: Server, subject: Subject, most: float) -> float:
    """Requests a second that are no overload: a quarter of what the server can do while others use the machine too."""
    return min(most, 0.25 * most_a_second(server, subject.singles(), subject.right(1), 1000))


def request(server: Server, method: str, path: str) -> tuple[int, bytes]:
    """Status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path)
    answer = connection.getresponse()
    status, body = answer.status, answer.read()
    connection.close()
    return status, body
