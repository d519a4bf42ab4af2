"""A model on a corpus: labels are matched by id, training counts weigh them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import evaluate, fit
from longtail.corpus import Corpus, LabelSet, Splits
from longtail.errors import CorpusError
from longtail.predict.predictor import Predictor


@pytest.fixture(scope="module")
def model(planted: Splits) -> Predictor:
    return fit("linear", planted.train)


def test_the_planted_test_split_scores_high(model: Predictor, planted: Splits):
    result = evaluate(model, planted.test)
    assert result.metrics["P@1"] > 90 and {"nDCG@5", "PSP@3", "R@100", "coverage@5"} <= set(result.metrics)
    assert result.corpus["split"] == "test" and result.model["method"] == "linear"


def test_another_numbering_of_the_same_labels_changes_nothing(model: Predictor, planted: Splits):
    test, shuffled = planted.test, np.random.default_rng(0).permutation(planted.test.n_labels)
    other = dataclasses.replace(test, labels=sp.csr_array(test.labels[:, shuffled]), label_set=test.label_set[shuffled])
    assert evaluate(model, other).metrics == evaluate(model, test).metrics


def read_only(matrix: sp.csr_array) -> sp.csr_array:
    """As a loaded corpus has it, which is mapped from disk."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


def test_a_mapped_corpus_with_filtered_pairs_and_another_numbering_is_judged_alike(model: Predictor, planted: Splits):
    test, turned = planted.test, np.arange(planted.test.n_labels)[::-1]
    drawn = (np.random.default_rng(1).random(test.labels.shape) < 0.1).astype(np.float32)
    plain = dataclasses.replace(test, filtered=sp.csr_array(drawn))
    other = dataclasses.replace(
        test, labels=read_only(sp.csr_array(test.labels[:, turned])), label_set=test.label_set[turned],
        filtered=read_only(sp.csr_array(drawn[:, turned])),
    )  # fmt: skip
    assert evaluate(model, other).metrics == evaluate(model, plain).metrics


def test_labels_the_model_never_heard_of_count_as_missed(model: Predictor, planted: Splits):
    test = planted.test
    with_news = sp.csr_array(sp.hstack([test.labels, np.ones((len(test), 1), np.float32)]))
    wider = LabelSet.of([*test.label_set, *LabelSet.of(["news"])])
    result, before = (
        evaluate(model, dataclasses.replace(test, labels=with_news, label_set=wider)),
        evaluate(model, test),
    )
    assert result.metrics["P@1"] == pytest.approx(before.metrics["P@1"])
    assert result.metrics["R@100"] < before.metrics["R@100"]


def test_filtered_pairs_are_neither_right_nor_in_the_way(model: Predictor, planted: Splits):
    test = planted.test
    first = model.rank(test.documents, 1).labels[:, 0]
    rows = np.arange(len(test))
    filtered = sp.csr_array((np.ones(len(test)), (rows, first)), shape=test.labels.shape)
    result = evaluate(model, dataclasses.replace(test, filtered=filtered), ks=[1])
    second = model.rank(test.documents, 2).labels[:, 1]
    assert result.metrics["P@1"] == pytest.approx(100 * test.labels[rows, second].mean())


def test_an_empty_split_is_refused(model: Predictor):
    empty = dataclasses.replace(Corpus.of(["a"], [["x"]]).subset(np.zeros(0, int), "test"))
    with pytest.raises(CorpusError, match="no documents"):
        evaluate(model, empty)
