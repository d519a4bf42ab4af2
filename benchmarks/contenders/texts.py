"""A method of Longtail that reads texts, from files to ranking: python -m benchmarks.contenders.texts DIR METHOD …

What follows the method are settings, as field=value; without any, configs/METHOD/CORPUS.toml is taken if it is there.
The corpus is the directory named by the variable CORPUS.
"""

import os
import sys
import tomllib
from itertools import islice
from pathlib import Path

import numpy as np

import longtail
from benchmarks.contenders import DEPTH, ONE_BY_ONE, place, report, size_of, timed
from longtail.config import parse_assignment

METHOD, GIVEN, CORPUS = sys.argv[2], sys.argv[3:], Path(os.environ["CORPUS"])
FILE = Path("configs") / METHOD / f"{CORPUS.name}.toml"


def settings() -> tuple[dict, str]:
    """What the method is told, and in words."""
    if GIVEN or not FILE.is_file():
        return dict(map(parse_assignment, GIVEN)), " ".join(["defaults", *GIVEN])
    return tomllib.loads(FILE.read_text("utf-8")), str(FILE)


SETTINGS, ABOUT = settings()


def trained() -> longtail.Predictor:
    """From files to a model; reading the corpus counts."""
    return longtail.fit(METHOD, longtail.load(CORPUS).train, run=place() / "run", **SETTINGS)


model, cost = timed(trained)
test = longtail.load(CORPUS).split("test")
model.rank(test.documents[:1], DEPTH)
ranking, batch = timed(lambda: model.rank(test.documents, DEPTH))
first = [[text] for text in islice(test.texts, ONE_BY_ONE)]
_, alone = timed(lambda: [model.predict(each, k=10) for each in first])
arrays = np.asarray(ranking.labels), np.asarray(ranking.scores)
report(cost, batch, alone, len(test), arrays, size_of(place() / "run" / "model"), ABOUT)
