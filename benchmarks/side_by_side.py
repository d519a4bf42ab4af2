"""Contenders on the same corpora, one after the other in one run: accuracy, training, size, speed.

A contender is a program of benchmarks/contenders in a process of its own.  It finds the test documents and what it may
train on in a directory, and leaves a ranking and what it cost there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import longtail
from benchmarks.contenders import THREADS
from benchmarks.machine import RESULTS, earlier, save
from longtail.corpus import Corpus, Splits
from longtail.features.bags import Bags
from longtail.features.tfidf import TfidfOptions
from longtail.judge.frequencies import Frequencies
from longtail.judge.metrics import evaluate_ranking
from longtail.ranking import Ranking

ROOT = Path(__file__).parents[1]
PECOS = str(ROOT / ".venv-pecos" / "bin" / "python")
Contenders = dict[str, tuple[str, ...]]

SHOWN = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "R@100")
COSTS = (
    "train seconds", "train cpu seconds", "peak memory MB", "model MB", "batch cpu ms/document", "alone ms/document",
)  # fmt: skip
PEERS: Contenders = {
    "PECOS XR-Linear": (PECOS, "benchmarks.contenders.pecos"),
    "PECOS XR-Linear × 3": (PECOS, "benchmarks.contenders.pecos", "3"),
    "omikuji Parabel": (sys.executable, "benchmarks.contenders.omikuji"),
    "omikuji Bonsai": (sys.executable, "benchmarks.contenders.omikuji", "bonsai"),
    "napkinXC PLT": (sys.executable, "benchmarks.contenders.napkin"),
}


def corpus_path(name: str) -> Path:
    return Path(os.environ.get("LONGTAIL_DATA", ROOT.parent / "shared" / "data")) / name


def compare(table: str, title: str, corpora: tuple[str, ...], contenders: Contenders) -> None:
    """Fill results/TABLE.json and .md; what is not asked for again keeps its earlier row."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("corpora", nargs="*", default=corpora, metavar="CORPUS")
    parser.add_argument("--only", action="append", choices=contenders, help="a contender to run; all if not given")
    asked = parser.parse_args()
    for name in asked.corpora:
        splits = longtail.load(corpus_path(name))
        with tempfile.TemporaryDirectory() as place:
            write_features(splits, Path(place))
            for contender in asked.only or contenders:
                row = run(contenders[contender], Path(place), corpus_path(name), splits)
                if row is not None:
                    add(table, title, name, contender, row, list(contenders))
                    print(name, contender, [row["metrics"][m] for m in SHOWN], [row[c] for c in COSTS], flush=True)


def add(table: str, title: str, corpus: str, contender: str, row: dict, order: list[str]) -> None:
    """One more row, in its place; the file is read again, since another process may have added to it."""
    results = earlier(table)
    rows = results.setdefault(corpus, {}) | {contender: row}
    results[corpus] = {each: rows[each] for each in order if each in rows}
    save(table, results)
    (RESULTS / f"{table}.md").write_text(markdown(title, table, results), "utf-8")


def write_features(splits: Splits, directory: Path) -> None:
    """TF-IDF rows, the same for every contender that reads features."""
    train, test = splits.train, splits.split("test")
    bags = Bags.fit(train.documents, TfidfOptions(sublinear=True))
    for name, matrix in (
        ("trn_X", bags.rows(train.documents)),
        ("tst_X", bags.rows(test.documents)),
        ("trn_Y", train.labels),
    ):
        sp.save_npz(directory / f"{name}.npz", sp.csr_matrix(matrix), compressed=False)


def run(
    command: tuple[str, ...], features: Path, corpus: Path, splits: Splits, keep: Path | None = None
) -> dict | None:
    """What a contender cost and its metrics; with `keep`, its ranking.npz stays in that directory."""
    program, module, *words = command
    if not Path(program).exists():
        print(f"NOT RUN: {module} needs {program}; make .venv-pecos", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(features, place, dirs_exist_ok=True)
        settings = {"OMP_NUM_THREADS": str(THREADS), "PYTHONPATH": str(ROOT), "CORPUS": str(corpus)}
        quiet = subprocess.DEVNULL if "omikuji" in module else None  # its progress bars are a hundred thousand lines
        subprocess.run(
            [program, "-m", module, place, *words], check=True, env=os.environ | settings, cwd=ROOT, stderr=quiet
        )
        answer = np.load(Path(place) / "ranking.npz")
        if keep is not None:
            shutil.copy(Path(place) / "ranking.npz", keep)
        about = json.loads((Path(place) / "about.json").read_text())
    ranking = Ranking(answer["labels"], answer["scores"])
    busy = {"day": time.strftime("%Y-%m-%d"), "load afterwards": round(os.getloadavg()[0], 1)}
    return about | {"threads": THREADS} | busy | {"metrics": judged(ranking, splits.train, splits.split("test"))}


def judged(ranking: Ranking, train: Corpus, test: Corpus) -> dict[str, float]:
    scored = evaluate_ranking(ranking, test.labels, train=Frequencies.of(train.labels), filtered=test.filtered)
    return {name: round(value, 2) for name, value in scored.metrics.items()}


def markdown(title: str, table: str, results: dict) -> str:
    lines = [f"# {title}", ""]
    lines += [
        f"Made by `python -m benchmarks.{table}`; machine, versions and settings in {table}.json. Test split, %.",
        "",
    ]
    for corpus, rows in results.items():
        columns = (*SHOWN, *COSTS)
        lines += [f"## {corpus}", "", "| |" + " | ".join(columns) + " |", "|---" * (1 + len(columns)) + "|"]
        for name, row in rows.items():
            cells = [f"{row['metrics'][metric]:.2f}" for metric in SHOWN] + [str(row[cost]) for cost in COSTS]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)
