"""What is the same for all methods when labels are added or removed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from longtail import calibrate, evaluate, fit
from longtail import open as open_model
from longtail.corpus import Documents, Label, LabelSet, Splits
from longtail.errors import ConfigError, CorpusError
from longtail.new_label import NewLabel
from longtail.predict.add_labels import without_removed
from longtail.predict.info import model_info
from longtail.predict.labels import MoreLabels, ids_of
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking
from tests.planted import N_LABELS, word

FOX = NewLabel("fox", "red fox", examples=(word(510), word(511)))


def test_no_labels_change_nothing(model: Predictor):
    assert model.add_labels([]) is model and model.remove_labels([]) is model


def test_the_model_itself_stays_as_it_was(model: Predictor):
    model.add_labels([FOX])
    assert len(model.labels) == model.model.n_labels == N_LABELS and model.about.added == 0


def test_examples_are_counted_as_documents(model: Predictor):
    grown = model.add_labels([FOX, {"id": "owl", "name": "owl"}])
    assert grown.counts[-2:].tolist() == [2, 0] and grown.labels[N_LABELS] == Label("fox", "red fox", "")


def test_one_id_for_two_new_labels_is_refused(model: Predictor):
    with pytest.raises(CorpusError, match="'fox' is that of two labels to add"):
        model.add_labels([FOX, FOX])


def test_an_id_that_nobody_has_cannot_be_removed(model: Predictor):
    with pytest.raises(CorpusError, match="no label of the model has the id 'owl'"):
        model.remove_labels(["L1", "owl"])
    with pytest.raises(ConfigError, match="a list of ids"):
        model.remove_labels("L1")


class Fixed:
    """A method of somebody else: it ranks, and its labels are what they are."""

    n_labels = N_LABELS

    def rank(self, documents: Documents, k: int) -> Ranking:
        labels = np.tile(np.arange(k, dtype=np.int32), (len(documents), 1))
        return Ranking(labels, np.zeros(labels.shape, np.float32))


def test_a_method_that_cannot_says_so(model: Predictor):
    fixed = Predictor(Fixed(), model.labels, model.counts, model.about)
    for change in (lambda: fixed.add_labels([FOX]), lambda: fixed.remove_labels(["L1"])):
        with pytest.raises(ConfigError, match="a model of centroid; train it with those labels"):
            change()


def test_where_a_removed_label_comes_up_others_take_its_place():
    found = without_removed(Fixed(), Documents.of(["any"]), 4, removed=(1, 2))
    assert found.labels.tolist() == [[0, 3, 4, 5]]
    assert without_removed(Fixed(), Documents.of(["any"]), N_LABELS, (1, 2)).labels[0, -2:].tolist() == [-1, -1]


def test_info_says_what_was_added_and_removed(model: Predictor, tmp_path: Path):
    model.add_labels([FOX]).remove_labels(["L3", "L4"]).save(tmp_path / "model")
    info = model_info(tmp_path / "model")
    assert (info.labels, info.added, info.removed) == (N_LABELS + 1, 1, 2)


def test_labels_are_added_to_a_model_that_was_saved_with_added_ones(model: Predictor, tmp_path: Path):
    model.add_labels([FOX]).save(tmp_path / "model")
    again = open_model(tmp_path / "model").add_labels([{"id": "owl", "name": word(512)}])
    assert (again.labels[-1].id, again.about.added) == ("owl", 2)
    assert again.predict([word(512)], k=1)[0][0].id == "owl"
    with pytest.raises(CorpusError, match="'fox' is already"):
        again.add_labels([FOX])


def test_evaluation_and_calibration_take_the_new_labels(planted: Splits):
    model = fit("centroid", planted.without_valid)
    grown = model.add_labels([FOX])
    assert evaluate(grown, planted.test).metrics["P@1"] == pytest.approx(
        evaluate(model, planted.test).metrics["P@1"], abs=1
    )
    assert calibrate(grown, planted.valid).model.add_labels([{"id": "owl", "name": "owl"}]).calibration is not None


def test_labels_behind_labels_are_one_sequence():
    both = MoreLabels(LabelSet.of(["a", "b"]), [Label("c", "c")])
    assert [label.id for label in both] == ["a", "b", "c"] and both[-1].id == "c" and len(both[1:]) == 2
    assert ids_of(both) == {"a": 0, "b": 1, "c": 2}
    with pytest.raises(IndexError):
        both[3]
