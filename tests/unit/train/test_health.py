"""A training that comes to nothing says so."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import fit
from longtail.corpus import PAD, Corpus, Documents, Splits
from longtail.errors import RunError
from longtail.kernels.compiled import KEPT
from longtail.ranking import Ranking
from longtail.train.health import check_answers, check_vectors, suspects
from tests.unit.train.runs import opened

ADVICE = "Try less."


def checked(vectors: list, directory: Path, unused: int = 0) -> list[str]:
    heard: list[str] = []
    with opened(directory, say=heard.append) as run:
        array = np.array(vectors, np.float32)
        check_vectors(array, np.arange(len(array)) < len(array) - unused, "label vectors", ADVICE, run)
    return heard


@pytest.mark.parametrize(
    ("vectors", "sentence"),
    [
        ([[0, 0], [0, 0]], "label vectors have all become zero, so no label can be found by them. Try less."),
        ([[0, 1], [np.nan, 0]], "label vectors are no longer finite numbers. Try less."),
        ([[0, 1], [np.inf, 0]], "label vectors are no longer finite numbers. Try less."),
    ],
)
def test_vectors_that_are_good_for_nothing_stop_the_training(tmp_path: Path, vectors: list, sentence: str):
    with pytest.raises(RunError, match=sentence):
        checked(vectors, tmp_path)


@pytest.mark.parametrize(
    ("vectors", "sentence"),
    [
        ([[1, 2], [1, 2], [1, 2]], "careful: label vectors have all become the same"),
        ([[1, 2], [0, 0], [0, 0]], "careful: 2 of 3 label vectors have become zero"),
    ],
)
def test_vectors_that_hardly_tell_labels_apart_are_warned_of(tmp_path: Path, vectors: list, sentence: str):
    (heard,) = checked(vectors, tmp_path)
    assert heard.startswith(sentence) and heard.endswith(ADVICE)
    assert '"event": "warning"' in (tmp_path / "log.jsonl").read_text("utf-8")


@pytest.mark.parametrize("vectors", [[[1, 2], [2, 1], [0, 0]], [[1, 2]], np.zeros((0, 2))])
def test_healthy_vectors_are_not_worth_a_word(tmp_path: Path, vectors: list):
    assert checked(vectors, tmp_path) == []


def test_vectors_that_stand_for_nothing_may_be_zero(tmp_path: Path):
    assert checked([[1, 2], [2, 1], [0, 0], [0, 0], [0, 0]], tmp_path / "some", unused=3) == []
    assert checked([[0, 0], [0, 0]], tmp_path / "none", unused=2) == []


# -- answers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Knows:
    """Ranks by a (documents, labels) matrix that belongs to one corpus; documents are told apart by their text."""

    corpus: Corpus
    scores: np.ndarray

    def rank(self, documents: Documents, k: int) -> Ranking:
        assert documents.texts is not None and self.corpus.documents.texts is not None
        row_of = {text: row for row, text in enumerate(self.corpus.documents.texts)}
        rows = [row_of[text] for text in documents.texts]
        return Ranking.of_scores(sp.csr_array(self.scores[rows]), k)


def warned(model: Knows, corpus: Corpus, directory: Path) -> list[str]:
    heard: list[str] = []
    with opened(directory, say=heard.append) as run:
        check_answers(model.rank, corpus, run, ["label_encoder.lr was 0.001, now 3"])
    return [line for line in heard if line != KEPT]  # whoever comes first compiles, and says so


def scores(corpus: Corpus, kind: str) -> np.ndarray:
    counts = np.bincount(corpus.labels.indices, minlength=corpus.n_labels)
    frequent = np.tile(counts / counts.max(), (len(corpus), 1))
    noise = np.random.default_rng(0).random((len(corpus), corpus.n_labels))
    return {"right": corpus.labels.toarray(), "frequent": frequent, "noise": noise, "silent": 0 * noise}[kind]


@pytest.mark.parametrize("kind", ["frequent", "noise", "silent"])
def test_a_model_no_better_than_one_answer_for_all_is_warned_of(planted: Splits, tmp_path: Path, kind: str):
    (heard,) = warned(Knows(planted.train, scores(planted.train, kind)), planted.train, tmp_path)
    assert "no better than one answer for all" in heard and "label_encoder.lr was 0.001, now 3" in heard


def test_a_model_that_has_learned_is_not_warned_of(planted: Splits, tmp_path: Path):
    assert warned(Knows(planted.train, scores(planted.train, "right")), planted.train, tmp_path) == []
    line = next(line for line in map(json.loads, (tmp_path / "log.jsonl").open()) if line["event"] == "judged")
    assert line["model"] == pytest.approx(100) and 0 < line["chance"] < 50


def test_where_one_label_is_right_for_all_nobody_can_do_better_than_chance(tmp_path: Path):
    corpus = Corpus.of([f"text {at}" for at in range(40)], [["the one"]] * 40)
    assert warned(Knows(corpus, np.ones((40, 1))), corpus, tmp_path) == []


def test_pairs_that_are_not_judged_do_not_help(planted: Splits, tmp_path: Path):
    """All that the model knows of a document is the label it must not name."""
    train, first = planted.train, planted.train.labels.indptr[:-1]
    own = planted.train.labels.indices[first]
    filtered = sp.csr_array((np.ones(len(train)), own, np.arange(len(train) + 1)), shape=train.labels.shape)
    assert warned(Knows(train, filtered.toarray()), replace(train, filtered=filtered), tmp_path)


def test_a_handful_of_documents_says_nothing_about_chance(tmp_path: Path):
    corpus = Corpus.of(["red fox", "blue whale"], [["land"], ["sea"]])
    assert warned(Knows(corpus, np.zeros((2, 2))), corpus, tmp_path) == []


def test_scores_that_are_not_finite_stop_the_training(planted: Splits, tmp_path: Path):
    class Broken:
        def rank(self, documents: Documents, k: int) -> Ranking:
            return Ranking(
                np.full((len(documents), k), PAD, np.int32), np.full((len(documents), k), np.nan, np.float32)
            )

    with pytest.raises(RunError, match="not finite"):
        warned(Broken(), planted.train, tmp_path)  # type: ignore[arg-type]


def test_learning_rates_are_suspected_first_and_not_everything_is_named():
    sentence = suspects([*(f"s{at} was 1, now 2" for at in range(9)), "optim.lr was 0.1, now 9"])
    assert ": optim.lr was 0.1, now 9; s0" in sentence and "s8" not in sentence and "…" in sentence


# -- all the way -----------------------------------------------------------------------------------------------------

COLLAPSING = {
    "bag.dim": 16, "bag.subwords": 0, "label_text": "none", "label_encoder.hidden": 16,
    "label_encoder.lr": 1.0, "label_encoder.epochs": 4, "label_encoder.batch_size": 64,
    "optim.epochs": 2, "optim.average_from": "none", "search.links": 32,
}  # fmt: skip


def test_label_vectors_that_die_stop_lightdxml_and_the_sentence_names_the_settings(planted: Splits):
    with pytest.raises(RunError, match=r"all become zero.*label_encoder\.lr = 1, and a ReLU .* is on; try"):
        fit("lightdxml/relu", planted.train, **COLLAPSING)


def test_a_training_that_learns_nothing_ends_with_a_warning_that_names_the_settings(planted: Splits):
    heard: list[str] = []
    still = COLLAPSING | {"label_encoder.lr": 1e-12, "optim.row_lr": 1e-12}
    fit("lightdxml", planted.train, say=heard.append, **still)
    (warning,) = (line for line in heard if line.startswith("careful"))
    assert warning.startswith("careful: the model ranks 200 of its training documents no better")
    assert "label_encoder.lr was 0.001, now 1e-12; optim.row_lr was 0.01, now 1e-12" in warning


def test_a_training_that_learns_does_not_warn(planted: Splits):
    heard: list[str] = []
    fit("centroid", planted.train, say=heard.append)
    assert not any("careful" in line for line in heard)
