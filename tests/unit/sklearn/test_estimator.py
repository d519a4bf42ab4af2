"""Longtail where scikit-learn expects an estimator."""

from __future__ import annotations

import doctest
import pickle
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from longtail import sklearn as longtail_sklearn
from longtail.corpus import Splits, Texts
from longtail.errors import ConfigError, CorpusError, RunError
from longtail.frames import CorpusNotice
from longtail.methods import METHODS, method
from longtail.ranking import Ranking
from longtail.sklearn import ExtremeClassifier, dense, shares

COLOURS = ["red", "green", "blue"]
ANIMALS = ["fox", "whale", "owl", "bear"]
TEXTS = [f"a {colour} {animal} number {at}" for colour in COLOURS for animal in ANIMALS for at in range(3)]
TAGS = [[colour, animal] for colour in COLOURS for animal in ANIMALS for _ in range(3)]
TAKE_FEATURES = ["centroid", "linear"]  # methods that do not insist on texts
CLASSES = [animal for _, animal in TAGS]


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    return MultiLabelBinarizer().fit_transform(TAGS)


@pytest.fixture(scope="module")
def tagger() -> ExtremeClassifier:
    return ExtremeClassifier(k=2, threshold=0.0).fit(TEXTS, TAGS)


# The check wants every label of every document to score above 0; a method that looks at the nearest labels only
# has nothing to say of the others.
CANNOT_APPLY = {
    "centroid": {
        "check_classifiers_multilabel_output_format_predict_proba": "labels that share nothing with a document score 0"
    }
}


@parametrize_with_checks(
    [ExtremeClassifier("centroid"), ExtremeClassifier("linear", beam=20)],
    expected_failed_checks=lambda estimator: CANNOT_APPLY.get(estimator.method, {}),
)
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)


# -- the forms of y ---------------------------------------------------------------------------------------------------


def test_label_lists_come_back_as_label_lists(tagger: ExtremeClassifier):
    answer = tagger.predict(["a red whale", "the blue owl"])
    assert [sorted(labels) for labels in answer] == [["red", "whale"], ["blue", "owl"]]
    assert tagger.classes_.tolist() == sorted(COLOURS + ANIMALS)


@pytest.mark.parametrize("form", [list, tuple, set, frozenset, np.array], ids=lambda form: form.__name__)
def test_a_label_list_is_any_collection_of_strings(tagger: ExtremeClassifier, form: type):
    other = clone(tagger).fit(TEXTS, [form(labels) for labels in TAGS])
    assert other.predict(TEXTS) == tagger.predict(TEXTS)


def test_documents_may_have_no_label_and_labels_may_be_repeated():
    tagger = ExtremeClassifier("centroid").fit(["red", "blue", "nothing"], [["red", "red"], ["blue"], []])
    assert tagger.predictor_.counts.tolist() == [1, 1]


def test_a_matrix_comes_back_as_a_matrix_of_the_same_kind(tagger: ExtremeClassifier, matrix: np.ndarray):
    for y in (matrix, matrix.astype(bool), matrix.astype(np.float32), matrix.tolist()):
        answer = clone(tagger).fit(TEXTS, y).predict(TEXTS)
        assert isinstance(answer, np.ndarray) and answer.dtype == np.asarray(y).dtype
        assert np.array_equal(answer, matrix)
    for y in (sp.csr_array(matrix), sp.csc_matrix(matrix), sp.lil_array(matrix)):
        answer = clone(tagger).fit(TEXTS, y).predict(TEXTS)
        assert isinstance(answer, sp.csr_array) and answer.dtype == y.dtype
        assert np.array_equal(answer.toarray(), matrix)


def test_zeros_stored_in_a_sparse_matrix_are_no_labels(matrix: np.ndarray):
    y = sp.csr_array(np.where(matrix, 1, 2))
    y.data[y.data == 2] = 0
    fitted = ExtremeClassifier("centroid").fit(TEXTS, y)
    assert fitted.predictor_.counts.tolist() == matrix.sum(0).tolist()
    assert y.nnz == matrix.size, "what the caller holds is left as it was"


