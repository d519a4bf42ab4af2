"""ELIAS part by part, as in its Table 3: python -m benchmarks.elias [CORPUS ...] [--only ROW].

Stage 1 alone, both stages, a sparse ranker on top, calibrated; and beside them the same encoder with no index at all.
All hold the same documents out, or take as many of the validation split.  Rows from "+ stage 2, ŷ^½" to "+ calibration"
are parts of one model, each with one thing more: what ŷ weighs is chosen, a ranker at w = ½, its w chosen, a tree.  "–"
are the processor seconds of a row that shares another's training, or of a training that somebody killed and resumed.
One seed, the bag encoder, settings of configs/elias where a corpus has some.  What was run before is not run again.
"""

from __future__ import annotations

import argparse
import shutil
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import ROOT, corpus_path
from longtail.config import build
from longtail.methods import elias
from longtail.methods.elias.stages import with_weight
from longtail.predict.ensemble import combine
from longtail.predict.predictor import Predictor
from longtail.store import read_json, write_json

CORPORA = ("debian-related", "wordnet-related", "yso-finna-en", "eurlex57k")
SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["nDCG@5", "R@100"]
# In the order of the table.  Rows of one model differ in one thing each: see `both_stages` and `calibrated`.
ROWS = (
    "stage 1",
    "stage 1, as long as stage 2",
    "+ stage 2, best paths alone",
    "+ stage 2, ŷ^½",
    "+ stage 2",
    "+ stage 2, asked with a wider beam",
    "+ sparse ranker, w = ½",
    "+ sparse ranker",
    "+ calibration",
    "+ ensemble of 3",
    "every label scored",
    "one-vs-all",
)
WIDER = {"beam": 200, "shortlist": 2000}


def settings_for(name: str) -> dict:
    """What configs/elias/NAME.toml says, or nothing."""
    path = ROOT / "configs" / "elias" / f"{name}.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


# A name, a model, and the processor seconds of the whole way to it, where it is not part of another row's.
Row = tuple[str, Predictor, float | None]


def models(name: str, train: longtail.Corpus, missing: set[str], runs: Path) -> Iterator[Row]:
    """The rows that are missing, and perhaps others of the same trainings."""
    settings = settings_for(name)
    for training, rows in TRAININGS.items():
        if missing & set(rows):
            yield from training(train, runs, settings)


def both_stages(train: longtail.Corpus, runs: Path, settings: dict) -> Iterator[Row]:
    """One model, asked in four ways."""
    both, seconds = trained("elias", train, runs / "both", settings)
    yield "+ stage 2", both, seconds
    yield "+ stage 2, ŷ^½", replace(both, model=with_weight(both.model, 0.5)), None
    yield "+ stage 2, asked with a wider beam", with_wider_beam(both), None
    yield "every label scored", without_index(both), None


def stage_1(train: longtail.Corpus, runs: Path, settings: dict) -> Iterator[Row]:
    """What the graph grows from."""
    found_again(runs / "both", runs / "first", "stages", "training/stage-1")
    not_averaged = {"optim": settings.get("optim", {}) | {"average_from": "none"}}  # as stage 1 of both is not
    first, _ = trained("elias/fixed", train, runs / "first", settings | not_averaged)
    yield "stage 1", first, None


def long_stage_1(train: longtail.Corpus, runs: Path, settings: dict) -> Iterator[Row]:
    """Stage 1 that learns as stage 2 does."""
    second = build(elias.Config, settings).stage(2)
    own = {name: getattr(second.optim, name) for name in ("epochs", "lr", "row_lr", "precision")}
    own |= {"cluster_lr": second.cluster_lr, "row_batches": second.row_batches}
    alone = settings | {"optim": settings.get("optim", {}) | own, "shortlist_loss": second.shortlist_loss}
    yield "stage 1, as long as stage 2", *trained("elias/fixed", train, runs / "long", alone)


