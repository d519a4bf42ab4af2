"""PECOS XR-Linear with its default settings, one tree."""

from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel

from benchmarks.contenders import DEPTH, ONE_BY_ONE, THREADS, arrays_of, load, place, report, size_of, timed


def train():
    features, labels = load("trn_X"), load("trn_Y")
    clusters = Indexer.gen(LabelEmbeddingFactory.create(labels, features, method="pifa"), threads=THREADS)
    return XLinearModel.train(features, labels, C=clusters, threads=THREADS)


model, cost = timed(train)
model.save(str(place() / "model"))
model, test = XLinearModel.load(str(place() / "model"), is_predict_only=True), load("tst_X")
scores, batch = timed(lambda: model.predict(test, only_topk=DEPTH, threads=THREADS))
_, alone = timed(
    lambda: [model.predict(test[at], only_topk=10, threads=1) for at in range(min(ONE_BY_ONE, test.shape[0]))]
)
settings = "libpecos 1.2.8 defaults"
report(cost, batch, alone, test.shape[0], arrays_of(scores), size_of(place() / "model"), settings)
