"""DECAF on the real corpora, one line each: quality on test, time and memory.

    python -m benchmarks.decaf DATA [--corpora debian-related,...] [--set field=value ...]

DATA is the directory that holds the corpora.  Results are appended to benchmarks/results/decaf.jsonl.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from benchmarks.machine import machine
from longtail import fit, load
from longtail.config import parse_assignment
from longtail.evaluation import evaluate

CORPORA = ("debian-related", "wordnet-related", "wordnet-glosses", "yso-finna-en")
SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)]
RESULTS = Path(__file__).parent / "results" / "decaf.jsonl"


def measure(place: Path, settings: dict[str, str]) -> dict:
    started = time.perf_counter()
    splits = load(place)
    with tempfile.TemporaryDirectory() as run:
        model = fit("decaf", splits.train, run=run, **settings)
    trained = time.perf_counter()
    metrics = evaluate(model, splits.split("tst")).metrics
    ended = time.perf_counter()
    one = [text for text in splits.split("tst").documents.texts[:200]]
    before = time.perf_counter()
    for text in one:
        model.predict([text])
    return {
        "corpus": place.name,
        "settings": settings,
        **{name: round(metrics[name], 2) for name in SHOWN},
        "train_seconds": round(trained - started, 1),
        "rank_ms_per_document": round(1000 * (ended - trained) / len(splits.split("tst")), 3),
        "one_text_ms": round(1000 * (time.perf_counter() - before) / len(one), 3),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "machine": machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--set", action="append", default=[], dest="settings")
    given = parser.parse_args()
    settings = dict(map(parse_assignment, given.settings))
    for name in given.corpora.split(","):
        line = measure(given.data / name, settings)
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line))


if __name__ == "__main__":
    main()