@pytest.mark.parametrize(
    "classes", [CLASSES, [ANIMALS.index(animal) - 1 for animal in CLASSES]], ids=["names", "numbers"]
)
def test_one_class_a_document_comes_back_as_one_class_a_document(classes: list):
    fitted = ExtremeClassifier(threshold=1.0).fit(TEXTS, classes)
    answer = fitted.predict(TEXTS)
    assert answer.tolist() == classes and answer.dtype == fitted.classes_.dtype
    assert fitted.classes_.tolist() == sorted(set(classes))


def test_one_text_or_many_however_they_are_held(tagger: ExtremeClassifier):
    expected = tagger.predict(TEXTS)
    for held in (tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object), Texts.of(TEXTS)):
        assert tagger.predict(held) == expected
    assert tagger.predict(TEXTS[:1]) == expected[:1] and tagger.predict([]) == []


def test_data_frames_and_series_serve(tagger: ExtremeClassifier, matrix: np.ndarray):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "tags": TAGS, "animal": CLASSES})
    assert clone(tagger).fit(frame.text, frame.tags).predict(frame.text) == tagger.predict(TEXTS)
    assert clone(tagger).fit(frame.text, frame.animal).predict(frame.text).tolist() == CLASSES
    features = pandas.DataFrame(matrix, columns=[f"f{at}" for at in range(matrix.shape[1])])
    fitted = clone(tagger).fit(features, features)
    assert np.array_equal(fitted.predict(features), matrix)
    assert fitted.feature_names_in_.tolist() == features.columns.tolist()


def test_one_column_of_texts_serves(tagger: ExtremeClassifier):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = tagger.predict(TEXTS)
    for frame in (
        pandas.DataFrame({"text": TEXTS}),
        pandas.DataFrame({"text": TEXTS}, dtype="string"),
        polars.DataFrame({"text": TEXTS}),
        np.array(TEXTS)[:, None],
        np.array(TEXTS, object)[:, None],
    ):
        assert clone(tagger).fit(frame, TAGS).predict(frame) == expected
        assert tagger.predict(frame) == expected
    with pytest.raises(CorpusError, match="row 1 of X is no text"):
        tagger.predict(pandas.DataFrame({"text": [TEXTS[0], None]}))


@pytest.mark.parametrize("name", TAKE_FEATURES)
def test_features_may_be_negative(name: str):
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 40)
    centres = np.array([[-4.0, -4.0, 0.0], [4.0, -4.0, 0.0], [0.0, 4.0, -3.0]])
    features = centres[classes] + rng.normal(size=(120, 3))
    assert ExtremeClassifier(name).fit(features, classes).score(features, classes) > 0.95


@pytest.mark.parametrize("name", TAKE_FEATURES)
def test_a_document_unlike_any_other_gets_a_class_all_the_same(name: str):
    features, classes = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.5]]), ["a", "b", "b"]
    odd = [[-1.0, -1.0], [0.0, 0.0], [-1.0, 0.5]]
    fitted = ExtremeClassifier(name).fit(features, classes)
    probability = fitted.predict_proba(odd)
    np.testing.assert_allclose(probability.sum(1), 1)
    assert fitted.classes_[probability.argmax(1)].tolist() == fitted.predict(odd).tolist()


# -- what is asked ----------------------------------------------------------------------------------------------------


def test_no_more_than_k_labels_and_none_below_the_threshold(tagger: ExtremeClassifier, matrix: np.ndarray):
    lists, cells = clone(tagger).fit(TEXTS, TAGS), clone(tagger).fit(TEXTS, matrix)
    labels, scores = tagger.predict_topk(TEXTS, k=3)
    for k, threshold in [(1, 0.0), (3, 0.0), (3, 0.5), (3, float(np.median(scores)))]:
        expected = [[one for one, score in zip(*row) if score >= threshold][:k] for row in zip(labels, scores)]
        assert lists.set_params(k=k, threshold=threshold).predict(TEXTS) == expected
        columns = [set(np.flatnonzero(row)) for row in cells.set_params(k=k, threshold=threshold).predict(TEXTS)]
        assert columns == [{lists.classes_.tolist().index(one) for one in row} for row in expected]


