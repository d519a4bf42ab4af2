"""What the LightDXML paper says of its cycle, on our corpora: python -m benchmarks.lightdxml_claims [CORPUS].

The cycle against a shortlist that stays as it was first found, and what a re-ranker adds to either: a second encoder
with its own classifiers, trained from scratch on the labels that the first model ranks best, its score averaged with
the first's.  Then how it learns: fewer and more epochs, wider vectors.  One seed; what was run before is not run again.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import longtail
from benchmarks.machine import earlier, save
from benchmarks.side_by_side import corpus_path, judged
from longtail.config import build
from longtail.corpus import Splits
from longtail.encoders.bag import BLOCKS, TokenBag
from longtail.encoders.learn.encoder import BagSource
from longtail.features.vectors import first_vectors
from longtail.methods.lightdxml.ablations import learn_reranker
from longtail.methods.lightdxml.model import LightDXML
from longtail.methods.lightdxml.settings import Config
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking
from longtail.train.run import open_run

SHOWN = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)] + ["R@100"]
DEPTH = 120  # R@100 after filtered pairs have left


def variants() -> dict[str, dict]:
    once = {"reindex": Config().optim.epochs}
    return {
        "cycle": {},
        "frozen shortlist": once,
        "no label texts": {"label_text": "none"},
        "5 epochs": {"optim.epochs": 5, "optim.average_from": 4},
        "20 epochs": {"optim.epochs": 20, "optim.average_from": 11},
        "20 epochs, dropout 0.5": {"optim.epochs": 20, "optim.average_from": 11, "dropout": 0.5},
        "vectors of 512": {"bag.dim": 512},
    }


RERANKED = ("cycle", "frozen shortlist")


def reranked(first: Predictor, splits: Splits, config: Config) -> Ranking:
    """The mean of the model's scores and those of a re-ranker on its best labels."""
    model, train, test = first.model, splits.train, splits.split("test")
    assert isinstance(model, LightDXML) and isinstance(model.encoder, TokenBag)
    reader = model.encoder.reader
    vectors = first_vectors(reader.vocabulary, "random", config.bag.dim, config.seed + 1)
    start = TokenBag(reader, vectors, BLOCKS["residual"].first(config.bag.dim))
    documents = reader.bags(train.documents)
    source = BagSource(start, documents, documents[:0], None)
    with tempfile.TemporaryDirectory() as place, open_run(Path(place), "re-ranker", {}, train) as run:
        again = learn_reranker(model, source, train.labels, len(train), config, run)
    return replace(first, model=replace(model, reranker=again)).rank(test.documents, DEPTH)


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "debian-related"
    results, splits = earlier("lightdxml_claims"), longtail.load(corpus_path(name))
    rows = results.setdefault(name, {})
    test = splits.split("test")
    for variant, settings in variants().items():
        if variant in rows:
            continue
        clock = time.perf_counter()
        model = longtail.fit("lightdxml", splits.train, run=Path("runs") / "claims" / name / variant, **settings)
        seconds, ranking = round(time.perf_counter() - clock), model.rank(test.documents, DEPTH)
        both = {variant: ranking}
        if variant in RERANKED:
            both[f"{variant} + re-ranker"] = reranked(model, splits, build(Config, settings))
        for each, answer in both.items():
            metrics = judged(Ranking(np.array(answer.labels), np.array(answer.scores)), splits.train, test)
            rows[each] = {"seconds": seconds, "metrics": {metric: metrics[metric] for metric in SHOWN}}
            print(name, each, rows[each], flush=True)
        save("lightdxml_claims", results)


if __name__ == "__main__":
    main()
