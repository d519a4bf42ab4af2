"""What is chosen by validation documents, and by which it may not be."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import combine, evaluate, fit
from longtail import open as open_model
from longtail.corpus import PAD, Corpus, Documents, Label, LabelSet, Splits
from longtail.errors import ConfigError, CorpusError
from longtail.judge.calibration import Tuning
from longtail.judge.validation import calibrate, cautions, chosen_by, validation_split, weigh
from longtail.predict.predictor import About, Predictor
from longtail.ranking import Ranking

N = 40
# Every document is a number; label 0 is true of those below 10, and of all others label 1 is.
TRUTH = sp.csr_array(np.array([[number < 10, number >= 10] for number in range(N)], np.float32))
LABELS = LabelSet.of([Label("x", "x"), Label("y", "y")])


@dataclasses.dataclass(frozen=True)
class Sure:
    """Says label 0 first, with the one score of all documents, and label 1 behind."""

    score: float
    first: int = 0

    def rank(self, documents: Documents, k: int) -> Ranking:
        labels = np.tile(np.array([self.first, 1 - self.first], np.int32), (len(documents), 1))
        return Ranking(labels, np.tile(np.array([self.score, 0.1], np.float32), (len(documents), 1))).top(k)


def predictor(model: Sure, fingerprint: str = "train") -> Predictor:
    about = About("sure", {}, {"name": "toy", "fingerprint": fingerprint, "documents": 100, "labels": 2})
    return Predictor(model, LABELS, np.array([25, 75]), about)


def corpus(role: str = "valid", fingerprint: str = "valid", filtered: sp.csr_array | None = None) -> Corpus:
    documents = Documents.of(str(number) for number in range(N))
    return Corpus(documents, TRUTH, LABELS, "toy", role, fingerprint, filtered=filtered)


# -- probabilities --------------------------------------------------------------------------------------------------


def test_a_score_becomes_the_share_of_labels_that_were_true_at_it():
    """Label 0 scores 0.9 and is true of 10 in 40; label 1 scores 0.1, true of 30: a curve cannot fall, so 40/80."""
    model = calibrate(predictor(Sure(0.9)), corpus()).model
    np.testing.assert_allclose(model.rank(Documents.of(["7"]), 2).scores, 0.5, atol=1e-6)


def test_the_order_of_labels_stays():
    model = calibrate(predictor(Sure(0.9)), corpus()).model
    ranking = model.rank(Documents.of(["7", "30"]), 2)
    assert ranking.labels.tolist() == [[0, 1], [0, 1]] and (np.diff(ranking.scores) < 0).all()


def test_the_error_is_told_before_and_after_on_documents_that_the_curve_did_not_see():
    """Label 1 first at 0.4, true of 30 in 40, and label 0 at 0.1, true of 10: errors 35 and 15 %, their mean 25."""
    told = calibrate(predictor(Sure(0.4, first=1)), corpus())
    assert told.before.ece == pytest.approx(25) and told.before.pairs == 80
    assert told.after.ece == pytest.approx(0, abs=1e-4)  # even or odd, 5 documents have label 0 and 15 have label 1
    np.testing.assert_allclose(told.model.rank(Documents.of(["7"]), 2).scores, [[0.75, 0.25]], atol=1e-6)


def test_a_calibrated_model_keeps_what_thresholds_are_worth():
    """Probabilities 0.75 of label 1, true of 30 in 40, and 0.25 of label 0, true of 10."""
    kept = calibrate(predictor(Sure(0.4, first=1)), corpus()).model.calibration.cut_offs
    assert kept.thresholds.tolist() == [at / 100 for at in range(76)]
    np.testing.assert_allclose(kept.precision, [50] * 26 + [75] * 50)
    np.testing.assert_allclose(kept.recall, [100] * 26 + [75] * 50)


def test_calibrating_again_starts_from_the_models_own_scores():
    once = calibrate(predictor(Sure(0.4, first=1)), corpus()).model
    again = calibrate(once, corpus(fingerprint="other"))
    assert again.before.ece == pytest.approx(25)
    assert again.model.about.chosen["calibration"]["fingerprint"] == "other"


def test_filtered_pairs_do_not_count():
    """Label 0 is not to be suggested to documents from 10 on; to the others it is right."""
    first = sp.csr_array(np.array([[0, 0]] * 10 + [[1, 0]] * 30))
    told = calibrate(predictor(Sure(0.9)), corpus(filtered=first), threshold="precision=0.9")
    # 0.9: 10 of 10 true.  0.1: of 40, the 30 true.
    assert told.before.pairs == 50 and told.model.threshold().precision == pytest.approx(100)
    np.testing.assert_allclose(told.model.rank(Documents.of(["7"]), 2).scores, [[1, 0.75]], atol=1e-4)


# -- thresholds -----------------------------------------------------------------------------------------------------


def test_auto_is_the_threshold_that_was_chosen_and_survives_saving(planted: Splits, tmp_path: Path):
    told = calibrate(fit("linear", planted.without_valid), planted.valid, threshold="f1", k=7)
    told.model.save(tmp_path / "m")
    opened, texts = open_model(tmp_path / "m"), list(planted.test.texts)[:20]
    assert opened.threshold() == told.model.threshold() and opened.threshold().k == 7
    assert opened.predict(texts, threshold="auto") == told.model.predict(texts, 7, told.model.threshold().value)
    assert {len(labels) for labels in opened.predict(texts, threshold="auto")} == {1, 2, 3}
    result = evaluate(opened, planted.test)
    assert result.threshold is not None and result.threshold.f1 > 95
    given = sum(len(labels) for labels in opened.predict(list(planted.test.texts), threshold="auto"))
    assert result.threshold.labels == pytest.approx(given / 120)
    assert result.to_json()["threshold"]["f1"] == result.threshold.f1
    assert result.to_json()["reliability"]["ece"] < evaluate(fit("linear", planted.train), planted.test).reliability.ece


def test_a_model_without_a_threshold_says_how_to_get_one(planted: Splits):
    model = predictor(Sure(0.9))
    with pytest.raises(ConfigError, match="longtail calibrate MODEL CORPUS --threshold f1"):
        model.predict(["7"], threshold="auto")
    with pytest.raises(ConfigError, match="threshold 'high': write a number, or auto"):
        model.predict(["7"], threshold="high")


def test_impossible_wishes_are_refused():
    with pytest.raises(ConfigError, match="threshold 'f3'"):
        calibrate(predictor(Sure(0.9)), corpus(), threshold="f3")
    with pytest.raises(ConfigError, match="k = 0"):
        calibrate(predictor(Sure(0.9)), corpus(), k=0)
    with pytest.raises(ConfigError, match=r"best precision is 0\.5000"):
        calibrate(predictor(Sure(0.9)), corpus(), threshold="precision=0.9")


# -- weights --------------------------------------------------------------------------------------------------------


def test_an_ensemble_learns_whom_to_believe():
    """Three documents in four have label 1, which one of the two says first."""
    members = [predictor(Sure(0.9, first=0)), predictor(Sure(0.6, first=1))]
    together, value = weigh(members, corpus(), "P@1")
    assert value == pytest.approx(75) and evaluate(together, corpus(), ks=[1]).metrics["P@1"] == pytest.approx(75)
    assert evaluate(combine(members), corpus(), ks=[1]).metrics["P@1"] == pytest.approx(25)
    # 0.1 a + 0.6 b > 0.9 a + 0.1 b where a / b < 5/8: the first share of the second on the grid is 0.65.
    assert together.model.weights == pytest.approx((0.35, 0.65))
    assert together.about.chosen["weights"]["metric"] == "P@1"


def test_a_metric_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match="P@0"):
        weigh([predictor(Sure(0.9))], corpus(), "P@0")


# -- which documents ------------------------------------------------------------------------------------------------


def test_test_documents_and_those_learned_from_choose_nothing():
    model = predictor(Sure(0.9))
    for refused, said in [(corpus("test"), "test split"), (corpus("train", "train"), "learned from these documents")]:
        with pytest.raises(CorpusError, match=said):
            calibrate(model, refused)
        with pytest.raises(CorpusError, match=said):
            weigh([model, model], refused)
    nested = combine([combine([model]), predictor(Sure(0.1), "another")])
    with pytest.raises(CorpusError, match="learned from these documents"):
        calibrate(nested, corpus("valid", "another"))


def test_a_carved_split_is_for_models_that_left_it_out(planted: Splits):
    whole = fit("centroid", planted.train)
    with pytest.raises(CorpusError, match="--hold-out"):
        validation_split(planted, "val", [whole])
    with pytest.raises(CorpusError, match="without_valid"):
        calibrate(whole, planted.valid)
    without = fit("centroid", planted.without_valid)
    chosen = validation_split(planted, "val", [without])
    assert len(chosen) == 60 and chosen.fingerprint == planted.valid.fingerprint
    with pytest.raises(CorpusError, match="--hold-out"):
        validation_split(planted, "val", [without, whole])
    with pytest.raises(CorpusError, match="trn split"):
        validation_split(planted, "trn", [without])


def test_a_training_that_chose_by_the_official_validation_split_remembers_it(planted: Splits):
    official = dataclasses.replace(planted.test, role="valid", fingerprint="of the validation split")
    train = dataclasses.replace(planted.train, official_valid=official)
    epochs = {"optim.epochs": 1, "reindex": 1}
    assert chosen_by(fit("lightdxml", train, **epochs), official) == ["settings"]  # β
    assert chosen_by(fit("centroid", train), official) == []


def test_an_official_validation_split_is_for_every_model(planted: Splits):
    official = dataclasses.replace(planted.test, role="valid")
    splits = Splits(dataclasses.replace(planted.train, official_valid=official), planted.test)
    assert validation_split(splits, "val", [fit("centroid", splits.train)]) is official


def test_a_model_remembers_what_it_was_tuned_by():
    model = predictor(Sure(0.4, first=1))
    tuned = calibrate(weigh([model, model], corpus(), "P@1")[0], corpus(fingerprint="other")).model
    assert chosen_by(tuned, corpus()) == ["weights"] and chosen_by(tuned, corpus(fingerprint="other")) == [
        "calibration"
    ]
    assert chosen_by(tuned, corpus("test", "test")) == [] and chosen_by(model, corpus()) == []
    member = calibrate(model, corpus()).model
    assert chosen_by(combine([member, member]), corpus()) == ["calibration"]


@dataclasses.dataclass(frozen=True)
class Tuned(Sure):
    """A model that documents of the validation split tuned when it was trained."""

    tuning: Tuning | None = None


def test_documents_that_tuned_a_model_in_training_choose_nothing_more():
    """Rows 10 to 39 are spent: of the ten left, all have label 0, which scores 0.4."""
    model = predictor(Tuned(0.4, tuning=Tuning("valid", np.arange(10, N))))
    told = calibrate(model, corpus(), threshold="f1")
    assert told.before.pairs == 20 and told.model.about.chosen["calibration"]["documents"] == 10
    np.testing.assert_allclose(told.model.rank(Documents.of(["7"]), 2).scores, [[1, 0]], atol=1e-4)
    together, value = weigh([model, predictor(Sure(0.9, first=1))], corpus(), "P@1")
    assert value == pytest.approx(100) and together.about.chosen["weights"]["documents"] == 10
    assert len(calibrate(model, corpus(fingerprint="other")).before.bins) > 0
    assert calibrate(model, corpus(fingerprint="other")).before.pairs == 80


def test_a_split_that_is_spent_says_what_to_do():
    model = predictor(Tuned(0.4, tuning=Tuning("valid", np.arange(N))))
    for choose in (lambda: calibrate(model, corpus()), lambda: weigh([model, model], corpus())):
        with pytest.raises(CorpusError, match=r"all 40 documents.*valid_documents"):
            choose()


def test_evaluating_by_documents_that_tuned_a_model_is_said_aloud():
    model = predictor(Tuned(0.4, tuning=Tuning("valid", np.arange(5))))
    assert chosen_by(model, corpus()) == ["settings"] and chosen_by(model, corpus(fingerprint="other")) == []
    assert chosen_by(calibrate(combine([model]), corpus()).model, corpus()) == ["calibration", "settings"]


def test_no_documents_choose_nothing():
    empty = corpus().subset(np.zeros(0, int), "valid")
    with pytest.raises(CorpusError, match="no documents"):
        calibrate(predictor(Sure(0.9)), empty)


def test_pad_is_never_a_label(planted: Splits):
    told = calibrate(fit("linear", planted.without_valid), planted.valid)
    ranking = told.model.rank(Documents.of([""]), 70)
    assert (ranking.scores[ranking.labels == PAD] == 0).all() and (ranking.labels == PAD).any()


# -- what flatters --------------------------------------------------------------------------------------------------


def whole(documents: int = 200) -> Splits:
    texts, labels = [f"text {at}" for at in range(documents)], [["x"] if at < 50 else ["y"] for at in range(documents)]
    made = Corpus.of(texts, labels)
    return Splits(made, dataclasses.replace(made.subset(np.arange(9), "test"), fingerprint="test", part_of=()))


def trained_on(part: Corpus) -> Predictor:
    return predictor(Sure(0.9), part.fingerprint)


def test_numbers_on_documents_that_were_learned_from_are_said_to_flatter():
    splits = whole()
    for part in (splits.train, splits.valid):
        (told,) = cautions(trained_on(splits.train), part, splits)
        assert told.startswith("the model learned from these very documents")
    assert cautions(trained_on(splits.train), splits.test, splits) == []


def test_a_model_that_left_the_val_split_out_is_flattered_by_the_rest_of_train_alone():
    splits = whole()
    model = trained_on(splits.without_valid)
    assert cautions(model, splits.valid, splits) == [] == cautions(model, splits.test, splits)
    (told,) = cautions(model, splits.train, splits)
    assert "learned from 180 of these 200 documents" in told


def test_an_ensemble_is_flattered_by_what_any_member_learned_from():
    splits = whole()
    both = combine([trained_on(splits.without_valid), trained_on(splits.train)])
    (told,) = cautions(both, splits.valid, splits)
    assert told.startswith("a member of the ensemble learned from these very documents")


def test_documents_without_a_fingerprint_flatter_nobody():
    splits = whole()
    unknown = dataclasses.replace(splits.test, fingerprint="")
    assert cautions(predictor(Sure(0.9), ""), unknown, splits) == []


def test_what_was_chosen_is_a_caution_too():
    splits = Splits(corpus("train", "train"), corpus("test", "test"))
    model = calibrate(predictor(Sure(0.9), "other"), corpus()).model
    (told,) = cautions(model, corpus(), splits)
    assert "these very documents chose the model's calibration" in told
