"""A method of Longtail that reads texts, from files to ranking: python -m benchmarks.contenders.texts DIR METHOD …

What follows the method are settings, as field=value.  The corpus is the directory named by the variable CORPUS.
"""

import os
import sys
from itertools import islice

import numpy as np

import longtail
from benchmarks.contenders import DEPTH, ONE_BY_ONE, place, report, size_of, timed
from longtail.config import parse_assignment

METHOD, SETTINGS = sys.argv[2], dict(map(parse_assignment, sys.argv[3:]))


def trained() -> longtail.Predictor:
    """From files to a model; reading the corpus counts."""
    return longtail.fit(METHOD, longtail.load(os.environ["CORPUS"]).train, run=place() / "run", **SETTINGS)


model, cost = timed(trained)
test = longtail.load(os.environ["CORPUS"]).split("test")
model.rank(test.documents[:1], DEPTH)
ranking, batch = timed(lambda: model.rank(test.documents, DEPTH))
first = [[text] for text in islice(test.texts, ONE_BY_ONE)]
_, alone = timed(lambda: [model.predict(each, k=10) for each in first])
about = " ".join(["defaults", *sys.argv[3:]])
arrays = np.asarray(ranking.labels), np.asarray(ranking.scores)
report(cost, batch, alone, len(test), arrays, size_of(place() / "run" / "model"), about)