def test_the_best_labels_come_with_their_scores(tagger: ExtremeClassifier):
    labels, scores = tagger.predict_topk(TEXTS, k=4)
    suggestions = tagger.predictor_.predict(TEXTS, k=4)
    assert labels.tolist() == [[one.name for one in row] for row in suggestions]
    assert scores.tolist() == [[one.score for one in row] for row in suggestions]
    assert tagger.predict_topk(TEXTS)[0].shape == (len(TEXTS), tagger.k)


def test_where_there_is_no_label_the_answer_says_so(tagger: ExtremeClassifier, matrix: np.ndarray):
    labels, scores = tagger.predict_topk(["red fox"], k=9)
    assert labels[0, 7:].tolist() == [None, None] and scores[0, 7:].tolist() == [0, 0]
    assert set(labels[0, :7]) == set(tagger.classes_)
    columns, _ = clone(tagger).fit(TEXTS, matrix).predict_topk(["red fox"], k=9)
    assert columns[0, 7:].tolist() == [-1, -1] and columns.dtype.kind == "i"


def test_probabilities_are_the_scores_of_all_labels(tagger: ExtremeClassifier):
    labels, scores = tagger.predict_topk(TEXTS, k=7)
    expected = [[dict(zip(*row))[one] for one in tagger.classes_] for row in zip(labels, scores)]
    assert np.array_equal(tagger.predict_proba(TEXTS), np.array(expected, np.float32))


def test_probabilities_of_classes_sum_to_one_and_agree_with_predict():
    fitted = ExtremeClassifier().fit(TEXTS, CLASSES)
    probability = fitted.predict_proba([*TEXTS, "", "unheard of"])
    np.testing.assert_allclose(probability.sum(1), 1)
    assert fitted.classes_[probability.argmax(1)].tolist() == fitted.predict([*TEXTS, "", "unheard of"]).tolist()


def test_where_nothing_scores_the_candidates_share_alike():
    ranking = Ranking(np.array([[1, 2, -1], [0, 2, 1]], np.int32), np.array([[0, 0, 0], [0.6, 0.2, 0]], np.float32))
    assert dense(ranking, 3).tolist() == [[0, 0, 0], [np.float32(0.6), 0, np.float32(0.2)]]
    np.testing.assert_allclose(shares(ranking, 3), [[0, 0.5, 0.5], [0.75, 0, 0.25]])


