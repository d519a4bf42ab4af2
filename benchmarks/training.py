"""What a training takes: processor seconds, wall seconds, peak memory beside what was announced, and metrics on test.

    python -m benchmarks.training                             every case
    python -m benchmarks.training "decaf on debian-related"   one of them
    python -m benchmarks.training --old PATH [CASE ...]       the same by the code of another checkout, kept as "before"

Every training has a process of its own.  Wall seconds mean something on an idle machine only; `threads` says how many
cores the process could use.  Ratios of before and after are printed where both are there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from benchmarks.machine import earlier, save
from benchmarks.side_by_side import corpus_path

SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["R@100"]
CASES = {
    "decaf on debian-related": ("decaf", "debian-related", None),
    "decaf on wordnet-glosses": ("decaf", "wordnet-glosses", None),
    "decaf on yso-finna-en": ("decaf", "yso-finna-en", "configs/decaf/yso-finna-en.toml"),
    "elias++ on debian-related": ("elias++", "debian-related", None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], metavar="CASE")
    parser.add_argument("--old", type=Path, help="a checkout whose code is measured as before")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for case in asked.cases or CASES:
        rows = earlier("training")
        which = f"{'before' if asked.old else 'after'}, seed {asked.seed}"
        rows.setdefault(case, {})[which] = measured(case, asked.seed, asked.old or Path.cwd())
        save("training", rows)
        print(case, which, json.dumps(rows[case][which]), ratios(rows[case], asked.seed), flush=True)


def measured(case: str, seed: int, code: Path) -> dict:
    """Train in a process of its own, with the code of a checkout."""
    method, corpus, config = CASES[case]
    words = [sys.executable, str(Path(__file__).resolve()), "--train", method, str(corpus_path(corpus)), config or "-"]
    environment = os.environ | {"PYTHONPATH": str(code.resolve())}
    with tempfile.TemporaryDirectory() as place:
        command = [*words, str(seed), place]
        told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return json.loads(told.splitlines()[-1])


def ratios(row: dict, seed: int) -> dict:
    """How many times as much time and memory the code before took."""
    before, after = (row.get(f"{when}, seed {seed}") for when in ("before", "after"))
    if before is None or after is None:
        return {}
    return {name: round(before[name] / after[name], 2) for name in ("processor seconds", "peak MB")}


def train(method: str, corpus: str, config: str, seed: int, place: Path) -> dict:
    """Train, and say what it took; metrics are of the test split."""
    import longtail

    splits = longtail.load(corpus)
    settings = {} if config == "-" else tomllib.loads(Path(config).read_text("utf-8"))
    longtail.fit("centroid", splits.train.subset(splits.train.drawn(200, 0), "train"))  # compiles before the clock runs
    began, spent = time.perf_counter(), processor_seconds()
    model = longtail.fit(method, splits.train, run=place / "run", seed=seed, **settings)
    wall, spent = time.perf_counter() - began, processor_seconds() - spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    metrics = longtail.evaluate(model, splits.split("test")).metrics
    return {
        "processor seconds": round(spent, 1),
        "wall seconds": round(wall, 1),
        "threads": len(os.sched_getaffinity(0)) if "OMP_NUM_THREADS" not in os.environ else 1,
        "peak MB": round(peak),
        "announced MB": round(announced(place / "run" / "log.jsonl") / 2**20),
        "metrics": {name: round(metrics[name], 2) for name in SHOWN},
    }


def announced(log: Path) -> float:
    """Memory that the run said it would need."""
    lines = map(json.loads, log.read_text("utf-8").splitlines())
    return next(line["needs"]["memory"] for line in lines if line["event"] == "need")


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        method, corpus, config, seed, place = sys.argv[2:]
        print(json.dumps(train(method, corpus, config, int(seed), Path(place))))
    else:
        main()
