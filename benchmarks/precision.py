"""What fewer bits cost on every corpus: python -m benchmarks.precision [METHOD:CORPUS …].

Every model is trained once with default settings (and kept in runs/precision), stored in fp32, fp16 and int8, and each
is judged by all test documents.  Nothing is chosen, so nothing is tuned on test.  `linear` has sparse rows, which stay
as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import corpus_path
from longtail.predict.export import expected_size, in_precision

SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)]
PRECISIONS = ("fp32", "fp16", "int8")
CORPORA = ("debian-related", "wordnet-related", "wordnet-glosses", "eurlex57k", "yso-finna-en")
ROWS = [f"{method}:{corpus}" for corpus in CORPORA for method in ("decaf", "lightdxml", "elias++")]
LIMIT = 0.1  # by which no metric may change


def main(wanted: list[str]) -> None:
    rows = earlier("precision")
    for row in wanted or ROWS:
        rows[row] = judged(*row.split(":"))
        save("precision", rows)
        print(row, rows[row], flush=True)
    (RESULTS / "precision.md").write_text(markdown(rows), "utf-8")
    print(markdown(rows))


def judged(method: str, corpus: str) -> dict:
    """Size and metrics of a model in each precision."""
    splits = longtail.load(corpus_path(corpus))
    model = longtail.fit(method, splits.train, run=Path("runs") / "precision" / f"{method}-{corpus}", say=print)
    found = {}
    for precision in PRECISIONS:
        metrics = longtail.evaluate(in_precision(model, precision), splits.split("test")).metrics
        found[precision] = {name: round(metrics[name], 3) for name in SHOWN}
        found[precision]["MB"] = round(expected_size(model, precision) / 1e6, 1)
    return found


def markdown(rows: dict) -> str:
    """One row a model in a precision: its size, metrics, and the largest change against fp32."""
    columns = ["MB", *SHOWN, "largest change"]
    lines = [f"| model and corpus | precision | {' | '.join(columns)} |", f"|---|---|{'---|' * len(columns)}"]
    for row, found in rows.items():
        method, corpus = row.split(":")
        for precision, metrics in found.items():
            numbers = [metrics["MB"], *(f"{metrics[name]:.2f}" for name in SHOWN), f"{change(found, precision):.2f}"]
            lines.append(f"| `{method}`, {corpus} | {precision} | {' | '.join(map(str, numbers))} |")
    worst = max((change(found, precision) for found in rows.values() for precision in found), default=0)
    verdict = f"Largest change of a metric: {worst:.2f} (limit {LIMIT})."
    return f"# What fewer bits cost\n\n`python -m benchmarks.precision`. {verdict}\n\n" + "\n".join(lines) + "\n"


def change(found: dict, precision: str) -> float:
    """The largest difference of a metric from fp32."""
    return max(abs(found[precision][name] - found["fp32"][name]) for name in SHOWN)


if __name__ == "__main__":
    main(sys.argv[1:])
