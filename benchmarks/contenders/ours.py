"""A method of Longtail on the same features: python -m benchmarks.contenders.ours DIR METHOD [field=value ...]."""

import sys

import numpy as np
import scipy.sparse as sp

import longtail
from benchmarks.contenders import DEPTH, ONE_BY_ONE, load, place, report, size_of, timed
from longtail.config import parse_assignment
from longtail.corpus import Corpus, Documents, LabelSet

METHOD, SETTINGS = sys.argv[2], dict(map(parse_assignment, sys.argv[3:]))


def corpus(rows: int | None = None) -> Corpus:
    features, labels = sp.csr_array(load("trn_X")[:rows]), sp.csr_array(load("trn_Y")[:rows])
    label_set = LabelSet.of(str(at) for at in range(labels.shape[1]))
    return Corpus(Documents(features=features), labels, label_set).fingerprinted()


# Compiled code is cached on disk; like an installed peer's, it is not compiled while the clock runs.
longtail.fit(METHOD, corpus(2000), **SETTINGS).rank(Documents(features=sp.csr_array(load("tst_X")[:5])), DEPTH)
documents = corpus()
_, cost = timed(lambda: longtail.fit(METHOD, documents, run=place() / "run", **SETTINGS))
model, test = longtail.open(place() / "run" / "model"), sp.csr_array(load("tst_X"))
first = [Documents(features=test[at : at + 1]) for at in range(min(ONE_BY_ONE, test.shape[0]))]
model.rank(first[0], 10)
ranking, batch = timed(lambda: model.rank(Documents(features=test), DEPTH))
_, alone = timed(lambda: [model.rank(each, 10) for each in first])
about = " ".join(["defaults", *sys.argv[3:]])
arrays = np.asarray(ranking.labels), np.asarray(ranking.scores)
report(cost, batch, alone, test.shape[0], arrays, size_of(place() / "run" / "model"), about)
