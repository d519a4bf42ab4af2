"""PECOS XR-Linear with its default settings: one tree, or the mean of several from different seeds."""

import sys

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel

from benchmarks.contenders import DEPTH, ONE_BY_ONE, THREADS, arrays_of, load, place, report, size_of, timed

TREES = int(sys.argv[2]) if len(sys.argv) > 2 else 1


def train():
    features, labels = load("trn_X"), load("trn_Y")
    embeddings = LabelEmbeddingFactory.create(labels, features, method="pifa")
    trees = [Indexer.gen(embeddings, threads=THREADS, seed=seed) for seed in range(TREES)]
    return [XLinearModel.train(features, labels, C=tree, threads=THREADS) for tree in trees]


def rank(features, k, threads):
    each = [model.predict(features, only_topk=k, threads=threads) for model in models]
    return each[0] if TREES == 1 else sum(each[1:], each[0]) / np.float32(TREES)


models, cost = timed(train)
for at, model in enumerate(models):
    model.save(str(place() / "model" / str(at)))
models = [XLinearModel.load(str(place() / "model" / str(at)), is_predict_only=True) for at in range(TREES)]
test = load("tst_X")
scores, batch = timed(lambda: rank(test, DEPTH, THREADS))
_, alone = timed(lambda: [rank(test[at], 10, 1) for at in range(min(ONE_BY_ONE, test.shape[0]))])
settings = f"libpecos 1.2.8 defaults, {TREES} tree{'s' * (TREES > 1)}"
report(cost, batch, alone, test.shape[0], arrays_of(scores), size_of(place() / "model"), settings)