def test_a_huge_probability_matrix_is_refused_with_what_to_do(
    tagger: ExtremeClassifier, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(longtail_sklearn, "MOST_CELLS", 70)
    assert tagger.predict_proba(TEXTS[:10]).shape == (10, 7)
    with pytest.raises(RunError, match=r"36 x 7 cells; ask predict_topk .* 10 documents"):
        tagger.predict_proba(TEXTS)


def test_the_score_is_ndcg(tagger: ExtremeClassifier):
    truth = [["red"], ["whale", "blue", "owl"], [], ["bear", "never seen"]]
    texts = ["red fox", "blue owl", "green bear", "green bear"]
    gains = []
    for labels, row in zip(truth, tagger.predict_topk(texts, k=2)[0]):
        found = sum(1 / np.log2(place + 2) for place, label in enumerate(row) if label in labels)
        ideal = sum(1 / np.log2(place + 2) for place in range(min(2, len(labels))))
        gains.append(found / ideal if labels else 0)
    assert tagger.score(texts, truth) == pytest.approx(np.mean(gains))
    assert tagger.score(TEXTS, TAGS) == pytest.approx(1)


def test_the_score_of_a_matrix_is_that_of_its_label_lists(tagger: ExtremeClassifier, matrix: np.ndarray):
    wrong = TEXTS[::-1]
    expected = tagger.score(wrong, TAGS)
    assert 0 < expected < 1
    for y in (matrix, sp.csc_array(matrix)):
        assert clone(tagger).fit(TEXTS, y).score(wrong, y) == pytest.approx(expected)


def test_the_score_of_classes_is_accuracy():
    fitted = ExtremeClassifier(k=3).fit(TEXTS, CLASSES)
    assert fitted.score([*TEXTS, "fox"], [*CLASSES, "unicorn"]) == pytest.approx(len(TEXTS) / (len(TEXTS) + 1))


# -- parameters -------------------------------------------------------------------------------------------------------


MANY = [f"{text} again {at}" for at in range(5) for text in TEXTS]


def test_a_threshold_is_chosen_by_documents_that_are_held_out(matrix: np.ndarray):
    """Every document has two labels, and of five asked for a good threshold lets these two pass."""
    tags, cells = TAGS * 5, np.tile(matrix, (5, 1))
    chosen = ExtremeClassifier("centroid", k=5, threshold="auto").fit(MANY, tags)
    assert [sorted(labels) for labels in chosen.predict(TEXTS)] == [sorted(labels) for labels in TAGS]
    assert chosen.threshold_ == chosen.predictor_.threshold().value and chosen.predictor_.threshold().k == 5
    assert chosen.predictor_.about.corpus["documents"] == 162 and chosen.get_params()["threshold"] == "auto"
    assert np.array_equal(clone(chosen).fit(MANY, cells).predict(TEXTS), matrix)
    assert ExtremeClassifier("centroid", threshold="recall=0.9").fit(MANY, tags).predictor_.threshold().recall >= 90


def test_a_class_needs_no_threshold():
    chosen = ExtremeClassifier("centroid", threshold="auto").fit(TEXTS, CLASSES)
    assert chosen.predict(TEXTS).tolist() == CLASSES and chosen.predictor_.about.corpus["documents"] == len(TEXTS)


def test_too_few_documents_to_hold_any_out_are_told():
    with pytest.raises(CorpusError, match="among 5 there are too few with labels; give a number"):
        ExtremeClassifier("centroid", threshold="auto").fit(TEXTS[:5], TAGS[:5])


def test_settings_are_parameters_like_any_other():
    estimator = ExtremeClassifier("linear", beam=4)
    assert estimator.get_params() == {
        "method": "linear", "k": 5, "threshold": 0.1, "run": None, "seed": 0, "beam": 4,
    }  # fmt: skip
    assert estimator.set_params(beam=6, k=2, C=0.5) is estimator
    assert clone(estimator).get_params() == estimator.get_params() | {"beam": 6, "k": 2, "C": 0.5}
    assert "beam=6" in repr(estimator) and "C=0.5" in repr(estimator)


def test_settings_and_seed_reach_the_method():
    config = ExtremeClassifier(beam=4, seed=11).fit(TEXTS, TAGS).predictor_.about.config
    assert config["beam"] == 4 and config["seed"] == 11


def test_a_clone_shares_nothing_with_its_original():
    original = ExtremeClassifier(beam=4)
    clone(original).set_params(beam=9)
    assert original.get_params()["beam"] == 4


def test_no_setting_hides_behind_a_parameter_of_the_estimator():
    ours = set(ExtremeClassifier().get_params()) - {"seed"}
    for name in METHODS:
        assert not ours & {field.name for field in fields(method(name).Config)}, name


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"baem": 3}, "no setting baem; did you mean beam"),
        ({"beam": "wide"}, "beam = 'wide'"),
        ({"method": "liner"}, "did you mean linear"),
        ({"k": 0}, "k = 0"),
        ({"k": 2.5}, "k = 2.5"),
        ({"threshold": 1.5}, "threshold = 1.5"),
        ({"threshold": None}, "threshold = None"),
        ({"threshold": "f2"}, "threshold 'f2'"),
    ],
)
def test_wrong_parameters_are_named_when_fitting(params: dict, words: str):
    estimator = clone(ExtremeClassifier().set_params(**params))
    with pytest.raises(ConfigError, match=words):
        estimator.fit(TEXTS, TAGS)


# -- with the rest of scikit-learn ------------------------------------------------------------------------------------


