"""Training documents that a model keeps: which ones, how they are found again, and that they survive saving."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail import combine, fit
from longtail.corpus import Corpus, Documents, Splits
from longtail.errors import CorpusError, LongtailError
from longtail.predict.kept import CHARACTERS, OF_A_LABEL, WORDS, beginning, chosen, heaviest, keep
from longtail.predict.predictor import Predictor
from tests import mutants
from tests.planted import word


@pytest.fixture(scope="module")
def keeping(planted: Splits) -> Predictor:
    return fit("centroid", planted.train, keep_documents=True)


def test_the_nearest_documents_of_a_label_are_its_own_and_most_alike_first(keeping: Predictor, planted: Splits):
    [reason] = keeping.explain(f"{word(3)} {word(510)} {word(511)}", label="L3").labels
    assert len(reason.documents) == 3
    similarities = [near.similarity for near in reason.documents]
    assert similarities == sorted(similarities, reverse=True) and 0 < similarities[-1] <= similarities[0] <= 1
    own = [planted.train.texts[row] for row in np.flatnonzero(planted.train.labels[:, [3]].toarray()[:, 0])]
    assert all(near.text in own for near in reason.documents)


def test_a_training_document_is_most_like_itself(keeping: Predictor, planted: Splits):
    text = planted.train.texts[77]
    label = int(planted.train.labels[[77]].indices[0])
    [reason] = keeping.explain(text, label=f"L{label}").labels
    assert reason.documents[0].text == text and reason.documents[0].similarity == pytest.approx(1, abs=0.01)


def test_a_model_that_kept_none_shows_none(planted: Splits):
    model = fit("centroid", planted.train)
    assert model.kept is None and model.explain(word(3), k=1).labels[0].documents == []


def test_saving_keeps_them_and_a_finished_run_can_still_get_them(planted: Splits, tmp_path: Path):
    first = fit("centroid", planted.train, run=tmp_path / "run")
    again = fit("centroid", planted.train, run=tmp_path / "run", keep_documents=True)
    assert first.kept is None and again.kept is not None
    opened = longtail.open(tmp_path / "run" / "model")
    opened.save(tmp_path / "copy")
    copied = longtail.open(tmp_path / "copy")
    assert copied.explain(word(3)) == again.explain(word(3)) and copied.explain(word(3)).labels[0].documents


def test_an_ensemble_shows_what_a_member_kept(keeping: Predictor, planted: Splits):
    both = combine([fit("linear", planted.train), keeping])
    [reason] = both.explain(word(3), k=1).labels
    assert reason.documents == keeping.explain(word(3), label=reason.suggestion.id).labels[0].documents != []


def test_a_label_that_was_added_later_has_no_documents(keeping: Predictor):
    assert keeping.kept is not None
    assert keeping.kept.nearest(word(3), np.array([60, 1000])) == [[], []]
    assert keeping.kept.nearest(word(3), np.array([], np.int64)) == []


def test_documents_without_texts_cannot_be_kept(planted: Splits):
    features = sp.csr_array(np.eye(600, 10, dtype=np.float32))
    corpus = dataclasses.replace(planted.train, documents=Documents(features=features))
    with pytest.raises(CorpusError, match="no text"):
        fit("centroid", corpus, keep_documents=True)


# -- which documents ---------------------------------------------------------------------------------------------------


def test_every_label_gets_a_document_before_any_gets_a_second():
    labels = sp.csr_array(np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]], np.float32))
    assert chosen(labels, 3).tolist() == [0, 2, 4]
    assert chosen(labels, 4).tolist() == [0, 1, 2, 4]
    assert chosen(labels, 9).tolist() == [0, 1, 2, 3, 4]


def test_the_heaviest_words_are_kept_in_the_order_of_their_columns():
    rows = sp.csr_array(np.array([[0.1, 0.5, 0.3, 0.4], [0, 0, 0, 0.2]], np.float32))
    starts, columns, values = heaviest(rows, 2)
    assert starts.tolist() == [0, 2, 3] and columns.tolist() == [1, 3, 3]
    np.testing.assert_allclose(values, [0.5, 0.4, 0.2])


def test_what_is_kept_is_bounded():
    long = " ".join(f"word{at}" for at in range(500))
    corpus = Corpus.of([long] * (OF_A_LABEL + 20), [["one"]] * (OF_A_LABEL + 20))
    kept = keep(corpus)
    assert np.diff(kept.starts).max() == WORDS and np.diff(kept.label_starts).tolist() == [OF_A_LABEL]
    assert {len(text) for text in kept.texts} == {CHARACTERS}


def test_a_beginning_is_one_line():
    assert beginning("a\tfox\r\nin a  box\n") == "a fox in a box"


# -- models that lie ---------------------------------------------------------------------------------------------------


def test_a_model_whose_documents_lie_is_refused_or_answers_but_never_crashes(keeping: Predictor, tmp_path: Path):
    keeping.save(tmp_path / "model")
    assert mutants.wrong(tmp_path / "model", tmp_path / "lies", range(300, 330)) == []


@pytest.mark.parametrize(
    "name, value, match",
    [
        ("documents", 600, "documents holds numbers"),
        ("words", 10**6, "words holds numbers"),
        ("starts", -1, "starts must rise"),
    ],
)
def test_a_lie_about_documents_is_named(name: str, value: int, match: str, keeping: Predictor, tmp_path: Path):
    from safetensors.numpy import load_file, save_file

    keeping.save(tmp_path / "model")
    path = tmp_path / "model" / "documents" / "arrays.safetensors"
    arrays = {key: np.array(array) for key, array in load_file(path).items()}
    arrays[name][1] = value
    save_file(arrays, path)
    mutants.vouch(tmp_path / "model")
    with pytest.raises(LongtailError, match=match):
        longtail.open(tmp_path / "model")


def test_documents_of_more_labels_than_there_are_are_refused(keeping: Predictor, planted: Splits, tmp_path: Path):
    corpus = Corpus.of(["red", "blue"], [["r"], ["b"]])
    small = dataclasses.replace(fit("centroid", corpus), kept=keeping.kept)
    small.save(tmp_path / "model")
    with pytest.raises(LongtailError, match="documents of more labels than the model has"):
        longtail.open(tmp_path / "model")
