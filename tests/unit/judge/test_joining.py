"""One score learned on held-out documents."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail.corpus import Corpus, Splits
from longtail.errors import CorpusError
from longtail.judge.joining import Evidence, chosen, join, logistic
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
    seen, every = Evidence.of([nobody], known, valid), np.ones(len(valid), bool)
    weights = [seen.learned(every, share).weights[0] for share in (0.0, 0.5, 1.0)]
    assert weights[0] > weights[1] > weights[2]
    even = np.arange(train.n_labels) % 2 == 0
    both = [guessing(train, even), guessing(train, ~even)]
    by_metric = [join(both, known, valid, [metric])[0].about.chosen["weights"] for metric in ("P@1", "PSP@5")]
    assert by_metric[0]["metric"] == "P@1" and by_metric[1]["rare"] in (0.0, 0.5, 1.0)


def test_of_mixes_that_no_member_surpasses_the_best_is_taken():
    """Two mixes and two members; the floor is 92.4, that of the first member."""
    values = [75.0, 74.0, 73.0, 60.0]
    assert chosen(values, [92.4, 92.5, 92.4, 64.7], 2) == 0
    assert chosen(values, [92.3, 92.5, 92.4, 64.7], 2) == 1
    assert chosen(values, [92.3, 92.3, 92.4, 64.7], 2) == 2
    assert chosen(values, values, 2) == 0 and chosen([75.0, 74.0, 75.5], [75.0, 74.0, 75.5], 2) == 2


METRICS = ["nDCG@5", "PSP@5"]


def test_a_mix_is_no_worse_than_any_of_its_members_where_it_was_chosen(split: tuple[Corpus, Corpus]):
    """Members that know some labels, at random: by P@1, the floor, and by the metrics if there is no other."""
    train, valid = split
    rng, known = np.random.default_rng(0), Known.of(train)
    for sure in (0.05, 0.5, 0.95, 1.0):
        members = [guessing(train, rng.random(train.n_labels) < share) for share in (sure, 0.3)]
        seen, shares = Evidence.of(members, known, valid), (0.0, 1.0)
        model, value = join(members, known, valid, METRICS, shares, "P@1")
        taken = model.about.chosen["weights"].get("rare")
        ranking = seen.alone(members.index(model.model.members[0])) if taken is None else seen.joined(taken)
        alone = [longtail.evaluate(member, valid).metrics for member in members]
        assert seen.worth(ranking, ["P@1"]) >= max(each["P@1"] for each in alone)
        assert join(members, known, valid, METRICS, shares)[1] >= max(np.mean([e[m] for m in METRICS]) for e in alone)
        assert value == seen.worth(ranking, METRICS)


def test_one_member_is_taken_alone_where_a_joint_score_is_worse(split: tuple[Corpus, Corpus], monkeypatch):
    train, valid = split
    ignorant, wise = (guessing(train, np.full(train.n_labels, knows)) for knows in (False, True))
    monkeypatch.setattr(Evidence, "joined", lambda seen, share: seen.alone(0))
    model, value = join([ignorant, wise], Known.of(train), valid, ["P@1"])
    assert model.model.members == (wise,) and model.model.joint is None
    assert value == pytest.approx(longtail.evaluate(wise, valid).metrics["P@1"])
    noted = model.about.chosen["weights"]
    assert "rare" not in noted and noted["value"] == round(value, 4) and noted["documents"] == len(valid)
    before, after = (each.rank(valid.documents, 5) for each in (wise, model))
    assert np.array_equal(before.labels, after.labels) and np.allclose(before.scores, after.scores)


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