def test_two_columns_of_texts_are_told_to_pass_one():
    frame = pd.DataFrame({"title": ["red fox", "blue owl"], "body": ["a", "b"]})
    with pytest.raises(CorpusError, match=r"X has 2 columns, and 'title' holds texts; pass one column: X\['title'\]"):
        ExtremeClassifier("linear").fit(frame, [["red"], ["blue"]])


def test_classes_that_look_like_several_labels_are_warned_about():
    classes = pd.Series(["red;fox", "red;owl", "blue;fox", "blue;owl"])
    with pytest.warns(CorpusNotice, match=r"one class, as 'red;fox'; .* pass lists, as in y.str.split\(';'\)"):
        ExtremeClassifier("linear").fit(["a b", "c d", "e f", "g h"], classes)


def test_a_pipeline_makes_the_features(matrix: np.ndarray):
    pipeline = make_pipeline(TfidfVectorizer(), ExtremeClassifier(threshold=0.0, k=2))
    assert np.array_equal(pipeline.fit(TEXTS, matrix).predict(TEXTS), matrix)
    assert pipeline[-1].n_features_in_ == len(pipeline[0].vocabulary_)


def test_a_pipeline_hands_texts_on():
    upper = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(upper, ExtremeClassifier())
    assert pipeline.fit(TEXTS, CLASSES).score([text.upper() for text in TEXTS], CLASSES) == 1


def test_cross_validation_of_each_form_of_y(matrix: np.ndarray):
    folds = KFold(3, shuffle=True, random_state=0)
    scores = [
        cross_validate(ExtremeClassifier(k=2), TEXTS, y, cv=cv)["test_score"]
        for y, cv in [
            (CLASSES, 3),
            (matrix, folds),
            (TAGS, folds),
            # scikit-learn forbids lists of lists where it chooses the folds; sets it lets pass.
            ([set(labels) for labels in TAGS], 3),
        ]
    ]
    assert np.mean(scores[0]) == 1
    assert scores[1].tolist() == scores[2].tolist() and scores[1].min() > 0.9


def test_predictions_across_folds_line_up(matrix: np.ndarray):
    estimator, folds = ExtremeClassifier(k=2, threshold=0.0), KFold(3, shuffle=True, random_state=0)
    whole = cross_val_predict(estimator, TEXTS, matrix, cv=folds)
    sparse = cross_val_predict(estimator, TEXTS, sp.csr_array(matrix), cv=folds)
    assert np.array_equal(sparse.toarray(), whole) and (whole == matrix).mean() > 0.9


def test_settings_are_searched():
    search = GridSearchCV(
        ExtremeClassifier(k=2), {"beam": [1, 5], "threshold": [0.1]}, cv=KFold(2, shuffle=True, random_state=0)
    )
    search.fit(TEXTS, TAGS)
    assert search.best_params_["beam"] in (1, 5) and len(search.cv_results_["params"]) == 2
    assert search.best_estimator_.predictor_.about.config["beam"] == search.best_params_["beam"]


def test_a_model_goes_to_other_processes_and_comes_back(tagger: ExtremeClassifier):
    expected = tagger.predict(TEXTS)
    there = Parallel(n_jobs=2)(delayed(tagger.predict)(TEXTS) for _ in range(2))
    assert there == [expected, expected]
    folds = cross_validate(
        clone(tagger), TEXTS, TAGS, cv=KFold(2, shuffle=True, random_state=0), n_jobs=2, return_estimator=True
    )
    assert [name.id for name in folds["estimator"][0].predictor_.labels] == tagger.classes_.tolist()
    assert folds["estimator"][1].score(TEXTS, TAGS) > 0.9


def test_a_model_survives_pickling(tagger: ExtremeClassifier):
    again = pickle.loads(pickle.dumps(tagger))
    assert again.predict(TEXTS) == tagger.predict(TEXTS)
    assert again.predictor_.predict(TEXTS[:1]) == tagger.predictor_.predict(TEXTS[:1])


