"""Reloads, killed workers, damaged models, crowds, full disks, and requests by chance, under load or not."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.served import Server, Subject, drive, request, serving, usual_rate
from tests import fuzzing


def reloads(subject: Subject, options) -> dict:
    """100 reloads under load, of two workers."""
    done: list[float] = []
    with serving(subject.place, "--workers", 2) as server:

        async def reload() -> None:
            for _ in range(options.reloads):
                started = time.monotonic()
                status, _ = await asyncio.to_thread(request, server, "POST", "/v1/models/demo/reload")
                done.append(time.monotonic() - started if status == 200 else float("nan"))

        outcome = drive(server, subject.singles(), subject.right(1), usual_rate(server, subject, 200), 2, reload)
    return outcome.summary() | {"reloads": len(done), "slowest reload s": round(max(done), 2)}


def kills(subject: Subject, options) -> dict:
    """20 times SIGKILL to one of two workers, under load; the next when the new one has opened its model."""
    back: list[float] = []
    with serving(subject.place, "--workers", 2) as server:

        async def kill() -> None:
            for turn in range(options.kills):
                await asyncio.sleep(2)
                starts = (await asyncio.to_thread(counted, server))[0]
                started = time.monotonic()
                os.kill(server.workers()[turn % 2], signal.SIGKILL)
                while (await asyncio.to_thread(counted, server)) != (starts + 1, 2):
                    await asyncio.sleep(0.05)
                back.append(time.monotonic() - started)

        outcome = drive(server, subject.singles(), subject.right(1), usual_rate(server, subject, 200), 2, kill)
    told = outcome.summary() | {"kills": len(back), "slowest new worker s": round(max(back), 2)}
    return told | {
        "median new worker s": round(sorted(back)[len(back) // 2], 2),
        "longest time without an answer s": outcome.longest_gap(),
    }


def counted(server: Server) -> tuple[float, float]:
    """How often workers were started, and how many have opened their models."""
    try:
        told = request(server, "GET", "/metrics")[1].decode()
    except OSError:
        return -1, -1
    starts, ready = (
        told.partition(f"\nlongtail_{name} ")[2].split()[0] for name in ("worker_starts_total", "workers_ready")
    )
    return float(starts), float(ready)


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

            outcome = drive(server, subject.singles(), subject.right(1), usual_rate(server, subject, 200), 2, reload)
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

        outcome = drive(server, subject.singles(), subject.right(1), usual_rate(server, subject, 500), 2, idle)
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
        outcome = drive(server, subject.singles(), subject.right(1), usual_rate(server, subject, 500), 10)
        dropped = request(server, "GET", "/metrics")[1].decode().partition("\nlongtail_log_lines_dropped_total ")[2]
    return outcome.summary() | {"log lines dropped": int(dropped.split()[0])}


def fuzz(subject: Subject, options) -> dict:
    """Random requests to every address of both interfaces, one after the other; a right answer in the end."""
    with serving(subject.place) as server:
        statuses, mistakes = fuzzing.fuzz(server.port, options.fuzz, seed=3, model="demo")
        after = drive(server, subject.singles(), subject.right(1), 100, 5)
    told = {str(status): count for status, count in sorted(statuses.items())}
    return {
        "requests": options.fuzz,
        "5xx": len(mistakes),
        "wrong after": after.wrong,
        "errors after": after.errors,
    } | told


def schema(subject: Subject, options) -> dict:
    """Both descriptions, held against the server by schemathesis: 100 examples of each operation and seed."""
    if options.schemathesis is None:
        return {}
    found, started = dict.fromkeys(SCHEMAS, 0), time.monotonic()
    with serving(subject.place) as server, tempfile.TemporaryDirectory() as folder:
        for schema in SCHEMAS:
            for seed in range(1, options.seeds + 1):
                words = [
                    "run",
                    f"http://127.0.0.1:{server.port}/{schema}",
                    "--max-examples",
                    "100",
                    "--seed",
                    str(seed),
                ]
                # Five dictionaries of /v1/detect-language take 13 s of processor time, and the server allows 60 s.
                command = [str(options.schemathesis.absolute()), *words, "--request-timeout", "90"]
                done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
                found[schema] += done.returncode != 0
                if done.returncode:
                    print(done.stdout, done.stderr, flush=True)
    told = {f"{schema}: runs that found something": count for schema, count in found.items()}
    return told | {"runs of each": options.seeds, "seconds": round(time.monotonic() - started)}


SCHEMAS = ("openapi.json", "openapi-annif.json")
