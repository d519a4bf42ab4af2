"""napkinXC: a probabilistic label tree with its defaults, searched exactly."""

import numpy as np
from napkinxc.models import PLT

from benchmarks.contenders import DEPTH, ONE_BY_ONE, THREADS, load, place, report, size_of, timed


def rank(features, top_k):
    return model.predict_proba(features, top_k=top_k)


features, labels = load("trn_X"), load("trn_Y")
true = [labels.indices[labels.indptr[row] : labels.indptr[row + 1]].tolist() for row in range(labels.shape[0])]
model = PLT(str(place() / "model"), threads=THREADS, seed=0)
_, cost = timed(model.fit, features, true)
test = load("tst_X")
answers, batch = timed(rank, test, DEPTH)
_, alone = timed(lambda: [rank(test[row], 10) for row in range(min(ONE_BY_ONE, test.shape[0]))])
ranked, scores = np.full((len(answers), DEPTH), -1), np.zeros((len(answers), DEPTH))
for row, answer in enumerate(answers):
    ranked[row, : len(answer)], scores[row, : len(answer)] = [a[0] for a in answer], [a[1] for a in answer]
report(cost, batch, alone, test.shape[0], (ranked, scores), size_of(place() / "model"), "napkinXC 0.7.2, PLT, defaults")
