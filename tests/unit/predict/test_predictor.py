"""Models answer: labels with names and scores, and nothing that is not a number."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from longtail import calibrate, combine, evaluate, weigh
from longtail.corpus import PAD, Corpus, Documents, LabelSet
from longtail.errors import ConfigError, CorpusError, ModelError, RunError
from longtail.predict.predictor import About, Predictor
from longtail.ranking import Ranking


def test_one_text_that_is_not_in_a_list_is_a_slip_worth_naming(model: Predictor):
    with pytest.raises(CorpusError, match=r"predict\(\[text\]\)"):
        model.predict("one text")


@pytest.mark.parametrize("score", [np.inf, -np.inf, np.nan])
def test_scores_that_are_no_numbers_are_an_error_and_never_an_answer(score: float, model: Predictor):
    class Astray:
        def rank(self, documents: Documents, k: int) -> Ranking:
            return Ranking(np.zeros((len(documents), 1), np.int32), np.full((len(documents), 1), score, np.float32))

    for astray in (dataclasses.replace(model, model=Astray()), combine([dataclasses.replace(model, model=Astray())])):
        with pytest.raises(ModelError, match=r"NaN or infinite: .* train it again"):
            astray.predict(["x"])


def test_asking_for_no_labels_is_refused(model: Predictor):
    with pytest.raises(ConfigError, match="k = 0"):
        model.rank(Documents.of(["x"]), 0)


class Asked:
    """Knows two labels, and remembers how many it was asked for."""

    def __init__(self) -> None:
        self.most = 0

    def rank(self, documents: Documents, k: int) -> Ranking:
        self.most = max(self.most, k)
        return Ranking.of_rows([(np.array([1, 0]), np.array([0.9, 0.1]))] * len(documents), 2).top(k)


@pytest.mark.parametrize("ensemble", [False, True])
def test_an_absurd_k_costs_no_more_than_all_labels(ensemble: bool):
    corpus = Corpus.of(["red", "blue", "green"], [["x"], ["y"], ["y"]])
    about = About("asked", {}, {"name": "toy", "fingerprint": "", "documents": 3, "labels": 2})
    model = Predictor(Asked(), corpus.label_set, np.array([1, 2]), about)
    asked = combine([model, model]) if ensemble else model
    ranking = asked.rank(corpus.documents, 20_000_000)
    assert ranking.labels.shape == (3, 1000) and ranking.labels[0, :3].tolist() == [1, 0, PAD]
    assert [label.name for label in asked.predict(["red"], k=20_000_000)[0]] == ["y", "x"]
    judged = evaluate(asked, corpus, ks=[1, 20_000_000]).metrics
    assert judged["R@20000000"] == pytest.approx(100) and judged["nDCG@20000000"] > judged["P@1"]
    assert calibrate(asked, dataclasses.replace(corpus, role="valid"), k=20_000_000).model.calibration is not None
    assert weigh([asked, asked], dataclasses.replace(corpus, role="valid"), "R@20000000")[1] == pytest.approx(100)
    assert model.model.most == 2


def test_an_answer_that_memory_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.predict.predictor.free_memory", lambda: 10**9)
    labels = LabelSet.of(f"label {at}" for at in range(20_000))
    about = About("asked", {}, {"name": "toy", "fingerprint": "", "documents": 3, "labels": 20_000})
    model, documents = Predictor(Asked(), labels, np.ones(20_000, int), about), Documents.of(["red"] * 5000)
    with pytest.raises(RunError, match=r"20,000 labels for each of 5,000 documents take .* ask for fewer labels"):
        model.rank(documents, 20_000_000)
    assert model.rank(documents, 100).k == 100
