"""Annif with omikuji beside Longtail: the same corpus, the same texts, asked through the same annif-client.

Annif lives in an environment of its own (annif==1.4.3, omikuji==0.5.2) and is served by gunicorn with two workers, as
its manual has it for production.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import requests
from annif_client import AnnifClient

import longtail

PROJECT = """
[demo]
name=demo
language=en
backend=omikuji
analyzer=simple
vocab=demo
limit=10
"""
URI = "http://example.org/"
BATCH = 32
FOLDER = Path("runs/annif")  # where Annif's project is trained, once


def beside(annif: Path, own: str, projects: list[str], texts: list[str], seconds: float) -> dict:
    """Documents a second and percentiles of latency: Annif's, and those of Longtail's projects at `own`.

    The client opens a connection for each request and closes it; what it takes itself is part of all of them.  So it
    also asks a server that only repeats an answer that Longtail gave: "alone".
    """
    prepare(annif, FOLDER)
    with served(annif, FOLDER) as theirs, repeating(own, projects[0], texts) as alone:
        asked = {"annif": (theirs, "demo")} | {project: (own, project) for project in projects}
        found = by_turns(asked | {"alone": (alone, "demo")}, texts, seconds)
    row = {f"{who} {what}": value for who, values in found.items() for what, value in values.items()}
    for who in (*projects, "alone"):
        for what in ("documents/s", "documents/s in batches"):
            row[f"{who}: ratio {what}"] = round(found[who][what] / found["annif"][what], 1)
    for who in projects:
        for what in ("p50 ms", "p99 ms", "p50 of a batch ms", "p99 of a batch ms"):
            row[f"{who}: ratio {what}"] = round(found["annif"][what] / found[who][what], 1)
        for what in ("p50 ms", "p50 of a batch ms"):
            theirs_alone, ours_alone = (found[one][what] - found["alone"][what] for one in ("annif", who))
            row[f"{who}: ratio {what} without the client's"] = round(theirs_alone / ours_alone, 1)
    return row


@contextmanager
def repeating(own: str, project: str, texts: list[str]) -> Iterator[str]:
    """A server that answers every request for one text with one answer of Longtail's, and every batch with another."""
    form, batch = {"text": texts[0], "limit": 5}, {"documents": [{"text": text} for text in texts[:BATCH]]}
    one = requests.post(f"{own}projects/{project}/suggest", form, timeout=60).content
    many = requests.post(f"{own}projects/{project}/suggest-batch?limit=5", json=batch, timeout=60).content
    command = [sys.executable, "-c", "from benchmarks.annif import repeat; repeat()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(json.dumps([one.decode(), many.decode()]))
    process.stdin.close()
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1/"
    finally:
        process.terminate()
        process.wait(10)


def repeat() -> None:
    """The server of `repeating`: the two answers come by standard input."""
    one, many = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        for body in (text.encode() for text in json.load(sys.stdin))
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection = listener.accept()[0]
            with connection:
                asked = connection.recv(1 << 20)
                while not whole(asked):
                    asked += connection.recv(1 << 20)
                connection.sendall(many if b"/suggest-batch" in asked[:100] else one)


def whole(asked: bytes) -> bool:
    """Whether a request's body is there."""
    head, end, body = asked.partition(b"\r\n\r\n")
    return bool(end) and len(body) >= int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])


def prepare(annif: Path, folder: Path) -> None:
    """A trained project, if it is not there yet."""
    if (folder / TRAINED).is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    corpus = longtail.load("demo").train
    (folder / "projects.cfg").write_text(PROJECT)
    names = (" ".join(label.name.split()) for label in corpus.label_set)
    (folder / "vocab.tsv").write_text("".join(f"<{URI}{at}>\t{name}\n" for at, name in enumerate(names)))
    bounds = zip(corpus.texts, corpus.labels.indptr, corpus.labels.indptr[1:])
    with (folder / "train.tsv").open("w") as file:
        for text, start, stop in bounds:
            subjects = " ".join(f"<{URI}{label}>" for label in corpus.labels.indices[start:stop])
            file.write(f"{' '.join(text.split())}\t{subjects}\n")
    tables = folder / "nltk" / "tokenizers" / "punkt_tab" / "english"
    tables.mkdir(parents=True, exist_ok=True)
    # Empty, as these could only be downloaded: sentences end at every full stop.
    for name in ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab"):
        (tables / name).touch()
    for words in (("load-vocab", "--language", "en", "demo", "vocab.tsv"), ("train", "demo", "train.tsv")):
        subprocess.run([str(annif), *words], cwd=folder, env=environment(folder), check=True, capture_output=True)
    (folder / TRAINED).touch()


TRAINED = "trained"  # a file that says so


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"NLTK_DATA": str(folder.absolute() / "nltk")}


@contextmanager
def served(annif: Path, folder: Path) -> Iterator[str]:
    """Annif behind gunicorn with two workers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["-w", "2", "-k", "uvicorn.workers.UvicornWorker", "-b", f"127.0.0.1:{port}", "annif:create_app()"]
    gunicorn = annif.with_name("gunicorn")
    process = subprocess.Popen([gunicorn, *words], cwd=folder, env=environment(folder), stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}/v1/"
    try:
        await_answer(base)
        yield base
    finally:
        process.terminate()
        process.wait(30)


def await_answer(base: str) -> None:
    until = time.monotonic() + 120
    while True:
        try:
            AnnifClient(base).suggest("demo", "a large cat")
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def by_turns(asked: dict[str, tuple[str, str]], texts: list[str], seconds: float) -> dict[str, dict]:
    """All asked in turns, so that what else the machine does meets all of them."""
    singles: dict[str, list[float]] = {who: [] for who in asked}
    batches: dict[str, list[float]] = {who: [] for who in asked}
    for turn in range(TURNS + 1):
        for who, (base, project) in asked.items():
            one, many = times_of(AnnifClient(base), project, texts, seconds / TURNS if turn else 2)
            if turn:  # the first warms up
                singles[who] += one
                batches[who] += many
    return {who: told(singles[who], batches[who]) for who in asked}


TURNS = 5


def times_of(client: AnnifClient, project: str, texts: list[str], seconds: float) -> tuple[list[float], list[float]]:
    """Seconds of requests with one text, and with a batch."""
    parts = [[{"text": text} for text in texts[at : at + BATCH]] for at in range(0, len(texts) - BATCH + 1, BATCH)]
    return (
        timed(lambda at: client.suggest(project, texts[at % len(texts)], limit=5), seconds),
        timed(lambda at: client.suggest_batch(project, parts[at % len(parts)], limit=5), seconds),
    )


def told(times: list[float], batches: list[float]) -> dict:
    return {
        "documents/s": round(len(times) / sum(times), 1),
        "p50 ms": round(1000 * float(np.percentile(times, 50)), 2),
        "p99 ms": round(1000 * float(np.percentile(times, 99)), 2),
        "documents/s in batches": round(BATCH * len(batches) / sum(batches), 1),
        "p50 of a batch ms": round(1000 * float(np.percentile(batches, 50)), 2),
        "p99 of a batch ms": round(1000 * float(np.percentile(batches, 99)), 2),
    }


def timed(work, seconds: float) -> list[float]:
    times, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        started = time.perf_counter()
        work(len(times))
        times.append(time.perf_counter() - started)
    return times
