"""Linear tree methods side by side: accuracy, training, size, speed.  python -m benchmarks.linear [CORPUS ...]

Every contender gets the same TF-IDF rows (those of `linear`'s defaults) and two threads, one after the other in one
run.  libpecos needs NumPy 1 and so an environment of its own (`make .venv-pecos`); without it, it is left out aloud.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import longtail
from benchmarks.machine import RESULTS, save
from longtail.corpus import Corpus
from longtail.features.bags import Bags
from longtail.methods.linear import Config
from longtail.metrics import Frequencies, evaluate_ranking
from longtail.ranking import Ranking

ROOT = Path(__file__).parents[1]
PECOS = ROOT / ".venv-pecos" / "bin" / "python"
CORPORA = ("eurlex57k", "wordnet-glosses", "debian-related", "wordnet-related", "yso-finna-en")
CONTENDERS = {
    "longtail linear": (sys.executable, "benchmarks.contenders.ours", "linear"),
    "longtail linear, 3 trees": (sys.executable, "benchmarks.contenders.ours", "linear", "trees=3"),
    "longtail centroid": (sys.executable, "benchmarks.contenders.ours", "centroid"),
    "PECOS XR-Linear": (str(PECOS), "benchmarks.contenders.pecos"),
    "omikuji Parabel": (sys.executable, "benchmarks.contenders.omikuji"),
    "omikuji Bonsai": (sys.executable, "benchmarks.contenders.omikuji", "bonsai"),
}
SHOWN = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "R@100")
COSTS = ("train cpu seconds", "train seconds", "model MB", "batch cpu ms/document", "alone ms/document")


def corpus_path(name: str) -> Path:
    return Path(os.environ.get("LONGTAIL_DATA", ROOT.parent / "shared" / "data")) / name


def write_features(train: Corpus, test: Corpus, directory: Path) -> None:
    bags = Bags.fit(train.documents, Config().words)
    for name, matrix in (
        ("trn_X", bags.rows(train.documents)),
        ("tst_X", bags.rows(test.documents)),
        ("trn_Y", train.labels),
    ):
        sp.save_npz(directory / f"{name}.npz", sp.csr_matrix(matrix), compressed=False)


def run(command: tuple[str, ...], features: Path, train: Corpus, test: Corpus) -> dict | None:
    program, module, *words = command
    if not Path(program).exists():
        print(f"NOT RUN: {module} needs {program}; make .venv-pecos", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(features, place, dirs_exist_ok=True)
        threads = {"OMP_NUM_THREADS": "2", "PYTHONPATH": str(ROOT)}
        command = [program, "-m", module, place, *words]
        quiet = subprocess.DEVNULL if "omikuji" in module else None  # its progress bars are a hundred thousand lines
        subprocess.run(command, check=True, env=os.environ | threads, cwd=ROOT, stderr=quiet)
        answer = np.load(Path(place) / "ranking.npz")
        about = json.loads((Path(place) / "about.json").read_text())
    ranking, seen = Ranking(answer["labels"], answer["scores"]), Frequencies.of(train.labels)
    scored = evaluate_ranking(ranking, test.labels, train=seen, filtered=test.filtered)
    return about | {"metrics": {name: round(value, 2) for name, value in scored.metrics.items()}}


def markdown(results: dict) -> str:
    lines = ["# Linear tree methods, same features, same run", ""]
    lines += ["Made by `python -m benchmarks.linear`; machine and versions in linear.json. Test split, %.", ""]
    for corpus, rows in results.items():
        lines += [
            f"## {corpus}",
            "",
            "| |" + " | ".join((*SHOWN, *COSTS)) + " |",
            "|---" * (1 + len(SHOWN) + len(COSTS)) + "|",
        ]
        for name, row in rows.items():
            cells = [f"{row['metrics'][metric]:.2f}" for metric in SHOWN] + [str(row[cost]) for cost in COSTS]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def earlier() -> dict:
    path = RESULTS / "linear.json"
    return json.loads(path.read_text())["results"] if path.is_file() else {}


def main() -> None:
    results = earlier()
    for name in sys.argv[1:] or CORPORA:
        splits = longtail.load(corpus_path(name))
        with tempfile.TemporaryDirectory() as place:
            write_features(splits.train, splits.split("test"), Path(place))
            results[name] = {}
            for contender, command in CONTENDERS.items():
                row = run(command, Path(place), splits.train, splits.split("test"))
                if row is not None:
                    results[name][contender] = row
                    print(
                        name, contender, {m: row["metrics"][m] for m in SHOWN}, {c: row[c] for c in COSTS}, flush=True
                    )
        save("linear", results)
        (RESULTS / "linear.md").write_text(markdown(results), "utf-8")


if __name__ == "__main__":
    main()
