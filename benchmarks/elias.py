"""ELIAS part by part, as in its Table 3: python -m benchmarks.elias [CORPUS ...] [--only ROW].

Stage 1 alone, both stages, a sparse ranker on top, calibrated; and beside them the same encoder with no index at all.
One seed, the bag encoder, settings of configs/elias where a corpus has some.  What was run before is not run again.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import time
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import ROOT, corpus_path
from longtail.config import build
from longtail.methods import elias
from longtail.predictor import Predictor, combine
from longtail.store import read_json, write_json

CORPORA = ("debian-related", "wordnet-related", "yso-finna-en", "eurlex57k")
SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["nDCG@5", "R@100"]
ROWS = (
    "stage 1",
    "stage 1, as long as stage 2",
    "+ stage 2, best paths alone",
    "+ stage 2",
    "+ sparse ranker",
    "+ calibration",
    "+ ensemble of 3",
    "every label scored",
    "one-vs-all",
)


def settings_for(name: str) -> dict:
    """What configs/elias/NAME.toml says, or nothing."""
    path = ROOT / "configs" / "elias" / f"{name}.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


# A name, a model, and the processor seconds of the whole way to it, where it is not part of another row's.
Row = tuple[str, Predictor, float | None]


def models(name: str, train: longtail.Corpus, missing: set[str], runs: Path) -> Iterator[Row]:
    """The rows that are missing."""
    settings = settings_for(name)
    if missing & {"+ stage 2", "stage 1", "+ sparse ranker", "every label scored"}:
        both, seconds = trained("elias", train, runs / "both", settings)
        yield "+ stage 2", both, seconds
        yield "every label scored", without_index(both), None
        found_again(runs / "both", runs / "first", "stages", "training/stage-1")
        first, _ = trained("elias", train, runs / "first", settings | {"index": "fixed"})
        yield "stage 1", first, None
        found_again(runs / "both", runs / "ranked", "stages", "training")
        untold = {"tree_share": 0.0, "valid_documents": 0, "elias": settings}
        ranked, more = trained("elias++", train, runs / "ranked", untold)
        yield "+ sparse ranker", ranked, together(seconds, more)
    if "+ stage 2, best paths alone" in missing:
        alone = settings | {"walk": settings.get("walk", {}) | {"paths": "best"}}
        part_of_both = found_again(runs / "both", runs / "best", "stages", "training/stage-1")
        best, seconds = trained("elias", train, runs / "best", alone)
        yield "+ stage 2, best paths alone", best, None if part_of_both else seconds
    if "+ calibration" in missing:
        yield "+ calibration", *trained("elias++", train, runs / "calibrated", {"elias": settings})
    if "+ ensemble of 3" in missing:
        members = [
            trained("elias++", train, runs / f"calibrated-{seed}", {"elias": settings, "seed": seed}) for seed in (1, 2)
        ]
        members.append(trained("elias++", train, runs / "calibrated", {"elias": settings}))
        yield "+ ensemble of 3", combine([model for model, _ in members]), together(*(each for _, each in members))
    if "stage 1, as long as stage 2" in missing:
        alone = settings | {"index": "fixed", "stage_1": dataclasses.asdict(build(elias.Config, settings).stage_2)}
        yield "stage 1, as long as stage 2", *trained("elias", train, runs / "long", alone)
    if "one-vs-all" in missing:
        yield "one-vs-all", *trained("elias", train, runs / "all", settings | {"index": "none"})


def found_again(before: Path, run: Path, *parts: str) -> bool:
    """What another run finished is not learned again where the settings that made it are the same; whether it was."""
    found = [part for part in parts if (before / part).is_dir()]
    for part in found:
        shutil.copytree(before / part, run / part, dirs_exist_ok=True)
    return bool(found)


def trained(method: str, train: longtail.Corpus, run: Path, settings: dict) -> tuple[Predictor, float | None]:
    """A model, and the processor seconds of its training, of which the run directory keeps a note.

    Without a note they are known only of a training that began in this call: what an attempt that was killed took,
    nobody wrote down.
    """
    note, anew = run / "cpu_seconds.json", not (run / "run.json").exists()
    began = time.process_time()
    model = longtail.fit(method, train, run=run, **settings)
    if anew:
        write_json(note, time.process_time() - began)
    return model, read_json(note) if note.is_file() else None


def together(*seconds: float | None) -> float | None:
    """Their sum; unknown if one is."""
    known = [each for each in seconds if each is not None]
    return sum(known) if len(known) == len(seconds) else None


def without_index(both: Predictor) -> Predictor:
    """The classifiers of a trained ELIAS on all labels: what its index loses or gains when it is asked."""
    from longtail.rankers.clustered import Clustered, each_its_own

    labels = both.model.graphed.labels
    flat = Clustered(each_its_own(len(labels.rows)), labels, None, 1)
    return replace(both, model=replace(both.model, graphed=None, one_vs_all=flat))


def table(results: dict) -> str:
    """All rows in Markdown."""
    lines = ["# ELIAS, part by part (`python -m benchmarks.elias`)"]
    for corpus, rows in results.items():
        lines += ["", f"## {corpus}", "", f"| | {' | '.join(SHOWN)} | CPU s |", "|---" * (len(SHOWN) + 2) + "|"]
        for row in ROWS:
            if row in rows:
                numbers = [f"{rows[row]['metrics'][metric]:.2f}" for metric in SHOWN]
                lines.append(f"| {row} | {' | '.join(numbers)} | {rows[row]['cpu seconds'] or '–'} |")
    return "\n".join(lines) + "\n"


def add(corpus: str, row: str, numbers: dict) -> None:
    """One more row; the file is read again, since another process may have added to it."""
    results = earlier("elias")
    results.setdefault(corpus, {})[row] = numbers
    save("elias", results)
    (RESULTS / "elias.md").write_text(table(results), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="ELIAS, part by part")
    parser.add_argument("corpora", nargs="*", default=CORPORA, metavar="CORPUS")
    parser.add_argument("--only", action="append", choices=ROWS, help="a row to run; all if not given")
    asked = parser.parse_args()
    for name in asked.corpora:
        splits = longtail.load(corpus_path(name))
        missing = set(asked.only or ROWS) - earlier("elias").get(name, {}).keys()
        for row, model, seconds in models(name, splits.train, missing, Path("runs") / "elias" / name):
            judged = longtail.evaluate(model, splits.split("test")).metrics
            numbers = {"metrics": {each: round(judged[each], 2) for each in SHOWN}}
            add(name, row, numbers | {"cpu seconds": None if seconds is None else round(seconds)})
            print(name, row, numbers, flush=True)


if __name__ == "__main__":
    main()
