"""One method at one size, in a process of its own: python -m benchmarks.contenders.scale_measure METHOD CORPUS RUN

Trains, saves, opens, answers and judges, and prints as JSON what that took: processor seconds of every stage and of an
epoch, milliseconds of a step, the peak of memory beside what `need` announced, files, and the time of single texts.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import wraps
from pathlib import Path

import numpy as np

from longtail import fit
from longtail import open as open_model
from longtail.data.load import load
from longtail.judge.evaluation import evaluate
from longtail.kernels.threads import available_cores
from longtail.train.machine import size_on_disk
from longtail.train.run import Run

ONCE = {"optim.epochs": 1}
SETTINGS: dict[str, dict] = {
    "linear": {},
    "decaf": ONCE | {"optim.average_from": 0},
    "elias": {"optim.epochs": 1, "optim.average_from": 0, "valid_documents": 0},
}
QUERIES, WARM, K = 500, 20, 5


class Clock:
    """Processor seconds and the peak of memory after every stage, by watching a run."""

    def __init__(self) -> None:
        self.stages: dict[str, dict] = {}
        self.steps: dict[str, int] = {}
        Run.stage, Run.train = self.timed(Run.stage), self.timed(Run.train)  # type: ignore[method-assign]
        Run.log = self.heard(Run.log)  # type: ignore[method-assign]

    def timed(self, called):
        @wraps(called)
        def clocked(run, name, *given, **more):
            began = time.process_time()
            result = called(run, name, *given, **more)
            found = {"CPU s": round(time.process_time() - began, 2), "peak MB": peak()}
            self.stages[name] = found | self.of_steps(name, time.process_time() - began)
            return result

        return clocked

    def of_steps(self, name: str, seconds: float) -> dict:
        steps = self.steps.get(name)
        return {"steps": steps, "step CPU ms": round(1000 * seconds / steps, 2)} if steps else {}

    def heard(self, called):
        @wraps(called)
        def listening(run, event, **values):
            if event == "trained":
                self.steps[values["name"]] = values["steps"]
            if event == "need":
                self.announced = values["needs"]["memory"]
            called(run, event, **values)

        return listening


def peak() -> int:
    """MB that this process held at most so far."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def query_ms(place: Path, texts: list[str]) -> dict:
    """Processor milliseconds of single texts, from text to names, without the first ones."""
    model, found = open_model(place), []
    for text in texts:
        began = time.process_time()
        model.predict([text], K)
        found.append(1000 * (time.process_time() - began))
    return {f"query p{share} CPU ms": round(float(np.percentile(found[WARM:], share)), 3) for share in (50, 99)}


def measured(method: str, corpus: Path, run: Path) -> dict:
    clock, splits = Clock(), load(corpus)
    assert splits.test is not None
    began = time.process_time()
    fit(method, splits.train, run, **SETTINGS[method])
    spent, most = time.process_time() - began, peak()
    trained = {name: stage for name, stage in clock.stages.items() if "steps" in stage}
    judged = evaluate(open_model(run / "model"), splits.test).metrics
    return {
        "documents": len(splits.train),
        "cores": available_cores(),
        "train CPU s": round(spent, 1),
        "epoch CPU s": round(sum(stage["CPU s"] for stage in trained.values()), 1) if trained else None,
        "step CPU ms": max((stage["step CPU ms"] for stage in trained.values()), default=None),
        "peak MB": most,
        "announced MB": round(clock.announced / 1e6),
        "model MB": round(size_on_disk(run / "model") / 1e6, 1),
        **query_ms(run / "model", list(splits.test.texts[: QUERIES + WARM])),
        **{name: round(judged[name], 2) for name in ("P@1", "P@5", "PSP@5")},
        "stages": clock.stages,
    }


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
