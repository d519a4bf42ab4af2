"""Trainings on one, two and four ranks: what a rank has and does, and whether the answers are those of one process.

    python -m benchmarks.distributed                 all of it; results/distributed.json and .md
    python -m benchmarks.distributed decaf-short     one row

Every training is on part of debian-related, a thread a rank.  "label state" is what a rank keeps of label and cluster
rows: weights, moments of the optimiser and averages.  "work" is processor time of the busiest rank in steps, and
efficiency the work of one process divided by ranks times it.  On fewer cores than ranks, or beside other programs,
seconds say nothing.  Waiting for another rank costs none of it, so a cluster with a slow network has less.

Agreement is with one process on one thread, by the top 5 of test documents.  The row "2 threads" is a single process
too: what rounding alone does to a training.
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
from typing import Any

import numpy as np

from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import corpus_path

CORPUS, TRAIN, TEST = "debian-related", 2000, 2000
FP32 = {"precision": "fp32"}
# "short" has few steps, so that rounding has not grown; the others have the default epochs.
TRAININGS: dict[str, tuple[str, dict[str, Any]]] = {
    "decaf-short": ("decaf", {"optim": {"epochs": 1} | FP32}),
    "elias-short": ("elias", {"optim": {"epochs": 1} | FP32}),
    "lightxml-short": (
        "lightxml",
        {"encoder": "bag", "one_vs_all_up_to": 0, "optim": {"epochs": 2, "row_lr": 0.01, "average_from": 1} | FP32},
    ),
    "decaf": ("decaf", {"optim": FP32}),
}
RANKS = (1, 2, 4)


def main(wanted: list[str]) -> None:
    rows = earlier("distributed")
    for name in wanted or TRAININGS:
        rows[name] = measured(name)
        save("distributed", rows)
    (RESULTS / "distributed.md").write_text(table(rows), "utf-8")
    print(table(rows))


def measured(name: str) -> dict[str, Any]:
    """One training by each number of ranks, and by one process on two threads."""
    with tempfile.TemporaryDirectory() as directory:
        places = {str(ranks): Path(directory) / str(ranks) for ranks in RANKS} | {"2 threads": Path(directory) / "2t"}
        for which, place in places.items():
            launch(name, place, 1 if which == "2 threads" else int(which), 2 if which == "2 threads" else 1)
            print(name, which, told(place)["work"], flush=True)
        answers = {which: np.load(place / "answers.npz") for which, place in places.items()}
        return {which: told(place) | agreement(answers["1"], answers[which]) for which, place in places.items()}


def launch(name: str, place: Path, ranks: int, threads: int) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", "-m", "--"]
    place.mkdir()
    asked = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    words = ["benchmarks.distributed", "--train", name, str(place)]
    subprocess.run([*command, *words], env=os.environ | asked, check=True, stderr=subprocess.DEVNULL)


def told(place: Path) -> dict[str, Any]:
    """What the ranks noted: the most of any."""
    notes = [json.loads(path.read_text()) for path in sorted(place.glob("rank-*.json"))]
    return {key: max(note[key] for note in notes) for key in notes[0]}


def agreement(one: Any, other: Any) -> dict[str, float]:
    same = (one["labels"] == other["labels"]).all(axis=1)
    apart = np.abs(one["scores"] - other["scores"]).max(axis=1)
    return {
        "same_top_5": round(100 * float(same.mean()), 2),
        "largest_difference": float(apart.max()),
        "P@5": float(other["p5"]),
    }


def table(rows: dict[str, Any]) -> str:
    heads = (
        "training", "ranks", "label state of a rank, MB", "work, s", "efficiency", "steps, s (wall)",
        "top 5 the same, %", "largest difference of scores", "P@5",
    )  # fmt: skip
    lines = [" | ".join(heads), "|".join("---" for _ in heads)]
    for name, row in rows.items():
        for which, found in row.items():
            ranks = 1 if which == "2 threads" else int(which)
            share = row["1"]["work"] / (ranks * found["work"])
            numbers = (
                f"{found['label_state'] / 2**20:.2f}", f"{found['work']:.1f}",
                "–" if which == "2 threads" else f"{share:.2f}", f"{found['wall']:.1f}", f"{found['same_top_5']:.2f}",
                f"{found['largest_difference']:.1e}", f"{found['P@5']:.2f}",
            )  # fmt: skip
            lines.append(" | ".join((name, which, *numbers)))
    return "\n".join(f"| {line} |" for line in lines) + "\n"


# -- in a rank ---------------------------------------------------------------------------------------------------------


def train(name: str, place: Path) -> None:
    """Train, note what it took, and let the leader rank test documents."""
    import torch

    import longtail
    from longtail.ranks import leads

    if os.environ["OMP_NUM_THREADS"] == "1":  # our own loops take as many threads as there are cores to run on
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(os.environ["RANK"]) % len(cores)]})
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    method, settings = TRAININGS[name]
    notes = noting()
    splits = longtail.load(corpus_path(CORPUS))
    part = splits.train.subset(splits.train.drawn(TRAIN, 0), "train")
    model = longtail.fit(method, part, place / "run", **settings)
    notes["peak_memory"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (place / f"rank-{os.environ['RANK']}.json").write_text(json.dumps(notes))
    if leads():
        test = splits.split("test").subset(np.arange(TEST), "test")
        ranking, p5 = model.rank(test.documents, 5), longtail.evaluate(model, test).metrics["P@5"]
        np.savez(place / "answers.npz", labels=ranking.labels, scores=ranking.scores, p5=p5)


def noting() -> dict[str, float]:
    """Notes that every training of this process adds to."""
    from longtail.train.loop import Training

    notes = {"work": 0.0, "wall": 0.0, "label_state": 0.0}
    go, finish = Training.go, Training.finish

    def timed(self: Training, *args: Any) -> None:
        work, wall = time.process_time(), time.perf_counter()
        go(self, *args)
        notes["work"] += time.process_time() - work
        notes["wall"] += time.perf_counter() - wall

    def weighed(self: Training) -> None:
        notes["label_state"] = max(notes["label_state"], label_state(self))
        finish(self)

    Training.go, Training.finish = timed, weighed  # type: ignore[method-assign]
    return notes


def label_state(training: Any) -> int:
    """Bytes of the rows that ranks divide: weights, moments and averages."""
    from longtail.train import checkpoint

    _, tensors = checkpoint.pack(training.model, training.groups, training.average)
    return sum(
        tensor.nbytes
        for name, tensor in tensors.items()
        if checkpoint.rows_of(name, tensor.shape, checkpoint.divided(training.model, training.groups)) is not None
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2], Path(sys.argv[3]))
    else:
        main(sys.argv[1:])
