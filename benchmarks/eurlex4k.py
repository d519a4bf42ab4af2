"""EURLex-4K, the official features of the XML repository: python -m benchmarks.eurlex4k [ROW …].

Every method that reads features, three seeds each, beside published rows; DECAF reads label texts as documents, and
the files have no words of their features.  What was run before is not run again.
Mean and standard deviation over seeds; megabytes of the saved model; milliseconds a document, one at a time.
Seconds of published rows are wall time on the authors' machine, with two GPUs for LightDXML and Astec.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.claims_table import ASTEC
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import corpus_path
from benchmarks.unchanged import processor_seconds

SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)]
SEEDS = (0, 1, 2)
# Row: method, preset, further settings.
ROWS: dict[str, tuple[str, str | None, dict]] = {
    "linear": ("linear", None, {}),
    "linear, three trees": ("linear", None, {"trees": 3}),
    "lightdxml, the paper's settings": ("lightdxml", "eurlex-4k", {}),
    "lightdxml, the same with its block at a tenth of the rate": (
        "lightdxml",
        "eurlex-4k",
        {"optim.lr": 0.0006},
    ),
    "lightdxml": ("lightdxml", None, {}),
    "astec": ("lightdxml/astec", "eurlex-4k", ASTEC),
    "elias": ("elias", None, {}),
    "elias++": ("elias++", None, {}),
}
# LightDXML's Table II, seconds to train with two GPUs; DiSMEC and Parabel from the XML repository's page.
PUBLISHED = {
    "LightDXML (paper)": (82.38, 67.94, 56.18, 38.51, 44.57, 47.39, 75, 23.2, 0.42),
    "Astec": (80.81, 67.50, 55.66, 37.75, 43.80, 47.01, 136, 52.5, 0.95),
    "Bonsai": (81.22, 67.80, 55.38, 36.91, 44.20, 46.63, 84, 23.5, 2.07),
    "DiSMEC": (83.21, 70.39, 58.73),
    "Parabel": (82.12, 68.91, 57.89),
}


def main(wanted: list[str]) -> None:
    rows = earlier("eurlex4k")
    for row in wanted or ROWS:
        for seed in SEEDS:
            if str(seed) in rows.get(row, {}):
                continue
            command = [sys.executable, "-m", "benchmarks.eurlex4k", "--train", row, str(seed)]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rows.setdefault(row, {})[str(seed)] = json.loads(told.splitlines()[-1])
            print(row, seed, rows[row][str(seed)], flush=True)
            save("eurlex4k", rows)
            (RESULTS / "eurlex4k.md").write_text(markdown(rows), "utf-8")


def train(row: str, seed: int) -> dict:
    """Train once, and say what came of it."""
    import longtail

    method, preset, settings = ROWS[row]
    splits = longtail.load(corpus_path("eurlex-4k"))
    with tempfile.TemporaryDirectory() as place:
        before = processor_seconds()
        model = longtail.fit(method, splits.train, run=Path(place) / "run", preset=preset, seed=seed, **settings)
        spent, test = processor_seconds() - before, splits.split("test")
        size = sum(path.stat().st_size for path in (Path(place) / "run" / "model").rglob("*") if path.is_file())
        metrics = longtail.evaluate(model, test).metrics
        alone = milliseconds_alone(model, test)
    shown = {each: round(metrics[each], 2) for each in SHOWN}
    return shown | {"processor seconds": round(spent), "MB": round(size / 1e6, 1), "ms": round(alone, 3)}


def milliseconds_alone(model, test, documents: int = 500) -> float:
    """Median of one document at a time."""
    took = []
    for at in range(documents):
        one = test.documents[np.array([at])]
        begun = time.perf_counter()
        model.rank(one, k=5)
        took.append(time.perf_counter() - begun)
    return 1000 * float(np.median(took))


def markdown(rows: dict) -> str:
    """Published rows, then ours."""
    columns = [*SHOWN, "processor s", "MB", "ms"]
    empty = [""] * len(columns)
    lines = [
        f"| {name} | " + " | ".join([*(f"{value:.4g}" for value in values), *empty][: len(columns)]) + " |"
        for name, values in PUBLISHED.items()
    ]
    lines += [f"| `{row}` | " + " | ".join(cells(list(rows[row].values()))) + " |" for row in ROWS if row in rows]
    head = f"| EURLex-4K | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}\n"
    about = (__doc__ or "").partition("\n\n")[2].strip()
    return f"# EURLex-4K\n\n`python -m benchmarks.eurlex4k`\n\n{about}\n\n{head}" + "\n".join(lines) + "\n"


def cells(found: list[dict]) -> list[str]:
    """Mean ± standard deviation of each metric, and means of the rest."""
    metrics = [[each[name] for each in found] for name in SHOWN]
    spread = [f"{np.mean(each):.2f} ± {np.std(each, ddof=1) if len(each) > 1 else 0:.2f}" for each in metrics]
    return spread + [f"{np.mean([each[name] for each in found]):.3g}" for name in ("processor seconds", "MB", "ms")]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        print(json.dumps(train(sys.argv[2], int(sys.argv[3]))))
    else:
        main(sys.argv[1:])
