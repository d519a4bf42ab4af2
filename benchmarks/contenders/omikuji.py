"""omikuji: Parabel-style (its defaults, three balanced binary trees) or Bonsai-style (shallow, unbalanced)."""

import sys

import numpy as np
import omikuji

from benchmarks.contenders import DEPTH, ONE_BY_ONE, THREADS, load, place, report, size_of, timed

BONSAI = "bonsai" in sys.argv[2:]


def write_corpus():
    """The text file that omikuji reads; documents without features, which it rejects, are left out."""
    features, labels = load("trn_X"), load("trn_Y")
    rows = np.flatnonzero(np.diff(features.indptr))
    with (place() / "trn.txt").open("w") as file:
        file.write(f"{len(rows)} {features.shape[1]} {labels.shape[1]}\n")
        for row in rows:
            ours = slice(features.indptr[row], features.indptr[row + 1])
            pairs = " ".join(f"{f}:{v:.6g}" for f, v in zip(features.indices[ours], features.data[ours]))
            file.write(",".join(map(str, labels.indices[labels.indptr[row] : labels.indptr[row + 1]])) + f" {pairs}\n")


def rank(model, features, top_k):
    answers = []
    for row in range(features.shape[0]):
        at = slice(features.indptr[row], features.indptr[row + 1])
        answers.append(model.predict(list(zip(features.indices[at].tolist(), features.data[at].tolist())), top_k=top_k))
    return answers


write_corpus()
settings = omikuji.Model.default_hyper_param()
if BONSAI:
    settings.cluster_k, settings.cluster_balanced, settings.max_depth = 100, False, 3
model, cost = timed(lambda: omikuji.Model.train_on_data(str(place() / "trn.txt"), settings, THREADS))
model.save(str(place() / "model"))
model.init_prediction_thread_pool(THREADS)
test = load("tst_X")
answers, batch = timed(rank, model, test, DEPTH)
_, alone = timed(rank, model, test[:ONE_BY_ONE], 10)
labels, scores = np.full((len(answers), DEPTH), -1), np.zeros((len(answers), DEPTH))
for row, answer in enumerate(answers):
    labels[row, : len(answer)], scores[row, : len(answer)] = [a[0] for a in answer], [a[1] for a in answer]
about = f"omikuji 0.5.2, three trees, {'k = 100 unbalanced, depth 3' if BONSAI else 'defaults'}"
report(cost, batch, alone, test.shape[0], (labels, scores), size_of(place() / "model"), about)
