"""Labels added to and removed from a model of every method, on the corpus where every label owns a word."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import combine, fit
from longtail import open as open_model
from longtail.corpus import Corpus, Documents, Splits
from longtail.errors import CorpusError
from longtail.methods import METHODS
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking
from tests import mutants
from tests.planted import N_LABELS, planted_corpus, word

HIDDEN = [3, 17, 44, 59]
KEPT = np.setdiff1d(np.arange(N_LABELS), HIDDEN)
NEW = range(len(KEPT), N_LABELS)  # the indices that they get

# Small and on a bag of words, so that all methods train in seconds.
BAG = {"encoder": "bag", "bag.dim": 64, "bag.subwords": 0}
HEADS = BAG | {"valid_documents": 0, "eps": 1e-8, "optim.row_lr": 2e-2, "optim.lr": 2e-3, "optim.epochs": 8,
               "optim.batch_size": 16}  # fmt: skip
CLUSTERS = {"one_vs_all_up_to": 0, "labels_per_cluster": 8, "beam": 6}
ELIAS = BAG | {
    "dropout": 0.1, "labels_per_cluster": 8, "walk.beam": 4, "valid_documents": 0, "optim.epochs": 5,
    "optim.row_lr": 0.04, "optim.cluster_lr": (0.02, 0.01), "optim.lr": (0.02, 0.01),
}  # fmt: skip
SETTINGS: dict[str, dict] = {
    "linear": {"trees": 2, "labels_per_cluster": 8},
    "lightxml": HEADS | CLUSTERS,
    "lightxml++": {f"lightxml.{name}": value for name, value in (HEADS | CLUSTERS).items()},
    "gudn": HEADS,
    "gudn++": {f"gudn.{name}": value for name, value in HEADS.items()},
    "elias": ELIAS,
    "elias++": {f"elias.{name}": value for name, value in ELIAS.items()},
    "lightdxml with a graph": {"search.links": 8},
}
CASES = [*METHODS, "lightdxml with a graph", "an ensemble"]


def without_hidden(corpus: Corpus) -> Corpus:
    """The same documents, and labels that do not include the hidden ones."""
    labels = sp.csr_array(corpus.labels[:, KEPT])
    return dataclasses.replace(corpus, labels=labels, label_set=corpus.label_set[KEPT]).fingerprinted()


@pytest.fixture(scope="module", params=CASES)
def before(request: pytest.FixtureRequest, planted: Splits) -> Predictor:
    train = without_hidden(planted.train)
    if request.param == "an ensemble":
        return combine([fit("linear", train), fit("centroid", train)])
    if "graph" in request.param:
        pytest.importorskip("faiss")
    return fit(request.param.partition(" ")[0], train, **SETTINGS.get(request.param, {}))


@pytest.fixture(scope="module")
def after(before: Predictor) -> Predictor:
    return before.add_labels({"id": f"L{label}", "name": word(label)} for label in HIDDEN)


@pytest.fixture(scope="module")
def smaller(after: Predictor) -> Predictor:
    """Without a label of the training, and without one that was added."""
    return after.remove_labels(["L0", "L17"])


def asked_for(labels: list[int]) -> Documents:
    return Documents.of(f"{word(label)} nothing else" for label in labels)


def same(one: Ranking, other: Ranking) -> bool:
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.scores, other.scores)


def test_a_new_label_is_found_first_by_its_word(after: Predictor):
    assert after.rank(asked_for(HIDDEN), k=1).labels[:, 0].tolist() == list(NEW)
    assert [row[0].id for row in after.predict([word(label) for label in HIDDEN], k=1)] == ["L3", "L17", "L44", "L59"]


def found_among_the_first(model: Predictor) -> float:
    """The share of pairs of a document and a hidden label that are among the first six of sixty."""
    documents = planted_corpus(600, 3, "test")
    truth, found = documents.labels[:, HIDDEN].tocoo(), model.rank(documents.documents, k=6).labels
    return float(np.mean([len(KEPT) + label in found[row] for row, label in zip(*truth.coords)]))


# No encoder learned these words, so what a method finds by them is less than what it finds of trained labels, which is
# all.
FOUND = {"elias": 0.6, "decaf": 0.6, "lightdxml": 0.6}
# Labels with each other's words are found less.  Of DECAF nearly as often: where a document carries few labels, all
# that were added come next, whatever their words.
APART = {"decaf": 0.05, "elias++": 0.05}


def test_new_labels_are_found_among_the_first_in_documents_with_other_labels(before: Predictor, after: Predictor):
    names = [word(label) for label in [*HIDDEN[1:], HIDDEN[0]]]
    misnamed = before.add_labels({"id": f"L{at}", "name": name} for at, name in enumerate(names, N_LABELS))
    own, other = found_among_the_first(after), found_among_the_first(misnamed)
    assert own >= FOUND.get(before.about.method, 0.75)
    assert other <= own - APART.get(before.about.method, 0.15)


def test_old_labels_keep_index_score_and_order(before: Predictor, after: Predictor, planted: Splits):
    old = before.rank(planted.test.documents, k=8)
    new = after.rank(planted.test.documents, k=8 + len(HIDDEN))
    rest = new.dropped(np.isin(new.labels, list(NEW))).top(8)
    if before.about.method.endswith("++"):  # the candidates of the ranker are a hundred, old or new
        assert (rest.labels == old.labels).mean() > 0.95
    else:
        assert same(rest, old)


def test_labels_added_one_by_one_are_those_added_together(before: Predictor, after: Predictor, planted: Splits):
    grown = before
    for label in HIDDEN:
        grown = grown.add_labels([{"id": f"L{label}", "name": word(label)}])
    assert (grown.rank(asked_for(HIDDEN), k=1).labels == after.rank(asked_for(HIDDEN), k=1).labels).all()
    assert grown.about.added == after.about.added == len(HIDDEN)


def test_a_label_is_found_by_its_examples_where_its_name_says_nothing(before: Predictor):
    examples = [f"{word(17)} {word(501)} {word(510)}", f"{word(520)} {word(17)}", f"{word(17)} {word(533)}"]
    grown = before.add_labels([{"id": "x", "name": "zzzz", "examples": examples}])
    assert len(KEPT) in grown.rank(asked_for([17]), k=2).labels[0]
    assert grown.counts[-1] == 3


def test_a_label_whose_words_nobody_knows_disturbs_nothing(before: Predictor, planted: Splits):
    grown = before.add_labels([{"id": "x", "name": "zzzz qqqq"}])
    first = grown.rank(planted.test.documents, k=1).labels[:, 0]
    assert (first == before.rank(planted.test.documents, k=1).labels[:, 0]).mean() > 0.97


def test_a_model_with_new_labels_is_saved_and_opened(after: Predictor, planted: Splits, tmp_path: Path):
    after.save(tmp_path / "model")
    opened = open_model(tmp_path / "model")
    assert same(opened.rank(planted.test.documents, k=5), after.rank(planted.test.documents, k=5))
    assert len(opened.labels) == N_LABELS and opened.labels[NEW[1]].id == "L17" and len(opened.counts) == N_LABELS


def test_a_removed_label_is_never_suggested(smaller: Predictor, planted: Splits):
    assert smaller.about.removed == (0, NEW[1])
    for k in (1, N_LABELS - 2, N_LABELS):
        ranking = smaller.rank(planted.test.documents, k)
        assert not np.isin(ranking.labels, smaller.about.removed).any()
    answers = smaller.predict([word(0), word(17), "", "qqqq"], k=N_LABELS)
    assert not {"L0", "L17"} & {label.id for row in answers for label in row}


def test_other_labels_stand_as_they_did_when_one_is_removed(after: Predictor, smaller: Predictor, planted: Splits):
    whole, left = (model.rank(planted.test.documents, k=8) for model in (after, smaller))
    rest = whole.dropped(np.isin(whole.labels, smaller.about.removed)).top(5)
    if after.about.method.endswith("++"):
        assert (rest.labels == left.top(5).labels).mean() > 0.9
    else:
        kept = rest.labels >= 0
        assert np.array_equal(rest.labels[kept], left.top(5).labels[kept])


def test_a_model_without_some_labels_is_saved_and_opened(smaller: Predictor, planted: Splits, tmp_path: Path):
    smaller.save(tmp_path / "model")
    opened = open_model(tmp_path / "model")
    assert same(opened.rank(planted.test.documents, k=5), smaller.rank(planted.test.documents, k=5))


def test_no_id_is_added_or_removed_twice(after: Predictor, smaller: Predictor):
    with pytest.raises(CorpusError, match="'L17' is already that of a label"):
        after.add_labels([{"id": "L17", "name": "again"}])
    with pytest.raises(CorpusError, match="'L17' was removed before"):
        smaller.remove_labels(["L17"])


def test_a_model_that_lies_about_new_labels_is_refused_or_answers(smaller: Predictor, tmp_path: Path):
    smaller.save(tmp_path / "model")
    assert mutants.wrong(tmp_path / "model", tmp_path / "lies", range(5)) == []
