"""How long an answer takes, raw text in and label names out: python -m benchmarks.latency [options].

    --corpus NAME       whose texts are asked; debian-related unless told
    --model NAME=DIR    a saved model, repeatable; without any, `linear` is trained on the corpus
    --without-peers     PECOS (`make .venv-pecos`) and omikuji (`make .venv/.bench`) are asked too, where installed

Every contender is a process of its own.  They are asked in turn, a few hundred texts at a time, so that other work on
the machine slows all of them alike; ratios count.  One text: median and 99th percentile of milliseconds on one core.
Explain: the median of `model.explain(text, k=5)` as a multiple of that, of the same texts in one round.  It computes
all numbers; words and clusters become Python values when they are read, so the next column has the same with `to_json`,
which reads all of them.  Batches: texts a second on one core and on two, the best round, and processor time a text.
First answer: seconds from the start of the process, the best of several.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import longtail
from benchmarks.machine import RESULTS, machine, save
from benchmarks.side_by_side import PECOS, ROOT, corpus_path
from longtail.corpus import Corpus

ROUNDS, ALONE, BATCH, STARTS = 10, 300, 4000, 5
PEERS = {"PECOS": (PECOS, "pecos"), "omikuji": (sys.executable, "omikuji")}
COLUMNS = (
    "one text ms", "99th percentile ms", "explain × one text", "explain and to_json × one text", "one core texts/s",
    "two cores texts/s", "batch CPU ms/text", "first answer s", "model MB",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="debian-related")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    splits = longtail.load(corpus_path(asked.corpus))
    with tempfile.TemporaryDirectory() as place:
        models = dict(each.split("=", 1) for each in asked.model) or {"linear": trained(splits.train, Path(place))}
        commands = {name: (sys.executable, "longtail", str(directory)) for name, directory in models.items()}
        if not asked.without_peers:
            commands |= peers(splits.train, Path(place))
        rows = measure(commands, list(splits.split("test").texts), asked.rounds)
        for name, row in rows.items():  # before the models that were trained here are gone
            row["model MB"] = round(size_of(models[name]) / 1e6, 1) if name in models else None
            print(name, row, flush=True)
    results = {"corpus": asked.corpus, "labels": splits.train.n_labels, "rounds": asked.rounds, "contenders": rows}
    print(save("latency", results))
    (RESULTS / "latency.md").write_text(markdown(results), "utf-8")


def trained(corpus: Corpus, place: Path) -> str:
    longtail.fit("linear", corpus, run=place / "run")
    return str(place / "run" / "model")


def size_of(directory: str) -> int:
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())


def peers(corpus: Corpus, place: Path) -> dict[str, tuple[str, ...]]:
    """Those that are installed, with what they train on."""
    write_texts(corpus, place)
    found = {name: (*command, str(place)) for name, command in PEERS.items() if is_there(name, command[0])}
    for name in PEERS.keys() - found.keys():
        print(f"LEFT OUT: {name} is not installed", flush=True)
    return found


def is_there(name: str, python: str) -> bool:
    return Path(python).is_file() and (python != sys.executable or find_spec(name) is not None)


def write_texts(corpus: Corpus, place: Path) -> None:
    labels = corpus.labels
    with (place / "train.jsonl").open("w", encoding="utf-8") as file:
        for row, text in enumerate(corpus.texts):
            true = labels.indices[labels.indptr[row] : labels.indptr[row + 1]].tolist()
            file.write(json.dumps({"text": text, "labels": true}) + "\n")
    (place / "names.json").write_text(json.dumps([label.name for label in corpus.label_set]), "utf-8")


class Contender:
    """A process that answers, and how long it took until it did."""

    def __init__(self, command: tuple[str, ...]):
        python, *words = command
        started = time.perf_counter()
        said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process; peers draw bars while they train
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": said, "text": True}
        module, environment = "benchmarks.contenders.answering", os.environ | {"PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen([python, "-m", module, *words], cwd=ROOT, env=environment, **pipes)
        while (line := self.process.stdout.readline()) != "ready\n":  # what else it prints is of its training
            if not line:
                said.seek(0)
                raise SystemExit(f"{' '.join(command)} ended with {self.process.wait()}: {said.read()[-2000:]}")
        self.seconds = time.perf_counter() - started

    def ask(self, texts: list[str], cores: int, alone: bool, what: str = "answer") -> dict:
        """Seconds of each text, or of all together; and processor seconds."""
        asked = {"texts": texts, "cores": cores, "alone": alone, "what": what}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measure(commands: dict[str, tuple[str, ...]], texts: list[str], rounds: int) -> dict[str, dict]:
    running = {name: Contender(command) for name, command in commands.items()}  # peers are trained here
    first = first_answers(commands)
    alone, batches = {name: [] for name in commands}, {name: {1: [], 2: []} for name in commands}
    explained = {name: {"explain": [], "to_json": []} for name in commands}
    for number in range(rounds + 1):  # the first round is not counted
        some = [texts[at % len(texts)] for at in range(number * ALONE, (number + 1) * ALONE)]
        many = [texts[at % len(texts)] for at in range(number * BATCH, (number + 1) * BATCH)]
        for name, contender in running.items():
            seconds = contender.ask(some, 1, alone=True)["seconds"]
            asked = {} if name in PEERS else explained[name]
            reasons = {what: contender.ask(some, 1, alone=True, what=what)["seconds"] for what in asked}
            together = {cores: contender.ask(many, cores, alone=False) for cores in (1, 2)}
            if number:
                alone[name] += seconds
                for what, each in reasons.items():
                    explained[name][what] += each
                for cores, each in together.items():
                    batches[name][cores].append(each)
    for contender in running.values():
        contender.end()
    return {name: row(alone[name], explained[name], batches[name], first[name]) for name in commands}


def first_answers(commands: dict[str, tuple[str, ...]]) -> dict[str, list[float]]:
    """Seconds from the start of a process to its first answer."""
    first = {name: [] for name in commands}
    for _ in range(STARTS):
        for name, command in commands.items():
            again = Contender(command)
            first[name].append(again.seconds)
            again.end()
    return first


def row(alone: list[float], explained: dict[str, list], batches: dict[int, list[dict]], first: list[float]) -> dict:
    times = {what: round(float(np.median(each) / np.median(alone)), 2) for what, each in explained.items() if each}
    one, two = (round(BATCH / min(each["seconds"][0] for each in batches[cores])) for cores in (1, 2))
    return {
        "one text ms": round(1e3 * float(np.median(alone)), 4),
        "99th percentile ms": round(1e3 * float(np.percentile(alone, 99)), 4),
        "explain × one text": times.get("explain"),
        "explain and to_json × one text": times.get("to_json"),
        "one core texts/s": one,
        "two cores texts/s": two,
        "batch CPU ms/text": round(1e3 / BATCH * min(each["cpu"] for each in batches[2]), 4),
        "first answer s": round(min(first), 3),
    }


def markdown(results: dict) -> str:
    about, rows = machine(), results["contenders"]
    lines = [
        "# Latency",
        "",
        f"Raw text in, names of five labels out, on `{results['corpus']}` ({results['labels']:,} labels); made by",
        "`python -m benchmarks.latency`, contenders in turn in one run.  One text on one core; first answer with the",
        f"start of the process.  {about['processor']}, {about['cores']} cores, {time.strftime('%Y-%m-%d')}.",
        "",
        f"| | {' | '.join(COLUMNS)} |",
        f"|---|{'---|' * len(COLUMNS)}",
    ]
    for name, each in rows.items():
        lines.append(f"| {name} | {' | '.join('' if each.get(c) is None else f'{each[c]:,}' for c in COLUMNS)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
