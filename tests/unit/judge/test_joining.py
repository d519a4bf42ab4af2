"""One score learned on held-out documents."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail.corpus import Corpus, Splits
from longtail.errors import CorpusError
from longtail.judge.joining import join, logistic
from longtail.predict.info import model_info
from longtail.predict.predictor import Predictor
from longtail.rankers.joint import Known
from longtail.ranking import Ranking
from tests.planted import word


def test_a_logistic_regression_finds_the_weights_that_made_the_data():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(20_000, 3)) * [1, 5, 1] + [0, 10, 0]
    logits = columns @ [2.0, -0.3, 0.0] + 1
    true = rng.random(len(columns)) < 1 / (1 + np.exp(-logits))
    weights, bias = logistic(columns, true, np.ones(len(columns)))
    assert weights == pytest.approx([2.0, -0.3, 0.0], abs=0.1) and bias == pytest.approx(1, abs=0.3)


def test_rows_that_a_plain_newton_step_overshoots_at_are_learned_too():
    """One in ten thousand is true, and known by a column that is nearly always small."""
    rng = np.random.default_rng(0)
    true = np.arange(50_000) % 5000 == 0
    column = np.where(true, 0.9, rng.random(50_000) ** 40)
    columns = np.stack([column, np.log(np.maximum(column, 1e-6)), np.zeros(50_000)], axis=1)
    weights, bias = logistic(columns, true, np.where(true, 3.0, 1.0))
    logits = columns @ weights + bias
    assert np.isfinite(logits).all() and weights[2] == 0
    assert np.median(logits[true]) > np.quantile(logits[~true], 0.99)


@dataclasses.dataclass(frozen=True)
class Guess:
    """Ranks all labels, the true ones first for some documents: those whose text says so."""

    n_labels: int
    knows: np.ndarray  # (labels,) bool: which labels it can tell

    def rank(self, documents: longtail.Documents, k: int) -> Ranking:
        said = [[at for at in range(self.n_labels) if self.knows[at] and word(at) in text] for text in documents.texts]
        rest = [[at for at in range(self.n_labels) if at not in row][: k - len(row)] for row in said]
        labels = np.array([[*first, *then] for first, then in zip(said, rest)], np.int32)
        scores = np.array([[0.9] * len(row) + [0.5] * (k - len(row)) for row in said], np.float32)
        return Ranking(labels, scores)


def guessing(train: Corpus, knows: np.ndarray) -> Predictor:
    model = longtail.fit("centroid", train)
    return dataclasses.replace(model, model=Guess(train.n_labels, knows))


@pytest.fixture(scope="module")
def split(planted: Splits) -> tuple[Corpus, Corpus]:
    return planted.train.hold_out(60, 0)


def test_two_that_know_half_of_the_labels_are_better_together(split: tuple[Corpus, Corpus]):
    train, valid = split
    even = np.arange(train.n_labels) % 2 == 0
    members, known = [guessing(train, even), guessing(train, ~even)], without_words(Known.of(train))
    alone = [join([member], known, valid, ["nDCG@5"], [0.0])[1] for member in members]
    both, value = join(members, known, valid, ["nDCG@5"], [0.0])
    assert value > max(alone) + 5 and value > 95
    assert longtail.evaluate(both, valid).metrics["P@1"] > 95
    assert both.about.chosen["weights"]["documents"] == len(valid)


def without_words(known: Known) -> Known:
    """Label texts and centroids that say nothing."""
    silent = dataclasses.replace(known.texts, weights=known.texts.weights * 0)
    return dataclasses.replace(known, texts=silent, centroids=silent)


def test_rare_labels_count_as_much_as_is_asked_for(split: tuple[Corpus, Corpus]):
    """The same score for all labels: who is told that rare ones count ranks them higher."""
    train, valid = split
    nobody, known = guessing(train, np.zeros(train.n_labels, bool)), without_words(Known.of(train))
    weights = [join([nobody], known, valid, ["P@1"], [share])[0].model.joint.weights[0] for share in (0.0, 0.5, 1.0)]
    assert weights[0] > weights[1] > weights[2]
    by_metric = [join([nobody], known, valid, [metric])[0].about.chosen["weights"] for metric in ("P@1", "PSP@5")]
    assert by_metric[0]["metric"] == "P@1" and by_metric[1]["rare"] in (0.0, 0.5, 1.0)


def test_the_model_is_saved_opened_and_gets_new_labels(split: tuple[Corpus, Corpus], tmp_path: Path):
    train, valid = split
    members = [longtail.fit(name, train) for name in ("centroid", "linear")]
    model, _ = join(members, Known.of(train), valid, ["nDCG@5"])
    model.save(tmp_path / "model")
    opened = longtail.open(tmp_path / "model")
    assert [member.method for member in model_info(tmp_path / "model").members] == ["centroid", "linear"]
    before, after = (each.rank(valid.documents, 7) for each in (model, opened))
    assert np.array_equal(before.labels, after.labels) and np.array_equal(before.scores, after.scores)
    one = opened.rank(valid.documents[:1], 7)
    assert np.array_equal(one.labels, after.labels[:1]) and np.allclose(one.scores, after.scores[:1], atol=1e-6)
    more = opened.add_labels([{"id": "new", "name": word(510), "examples": [f"{word(510)} {word(511)}"]}])
    assert "new" in [each.id for each in more.predict([f"{word(510)} {word(511)}"], 3)[0]]
    assert len(more.explain(f"{word(3)} {word(7)}").labels) > 0
    gone = more.remove_labels(["new"])
    assert "new" not in [each.id for each in gone.predict([word(510)], 5)[0]]


def test_documents_of_training_are_refused(split: tuple[Corpus, Corpus]):
    train, _ = split
    model = longtail.fit("centroid", train)
    with pytest.raises(CorpusError, match="learned from these documents"):
        join([model], Known.of(train), train, ["P@1"])


def test_documents_without_labels_teach_nothing(split: tuple[Corpus, Corpus]):
    train, valid = split
    empty = dataclasses.replace(valid, labels=valid.labels * 0)
    empty.labels.eliminate_zeros()
    with pytest.raises(CorpusError, match="have no labels to learn weights from"):
        join([longtail.fit("centroid", train)], Known.of(train), empty, ["P@1"])
