"""Whether a redesign changed any number: the same trainings before and after it.

    python -m benchmarks.unchanged before        in a checkout of the old commit, with this file copied in
    python -m benchmarks.unchanged after         here; prints both beside each other

Every training has a process of its own, default settings, one seed and two threads.  Beside the metrics on test stands
a digest of the whole Ranking: equal digests mean that not one score changed in its last bit.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import earlier, save
from benchmarks.side_by_side import corpus_path

CORPORA = ("debian-related", "eurlex57k")
METHODS = ("linear", "lightdxml", "decaf", "elias++")
SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["R@100"]


def main(which: str, wanted: list[str]) -> None:
    rows = earlier("unchanged")
    for corpus in CORPORA:
        for method in METHODS:
            name = f"{method} on {corpus}"
            if (wanted and name not in wanted) or which in rows.get(name, {}):
                continue
            with tempfile.TemporaryDirectory() as place:
                command = [sys.executable, "-m", "benchmarks.unchanged", "--train", method, corpus, place]
                told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rows[name] = rows.get(name, {}) | {which: json.loads(told.splitlines()[-1])}
            print(name, json.dumps(rows[name]), flush=True)
            save("unchanged", rows)


def train(method: str, corpus: str, place: Path) -> dict:
    """Train, rank test, and say what came of it."""
    import longtail

    splits = longtail.load(corpus_path(corpus))
    longtail.fit("centroid", splits.train.subset(splits.train.drawn(200, 0), "train"))  # compiles before the clock runs
    before = processor_seconds()
    model = longtail.fit(method, splits.train, run=place / "run")
    spent, test = processor_seconds() - before, splits.split("test")
    ranking = model.rank(test.documents, k=100)
    digest = hashlib.sha256(ranking.labels.tobytes() + ranking.scores.tobytes()).hexdigest()[:16]
    metrics = longtail.evaluate(model, test).metrics
    shown = {each: round(metrics[each], 2) for each in SHOWN}
    return {"processor seconds": round(spent, 1), "ranking": digest, "metrics": shown}


def processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        print(json.dumps(train(sys.argv[2], sys.argv[3], Path(sys.argv[4]))))
    else:
        main(sys.argv[1], sys.argv[2:])
