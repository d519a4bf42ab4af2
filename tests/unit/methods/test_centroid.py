from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.config import build
from longtail.corpus import PAD, Corpus, Documents, Label, LabelSet, Texts
from longtail.errors import CorpusError
from longtail.methods.centroid import Centroid, Config, fit, need
from longtail.train.run import open_run

TEXTS = ["red fox", "red hare", "deep blue sea", "blue sea", "grey stone"]
CARRIED = [[0], [0], [1], [1], [1, 2]]
NAMES = ["animals", "water", "stones", "blue stone"]  # nobody carries the last


def corpus() -> Corpus:
    labels = np.zeros((len(TEXTS), len(NAMES)), np.float32)
    for row, carried in enumerate(CARRIED):
        labels[row, carried] = 1
    label_set = LabelSet.of(Label(name, name) for name in NAMES)
    return Corpus(Documents(Texts.of(TEXTS)), sp.csr_array(labels), label_set)


def trained(directory: Path, **settings: object) -> Centroid:
    with open_run(directory, "centroid", {}, corpus()) as run:
        return fit(corpus(), build(Config, settings), run)


def test_a_score_is_the_cosine_to_the_sum_of_a_labels_documents(tmp_path: Path):
    model = trained(tmp_path, label_text=False)
    rows = model.bags.rows(Documents(Texts.of(TEXTS))).toarray()
    asked = model.bags.rows(Documents.of(["red sea"])).toarray()[0]
    centres = np.array([rows[:2].sum(0), rows[2:].sum(0)])
    expected = asked @ (centres / np.linalg.norm(centres, axis=1, keepdims=True)).T
    ranking = model.rank(Documents.of(["red sea"]), 4)
    order = np.argsort(-expected)
    assert ranking.labels[0].tolist() == [*order, PAD, PAD]
    np.testing.assert_allclose(ranking.scores[0, :2], expected[order], rtol=1e-5)


@pytest.mark.parametrize(("label_text", "found"), [(True, True), (False, False)])
def test_a_label_without_documents_is_found_by_its_name_if_wanted(tmp_path: Path, label_text: bool, found: bool):
    best = trained(tmp_path, label_text=label_text).rank(Documents.of(["blue stone"]), 1).labels[0, 0]
    assert (best == 3) == found


def test_a_label_with_documents_is_not_found_by_its_name(tmp_path: Path):
    assert 0 not in trained(tmp_path).rank(Documents.of(["animals stone"]), 4).labels


def test_a_document_without_known_words_gets_the_most_frequent_labels(tmp_path: Path):
    ranking = trained(tmp_path).rank(Documents.of(["", "red"]), 5)
    assert ranking.labels[0].tolist() == [1, 0, 2, 3, PAD]
    np.testing.assert_allclose(ranking.scores[0], [3 / 5, 2 / 5, 1 / 5, 0, 0], rtol=1e-6)
    assert ranking.labels[1, 0] == 0


# -- ready-made features -----------------------------------------------------------------------------------------------


def of_features(n_documents: int, n_features: int, n_labels: int, carried: int) -> Corpus:
    rng = np.random.default_rng(0)
    features = sp.random_array((n_documents, n_features), density=50 / n_features, rng=rng, dtype=np.float32)
    labels = sp.random_array((n_documents, n_labels), density=carried / n_labels, rng=rng, dtype=np.float32)
    label_set = LabelSet.of(f"label {at}" for at in range(n_labels))
    return Corpus(Documents(features=sp.csr_array(features)), sp.csr_array(labels != 0, dtype=np.float32), label_set)


@pytest.mark.parametrize(
    ("n_features", "n_labels", "carried"),
    [(100_000, 10, 4), (100_000, 1000, 3), (500, 40, 3), (60, 1000, 3)],
    ids=["many features of few labels", "few documents a label", "documents share features", "all features are shared"],
)
def test_the_size_of_a_model_of_features_is_known_before_it_is_trained(n_features: int, n_labels: int, carried: int):
    given = of_features(1000, n_features, n_labels, carried)
    entries = (sp.csr_array(given.labels.T) @ given.documents.features).nnz
    assert need(given, Config()).parameters == pytest.approx(entries, rel=0.2)


def test_features_without_labels_need_nothing():
    bare = Corpus(Documents(features=sp.csr_array((3, 5))), sp.csr_array((3, 2)), LabelSet.of(["a", "b"]))
    assert need(bare, Config()).parameters == 1


def test_a_model_of_features_refuses_texts_with_a_sentence(tmp_path: Path):
    given = of_features(20, 60, 5, 2)
    with open_run(tmp_path, "centroid", {}, given) as run:
        model = fit(given, Config(), run)
    with pytest.raises(CorpusError, match="trained on ready-made features and cannot read texts"):
        model.rank(Documents.of(["red fox"]), 1)
