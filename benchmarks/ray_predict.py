"""Batch prediction on Ray, killed: python -m benchmarks.ray_predict [--documents 1000000] [--kills 3].

    --format parquet      instead of JSON lines
    --seed 1              other times to kill at

`linear`, trained on the demo corpus, answers so many documents (test documents of the demo, over and over) by
`longtail predict --engine ray`.  While it does, worker processes are killed, and in every round but the last the
program itself, at random times.  In the end no record may be missing or doubled, and every answer must be that of
`longtail predict` without Ray, byte for byte.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.machine import earlier, save
from longtail import fit
from longtail.data.load import load

KEPT = Path("runs/ray")
SOON, LATE = 2, 12  # seconds between the first part of a round and the death of the program


def made_model() -> Path:
    place = KEPT / "model"
    if not place.is_dir():
        fit("linear", load("demo").train).save(place)
    return place


def made_documents(count: int) -> Path:
    place = KEPT / f"{count}.jsonl"
    if not place.is_file():
        test = load("demo").test
        assert test is not None and test.documents.texts is not None
        texts = list(test.documents.texts)
        KEPT.mkdir(parents=True, exist_ok=True)
        with place.open("w", encoding="utf-8") as file:
            for at in range(count):
                file.write(json.dumps({"id": at, "text": f"{texts[at % len(texts)]} {at}"}) + "\n")
    return place


def command(model: Path, documents: Path) -> list[str]:
    return [sys.executable, "-m", "longtail", "predict", str(model), str(documents)]


def plain(model: Path, documents: Path) -> dict:
    """Answer without Ray, and keep what was answered."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with documents.with_suffix(".answers").open("wb") as file:
        subprocess.run(command(model, documents), check=True, stdout=file)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"CPU s": round(cpu, 1), "s": round(time.perf_counter() - began, 1)}


# -- rounds that are killed --------------------------------------------------------------------------------------------


def killed_round(started: list[str], out: Path, chance: random.Random) -> dict:
    """Start the job, kill a worker when parts appear, and the program some seconds later."""
    before, process = parts(out), subprocess.Popen(started)
    wait_for(lambda: process.poll() is not None or parts(out) > before)
    workers = kill_one_worker(process.pid, chance)
    wait_for(lambda: process.poll() is not None, chance.uniform(SOON, LATE))
    alive = process.poll() is None
    if alive:
        process.send_signal(signal.SIGKILL)
    return {"workers killed": workers, "program killed": alive, "exit": process.wait(), "parts": parts(out)}


def last_round(started: list[str], chance: random.Random) -> dict:
    """Start the job again, kill a worker once it works, and let it end."""
    process, workers = subprocess.Popen(started), 0
    wait_for(lambda: process.poll() is not None or bool(answering(process.pid)))
    if process.poll() is None:
        time.sleep(1)
        workers = kill_one_worker(process.pid, chance)
    return {"workers killed": workers, "exit": process.wait()}


def wait_for(what, seconds: float = 600) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not what():
        time.sleep(0.05)


def parts(out: Path) -> int:
    return sum(1 for _ in (out / "checkpoints").glob("*.parquet"))


def answering(driver: int) -> list[psutil.Process]:
    """The processes that answer, of those that the program started."""
    found = []
    for process in psutil.Process(driver).children(recursive=True):
        try:
            found += [process] if "MapWorker(MapBatches(Answering))" in " ".join(process.cmdline()) else []
        except psutil.Error:
            continue
    return found


def kill_one_worker(driver: int, chance: random.Random) -> int:
    try:
        there = answering(driver)
        if there:
            chance.choice(there).kill()
    except psutil.Error:
        return 0
    return min(1, len(there))


# -- what came out -----------------------------------------------------------------------------------------------------


def answered(out: Path) -> Iterator[tuple[int, str]]:
    """Record and line, as it would be without Ray."""
    for part in sorted((out / "answers").iterdir()):
        if part.suffix == ".parquet":
            yield from of_table(part)
            continue
        with part.open(encoding="utf-8") as file:
            for line in file:
                fields = json.loads(line)
                del fields["file"]
                yield fields.pop("record"), json.dumps(fields, ensure_ascii=False)


def of_table(part: Path) -> Iterator[tuple[int, str]]:
    from pyarrow import parquet

    for row in parquet.read_table(part).to_pylist():
        yield row["record"], json.dumps({"id": json.loads(row["id"]), "labels": row["labels"]}, ensure_ascii=False)


def compared(out: Path, expected: Path) -> dict:
    """Records that are missing, doubled, or answered otherwise."""
    hashes: dict[int, int] = {}
    doubled = 0
    for record, line in answered(out):
        doubled += record in hashes
        hashes[record] = hash(line)
    lines, other = 0, 0
    with expected.open(encoding="utf-8") as file:
        for lines, line in enumerate(file, 1):
            other += lines in hashes and hashes[lines] != hash(line.rstrip("\n"))
    return {"records": lines, "missing": lines - len(hashes), "doubled": doubled, "other answers": other}


def main(words: list[str]) -> None:
    reads = argparse.ArgumentParser(prog="python -m benchmarks.ray_predict")
    reads.add_argument("--documents", type=int, default=1_000_000)
    reads.add_argument("--kills", type=int, default=3)
    reads.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl")
    reads.add_argument("--seed", type=int, default=0)
    asked = reads.parse_args(words)
    chance, model, documents = random.Random(asked.seed), made_model(), made_documents(asked.documents)
    out = KEPT / f"out-{asked.documents}-{asked.format}"
    shutil.rmtree(out, ignore_errors=True)
    found: dict = {"plain": plain(model, documents), "rounds": []}
    started = [*command(model, documents), "--engine", "ray", "--out", str(out), "--format", asked.format]
    began = time.perf_counter()
    for _ in range(asked.kills):
        found["rounds"].append(killed_round(started, out, chance))
        print(found["rounds"][-1], flush=True)
    found["rounds"].append(last_round(started, chance))
    found["all rounds, s"] = round(time.perf_counter() - began, 1)
    found |= compared(out, documents.with_suffix(".answers"))
    results = earlier("ray_predict") | {f"{asked.documents} documents, {asked.format}": found}
    print(found, save("ray_predict", results))


if __name__ == "__main__":
    main(sys.argv[1:])
