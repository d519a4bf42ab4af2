"""Combinations that no paper tried, on debian-related: python -m benchmarks.combinations [ROW …].

LightXML's heads on a bag of tokens, and DECAF's label-text classifiers on MiniLM.  Trainings resume where an earlier
call stopped; processor seconds are of all calls together.  One seed, settings of configs/, nothing tuned.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import corpus_path
from longtail.config import read_toml

ROWS = {
    "LightXML on a bag": ("lightxml", "configs/lightxml/debian-related-bag.toml"),
    "DECAF on MiniLM": ("decaf", "configs/decaf/debian-related-minilm.toml"),
}
SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["R@100"]


def main(wanted: list[str]) -> None:
    splits, rows = longtail.load(corpus_path("debian-related")), earlier("combinations")
    for row, (method, config) in ROWS.items():
        if wanted and row not in wanted:
            continue
        place, started = Path("runs") / "combinations" / row.replace(" ", "-"), time.process_time()
        model = longtail.fit(method, splits.train, run=place, say=print, **read_toml(Path(config)))
        spent = rows.get(row, {}).get("processor seconds", 0) + round(time.process_time() - started)
        metrics = longtail.evaluate(model, splits.split("test")).metrics
        rows[row] = {each: round(metrics[each], 2) for each in SHOWN} | {"processor seconds": spent}
        save("combinations", rows)
    (RESULTS / "combinations.md").write_text(markdown(rows), "utf-8")
    print(markdown(rows))


def markdown(rows: dict) -> str:
    """One row a model."""
    columns = [*SHOWN, "processor seconds"]
    lines = [f"| `{row}` | " + " | ".join(str(found[each]) for each in columns) + " |" for row, found in rows.items()]
    head = f"| debian-related | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}\n"
    return (
        f"# Combinations that no paper tried\n\n`python -m benchmarks.combinations`\n\n{head}" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
