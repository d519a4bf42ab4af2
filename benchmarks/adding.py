"""How long it takes to add labels to a model: python -m benchmarks.adding --model NAME=DIR … [--corpus NAME]

    --model NAME=DIR    a saved model, repeatable
    --corpus NAME       whose texts are the examples; debian-related unless told

New labels are those of the corpus with other ids and their names' words in another order; examples are test documents.
Wall and processor milliseconds of `model.add_labels` in a process that has added labels before, the median of several;
"first" is the first time in a process: it reads all ids, and makes what a model needs to read texts.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import longtail
from benchmarks.machine import earlier, save
from benchmarks.side_by_side import corpus_path
from longtail.corpus import Splits
from longtail.predict.predictor import Predictor

LABELS, TIMES, EXAMPLES = 1000, 15, (0, 1, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="debian-related")
    parser.add_argument("--model", action="append", required=True, metavar="NAME=DIR")
    asked = parser.parse_args()
    splits, results = longtail.load(corpus_path(asked.corpus)), earlier("adding")
    given = {examples: new_labels(splits, examples) for examples in EXAMPLES}
    for name, directory in (each.split("=", 1) for each in asked.model):
        results[name] = measured(directory, given)
        print(name, results[name], flush=True)
    print(save("adding", results))


def new_labels(splits: Splits, examples: int) -> list[dict]:
    """Labels with words that the model knows."""
    rng, known, texts = np.random.default_rng(examples), splits.train.label_set, splits.split("test").texts
    chosen = rng.permutation(len(known))[:LABELS].tolist()
    documents = rng.integers(0, len(texts), (LABELS, examples)).tolist()
    return [
        {
            "id": f"new {label}",
            "name": " ".join(rng.permutation(known[label].name.split())),
            "text": known[label].text,
            "examples": [texts[document] for document in own],
        }
        for label, own in zip(chosen, documents)
    ]


def measured(directory: str, given: dict[int, list[dict]]) -> dict:
    model = longtail.open(directory)
    found: dict = {"labels": len(model.labels), "first ms": round(timed(model, given[0])[0], 1)}
    for examples, labels in given.items():
        wall, cpu = np.median([timed(model, labels) for _ in range(TIMES)], axis=0).tolist()
        found |= {f"{examples} examples, ms": round(wall, 1), f"{examples} examples, CPU ms": round(cpu, 1)}
    return found


def timed(model: Predictor, labels: list[dict]) -> tuple[float, float]:
    """Wall and processor milliseconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    grown = model.add_labels(labels)
    spent = 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu)
    assert len(grown.labels) == len(model.labels) + len(labels)
    return spent


if __name__ == "__main__":
    main()
