"""What fewer bits cost on every corpus: python -m benchmarks.precision [METHOD:CORPUS …] [options].

    --short           fewer epochs (SHORT); rows are named so
    --documents N     training documents at most; all unless told, and rows are named so
    --judged N        test documents at most; all unless told

Every model is trained once (and kept in runs/precision), stored in fp32, fp16 and int8, and each is judged by the same
test documents.  Settings are the defaults, with --short those of SHORT.  Nothing is chosen, so nothing is tuned on
test.  `linear` has sparse rows, which stay as they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import longtail
from benchmarks.machine import RESULTS, earlier, save
from benchmarks.side_by_side import corpus_path
from longtail.corpus import Corpus
from longtail.predict.export import expected_size, in_precision

SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)]
PRECISIONS = ("fp32", "fp16", "int8")
CORPORA = ("debian-related", "wordnet-related", "wordnet-glosses", "eurlex57k", "yso-finna-en")
ROWS = [f"{method}:{corpus}" for corpus in CORPORA for method in ("decaf", "lightdxml", "elias++")]
LIMIT = 0.1  # by which no metric may change
_RANKED = {"optim.epochs": (1, 3), "optim.average_from": 2}
SHORT: dict[str, dict] = {
    "decaf": {"optim.epochs": (2, 2, 6), "optim.average_from": 4},
    "lightdxml": {"optim.epochs": 4, "reindex": 2, "optim.average_from": 3},
    "elias": _RANKED,
    "elias++": {f"elias.{name}": value for name, value in _RANKED.items()},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=ROWS, metavar="METHOD:CORPUS")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--documents", type=int)
    parser.add_argument("--judged", type=int)
    asked = parser.parse_args()
    training = ["short"] * asked.short + [f"{asked.documents} documents"] * (asked.documents is not None)
    for model in asked.models:
        found = judged(*model.split(":"), training, asked)
        rows = earlier("precision")  # read now: another process may have added to it
        rows[", ".join([model, *training])] = found
        save("precision", rows)
        (RESULTS / "precision.md").write_text(markdown(rows), "utf-8")
        print(model, found, flush=True)
    print(markdown(earlier("precision")))


def judged(method: str, corpus: str, training: list[str], asked: argparse.Namespace) -> dict:
    """Size and metrics of a model in each precision."""
    splits, place = longtail.load(corpus_path(corpus)), "-".join([method, corpus, *training]).replace(" ", "-")
    train, test = some(splits.train, asked.documents), some(splits.split("test"), asked.judged)
    settings = SHORT.get(method, {}) if asked.short else {}
    model = longtail.fit(method, train, run=Path("runs") / "precision" / place, say=print, **settings)
    found: dict = {"judged by": len(test)}
    for precision in PRECISIONS:
        metrics = longtail.evaluate(in_precision(model, precision), test).metrics
        found[precision] = {name: round(metrics[name], 3) for name in SHOWN}
        found[precision]["MB"] = round(expected_size(model, precision) / 1e6, 1)
    return found


def some(corpus: Corpus, documents: int | None) -> Corpus:
    """At most so many of the documents, drawn at random."""
    return corpus if documents is None else corpus.subset(corpus.drawn(documents, 0), corpus.role)


def markdown(rows: dict) -> str:
    """One row a model in a precision: its size, metrics, and the largest change against fp32."""
    columns = ["MB", *SHOWN, "largest change", "largest fall"]
    lines = [
        f"| model, corpus, training | judged by | precision | {' | '.join(columns)} |",
        f"|---|---|---|{'---|' * len(columns)}",
    ]
    for row, found in rows.items():
        method, corpus = row.split(":")
        for precision in PRECISIONS:
            metrics = found[precision]
            changed = [f"{value:.2f}" for value in (*(metrics[name] for name in SHOWN), *changes(found, precision))]
            cells = f"`{method}`, {corpus}", f"{found['judged by']:,}", precision, str(metrics["MB"]), *changed
            lines.append(f"| {' | '.join(cells)} |")
    each = [changes(found, precision) for found in rows.values() for precision in PRECISIONS]
    most, lost = np.max(each or [(0, 0)], axis=0)
    verdict = f"Largest change of a metric: {most:.2f}, largest fall: {lost:.2f} (limit {LIMIT})."
    about = "Made by `python -m benchmarks.precision`, whose docstring says what is measured; test split, %."
    return f"# What fewer bits cost\n\n{about} {verdict}\n\n" + "\n".join(lines) + "\n"


def changes(found: dict, precision: str) -> tuple[float, float]:
    """The largest difference of a metric from fp32, and by how much the one that falls most falls."""
    falls = [found["fp32"][name] - found[precision][name] for name in SHOWN]
    return max(map(abs, falls)), max(0.0, *falls)


if __name__ == "__main__":
    main()