def best_paths(train: longtail.Corpus, runs: Path, settings: dict) -> Iterator[Row]:
    """The paper's (6)."""
    alone = settings | {"walk": settings.get("walk", {}) | {"paths": "best"}}
    part_of_both = found_again(runs / "both", runs / "best", "stages", "training/stage-1")
    best, seconds = trained("elias", train, runs / "best", alone)
    yield "+ stage 2, best paths alone", best, None if part_of_both else seconds


def calibrated(train: longtail.Corpus, runs: Path, settings: dict) -> Iterator[Row]:
    """One ELIAS++ as it is by default, on the ELIAS of both stages, taken apart."""
    _, before = trained("elias", train, runs / "both", settings)
    found_again(runs / "both", runs / "calibrated", "stages", "training")
    whole, more = trained("elias++", train, runs / "calibrated", {"elias": settings})
    untold = replace(whole.model, tree=None)
    yield "+ sparse ranker, w = ½", replace(whole, model=replace(untold, ranker_weight=0.5)), None
    yield "+ sparse ranker", replace(whole, model=untold), None
    yield "+ calibration", whole, together(before, more)


def ensemble(train: longtail.Corpus, runs: Path, settings: dict) -> Iterator[Row]:
    """Three of the same, which differ in their clusterings."""
    *_, (_, first, seconds) = calibrated(train, runs, settings)
    others = [
        trained("elias++", train, runs / f"calibrated-{seed}", {"elias": settings, "seed": seed}) for seed in (1, 2)
    ]
    members = [first, *(model for model, _ in others)]
    yield "+ ensemble of 3", combine(members), together(seconds, *(each for _, each in others))


def one_vs_all(train: longtail.Corpus, runs: Path, settings: dict) -> Iterator[Row]:
    """Every label learns from every document."""
    yield "one-vs-all", *trained("elias/one-vs-all", train, runs / "all", settings)


Training = Callable[[longtail.Corpus, Path, dict], Iterator[Row]]
TRAININGS: dict[Training, tuple[str, ...]] = {
    both_stages: ("+ stage 2", "+ stage 2, ŷ^½", "+ stage 2, asked with a wider beam", "every label scored"),
    stage_1: ("stage 1",),
    best_paths: ("+ stage 2, best paths alone",),
    calibrated: ("+ sparse ranker, w = ½", "+ sparse ranker", "+ calibration"),
    ensemble: ("+ ensemble of 3",),
    long_stage_1: ("stage 1, as long as stage 2",),
    one_vs_all: ("one-vs-all",),
}


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


def with_wider_beam(both: Predictor) -> Predictor:
    """A trained ELIAS that opens more clusters and ranks more labels than it learned with."""
    graphed = both.model.graphed
    wider = replace(graphed, index=replace(graphed.index, **WIDER))
    return replace(both, model=replace(both.model, graphed=wider))


def without_index(both: Predictor) -> Predictor:
    """The classifiers of a trained ELIAS on all labels: what its index loses or gains when it is asked."""
    from longtail.rankers.clustered import Clustered

    labels = both.model.graphed.labels
    flat = Clustered(labels, None, 1)
    return replace(both, model=replace(both.model, graphed=None, one_vs_all=flat))


def table(results: dict) -> str:
    """All rows in Markdown."""
    lines = ["# ELIAS, part by part (`python -m benchmarks.elias`)"]
    for corpus, rows in results.items():
        lines += ["", f"## {corpus}", "", f"| | {' | '.join(SHOWN)} | CPU s |", "|---" * (len(SHOWN) + 2) + "|"]
        for row in sorted(rows, key=lambda row: ROWS.index(row) if row in ROWS else len(ROWS)):
            numbers = [rows[row]["metrics"].get(metric) for metric in SHOWN]
            shown = ["–" if number is None else f"{number:.2f}" for number in numbers]
            lines.append(f"| {row} | {' | '.join(shown)} | {rows[row]['cpu seconds'] or '–'} |")
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
            if row not in missing:
                continue
            judged = longtail.evaluate(model, splits.split("test")).metrics
            numbers = {"metrics": {each: round(judged[each], 2) for each in SHOWN}}
            add(name, row, numbers | {"cpu seconds": None if seconds is None else round(seconds)})
            print(name, row, numbers, flush=True)


if __name__ == "__main__":
    main()
