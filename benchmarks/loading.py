"""How long a corpus takes to load, the first time and every time after, and how much memory.

    python -m benchmarks.loading [CORPUS …]        names under LONGTAIL_DATA, or ../shared/data beside the project

Every load runs in a process of its own.  "floor" is the least that a first load could do with the standard library:
decompress every file and parse every line as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import save

SHELF = Path(os.environ.get("LONGTAIL_DATA", Path(__file__).parents[2] / "shared" / "data"))


def main(names: list[str]) -> None:
    corpora = [SHELF / name for name in names] or sorted(path.parent for path in SHELF.glob("*/lbl.json*"))
    results = {}
    for corpus in corpora:
        with tempfile.TemporaryDirectory() as cache:
            results[corpus.name] = {
                "floor": in_own_process("floor", corpus, cache),
                "first": in_own_process("load", corpus, cache),
                "second": in_own_process("load", corpus, cache),
                "cache MB": round(
                    sum(file.stat().st_size for file in Path(cache).rglob("*") if file.is_file()) / 1e6, 1
                ),
            }
        print(corpus.name, json.dumps(results[corpus.name]), flush=True)
    print(save("loading", results))


def in_own_process(what: str, corpus: Path, cache: str) -> dict:
    command = [sys.executable, "-m", "benchmarks.loading", f"--{what}", str(corpus), cache]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measured(what: str, corpus: Path, cache: Path) -> dict:
    """Seconds of wall clock and processor, and the peak of memory above what imports take."""
    from longtail.data.lines import lines
    from longtail.data.load import load

    before, clock, processor = peak(), time.perf_counter(), time.process_time()
    if what == "--floor":
        for file in corpus.glob("*.json*"):
            for block in lines(file):
                list(map(json.loads, block.rows))
        found = {}
    else:
        splits = load(corpus, cache=cache)
        found = {"documents": len(splits.train), "labels": splits.train.n_labels}
    spent = {"seconds": time.perf_counter() - clock, "processor seconds": time.process_time() - processor}
    return found | {name: round(value, 4) for name, value in spent.items()} | {"peak MB": peak(), "imports MB": before}


def peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    if sys.argv[1:2] in (["--floor"], ["--load"]):
        what, corpus, cache = sys.argv[1:]
        print(json.dumps(measured(what, Path(corpus), Path(cache))))
    else:
        main(sys.argv[1:])
