"""Astec, as the variant of LightDXML that Table II compares with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail.corpus import Splits
from longtail.encoders.bag import ResidualBlock, TokenBag
from longtail.encoders.learn.batches import BagTexts
from longtail.features.bags import Bags, Reader
from longtail.index.nearest import Search, nearest_over
from longtail.methods.lightdxml import ablations
from longtail.methods.lightdxml.ablations import AgainstAll
from longtail.methods.lightdxml.model import LightDXML, Reranker
from longtail.predict.predictor import Predictor
from longtail.rankers.fusion import Fusion
from longtail.rankers.label_rows import LabelRows
from longtail.sparse import rows_of

SMALL = {
    "bag.dim": 32, "bag.subwords": 0, "optim.epochs": 8, "optim.average_from": "none", "optim.batch_size": 32,
    "shortlist": 30, "valid_documents": 60,
}  # fmt: skip


@pytest.fixture(scope="module")
def parts() -> dict:
    """What the modules handed on."""
    return {}


@pytest.fixture(scope="module")
def astec(planted: Splits, parts: dict, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    def remembered(name: str) -> Callable:
        real = getattr(ablations, name)

        def call(*inputs: object) -> object:
            parts[name] = real(*inputs)
            return parts[name]

        return call

    run = tmp_path_factory.mktemp("astec") / "run"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("learn_surrogate", "learn_astec"):
            patch.setattr(ablations, name, remembered(name))
        model = longtail.fit("lightdxml/astec", planted.train, run=run, **SMALL)
    parts["run"] = run
    return model


def test_finds_the_planted_labels(astec: Predictor, planted: Splits):
    assert longtail.evaluate(astec, planted.test).metrics["P@1"] > 90


def test_the_surrogate_meets_every_cluster_in_every_batch():
    texts = BagTexts(rows_of(sp.csr_array(np.eye(3, dtype=np.float32))))
    clusters = sp.csr_array(np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]], np.float32))
    batch = AgainstAll(texts, clusters).batch(np.array([2, 0]), np.random.default_rng(0))
    assert batch.shortlist is None and batch.candidates.tolist() == [0, 1, 2, 3]
    assert batch.targets.tolist() == [[0, 0, 1, 1], [1, 0, 0, 0]]


def test_token_vectors_stay_after_the_surrogate_and_the_block_learns(astec: Predictor, parts: dict):
    before, after = parts["learn_surrogate"], astec.model.encoder
    assert np.array_equal(before.vectors, after.vectors)
    assert not np.array_equal(before.block.residual, after.block.residual)


def test_the_re_ranker_has_token_vectors_of_its_own(astec: Predictor):
    assert not np.allclose(astec.model.reranker.encoder.vectors, astec.model.encoder.vectors)


def two_labels(row: list, other: list) -> LightDXML:
    """A document (a, b) is a vector itself; classifiers of the model and of its re-ranker are the rows."""
    bag = TokenBag(Reader(Bags(2, None), None), np.eye(2, dtype=np.float32), ResidualBlock.first(2))

    def rows(values: list) -> LabelRows:
        return LabelRows(np.array(values, np.float32), np.zeros(2, np.float32))

    nearest = nearest_over(np.eye(2, dtype=np.float32), Search())
    return LightDXML(bag, nearest, Fusion(rows(row), 1.0), 2, Reranker(bag, rows(other)))


def test_a_score_is_the_mean_of_both():
    model = two_labels([[1, 0], [0, 3]], [[0, 0], [0, -5]])
    document = longtail.Documents(features=sp.csr_array(np.array([[1.0, 1.0]], np.float32)))
    vector = model.encoder.encode(model.encoder.read(document))[0]
    logits = np.array([[vector[0], 3 * vector[1]], [0, -5 * vector[1]]])
    mean = (1 / (1 + np.exp(-logits))).mean(axis=0)
    ranked = model.rank(document, 2)
    assert ranked.labels[0].tolist() == np.argsort(-mean).tolist()
    assert ranked.scores[0] == pytest.approx(np.sort(mean)[::-1], abs=1e-6)


def test_opened_again_it_ranks_the_same(astec: Predictor, parts: dict, planted: Splits):
    again = longtail.open(Path(parts["run"]) / "model")
    ours, theirs = (model.rank(planted.test.documents, k=5) for model in (astec, again))
    assert np.array_equal(ours.labels, theirs.labels) and np.array_equal(ours.scores, theirs.scores)


def test_labels_come_and_go_in_both_halves(astec: Predictor):
    more = astec.add_labels([{"id": "new", "name": "bababa"}])
    assert more.model.n_labels == len(more.model.reranker.labels) == astec.model.n_labels + 1
    fewer = more.remove_labels(["L0"])
    assert 0 not in fewer.rank(longtail.Documents.of(["bababa bababa"]), k=20).labels
    assert replace(astec.model, reranker=None).n_labels == astec.model.n_labels