def test_a_run_directory_is_taken_up_and_guarded(tmp_path: Path, planted: Splits):
    estimator = ExtremeClassifier("centroid", run=tmp_path / "run")
    first = estimator.fit(TEXTS, TAGS).predict(TEXTS)
    written = (tmp_path / "run/model/manifest.json").stat().st_mtime_ns
    assert clone(estimator).fit(TEXTS, TAGS).predict(TEXTS) == first
    assert (tmp_path / "run/model/manifest.json").stat().st_mtime_ns == written, "nothing was trained again"
    with pytest.raises(RunError, match="seed was 0, now 1"):
        clone(estimator).set_params(seed=1).fit(TEXTS, TAGS)


# -- wrong input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ("red fox", r"put it in a list"),
        (["red", None, "blue"], "row 1 of X is no text"),
        (np.array([None, "red", "blue"], object), "row 0 of X is no text"),
    ],
)
def test_what_is_not_texts_is_named_by_its_row(X, words: str):
    with pytest.raises(CorpusError, match=words):
        ExtremeClassifier().fit(X, ["a", "b", "a"])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([["red"], "blue", ["red"]], "row 1 of y is 'blue'; write each document's labels as a list"),
        ([["red"], None, ["red"]], "row 1 of y is None"),
        ([["red"], ["blue", 3], ["red"]], "row 1 of y holds 3; labels in lists are strings"),
        ([[1, -1], [-1, 1], [1, 1]], "y holds -1; a matrix of labels holds 0 and 1"),
    ],
)
def test_what_is_not_labels_is_named(y, words: str):
    with pytest.raises(CorpusError, match=words):
        ExtremeClassifier().fit(["a", "b", "c"], y)


@pytest.mark.parametrize(
    "y",
    [[[1, 2], [3, 4], [5, 6]], [[3], [], [4, 5]], [0.5, 1.5, 2.5], [[], [], []], [["red"], ["blue"]], [0, 1]],
    ids=["several outputs", "lists of numbers", "amounts", "no labels", "too few lists", "too few classes"],
)
def test_what_no_form_of_y_fits_is_a_value_error(y):
    with pytest.raises(ValueError):
        ExtremeClassifier().fit(["a", "b", "c"], y)


def test_documents_without_any_label_are_told_so():
    with pytest.raises(ValueError, match="no document of y has a label"):
        ExtremeClassifier().fit(["a", "b"], [[], []])


def test_texts_and_features_do_not_mix(tagger: ExtremeClassifier, matrix: np.ndarray):
    with pytest.raises(CorpusError, match="learned from texts"):
        tagger.predict(matrix)
    fitted = clone(tagger).fit(matrix, CLASSES)
    for ask in (fitted.predict, fitted.predict_proba, fitted.predict_topk):
        with pytest.raises(CorpusError, match="learned from a matrix of features"):
            ask(TEXTS)


def test_a_model_fitted_anew_on_texts_forgets_its_features(matrix: np.ndarray):
    fitted = ExtremeClassifier().fit(matrix, CLASSES)
    assert fitted.n_features_in_ == matrix.shape[1]
    assert not hasattr(fitted.fit(TEXTS, CLASSES), "n_features_in_")
    assert fitted.predict(TEXTS).tolist() == CLASSES


def test_a_score_against_another_number_of_labels_or_documents_is_refused(
    tagger: ExtremeClassifier, matrix: np.ndarray
):
    fitted = clone(tagger).fit(TEXTS, matrix)
    with pytest.raises(CorpusError, match="y has 6 columns, and this model knows 7"):
        fitted.score(TEXTS, matrix[:, :6])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.score(TEXTS[:3], matrix)


def test_without_scikit_learn_the_import_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import longtail.sklearn"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingExtraError: longtail.sklearn needs" in failed.stderr and "longtail[sklearn]" in failed.stderr


def test_the_page_about_scikit_learn_shows_what_happens():
    failed, tried = doctest.testfile(str(Path(__file__).parents[3] / "docs" / "sklearn.md"), module_relative=False)
    assert failed == 0 and tried > 0
