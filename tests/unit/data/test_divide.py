"""Dividing a corpus: at random by seed, shares as asked for, and no text on two sides."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, LabelSet, Splits, Texts
from longtail.data.divide import divide
from longtail.errors import ConfigError, CorpusError


def made(texts: list[str]) -> Corpus:
    return Corpus.of(texts, [[f"label {at % 5}"] for at in range(len(texts))])


def distinct(documents: int = 200) -> Splits:
    return Splits(made([f"text {at}" for at in range(documents)]))


def texts_of(splits: Splits) -> list[list[str]]:
    parts = (splits.train, splits.train.official_valid, splits.test)
    return [[] if part is None else list(part.texts) for part in parts]


def test_every_document_is_on_one_side_and_shares_are_as_asked_for():
    parts = texts_of(divide(distinct(), test=0.2, valid=0.1))
    assert list(map(len, parts)) == [140, 20, 40]
    assert Counter(chain(*parts)) == Counter(f"text {at}" for at in range(200))


def test_documents_are_drawn_at_random_by_seed_and_keep_their_order():
    one, again, other = (texts_of(divide(distinct(), test=0.2, seed=seed)) for seed in (1, 1, 2))
    assert one == again != other
    numbers = [int(text.split()[1]) for text in one[2]]
    assert numbers == sorted(numbers) and numbers[0] < 100 < numbers[-1]


def test_equal_texts_stay_on_one_side():
    splits = Splits(made([f"text {at % 60}" for at in range(200)]))
    for seed in range(10):
        train, valid, test = map(set, texts_of(divide(splits, test=0.2, valid=0.2, seed=seed)))
        assert test and valid and not (train & test or train & valid or valid & test)


def test_a_text_that_comes_too_often_stays_in_train():
    splits = Splits(made(["the same"] * 150 + [f"text {at}" for at in range(50)]))
    for seed in range(10):
        train, _, test = texts_of(divide(splits, test=0.1, seed=seed))
        assert train.count("the same") == 150 and len(test) == 20


def test_labels_ids_and_filtered_pairs_go_with_their_documents_and_the_label_set_stays_whole():
    base = made([f"text {at}" for at in range(50)])
    wider = LabelSet.of([*base.label_set, *LabelSet.of(["of no document"])])
    labels = sp.csr_array((base.labels.data, base.labels.indices, base.labels.indptr), shape=(50, 6))
    ids, pairs = Texts.of(f"text {at}" for at in range(50)), sp.csr_array(np.eye(50, 6, dtype=np.float32))
    parts = divide(Splits(Corpus(base.documents, labels, wider, ids=ids, filtered=pairs)), test=0.2)
    for part in (parts.train, parts.split("test")):
        numbers = [int(text.split()[1]) for text in part.texts]
        assert list(part.ids) == list(part.texts) and part.n_labels == 6
        assert part.labels.indices.tolist() == [int(at) % 5 for at in numbers]
        assert part.filtered.nonzero()[1].tolist() == [at for at in numbers if at < 6]


def test_a_split_that_exists_is_refused_or_divided_anew():
    base = distinct(100)
    whole = Splits(dataclasses.replace(base.train, official_valid=made(list("abcde"))), made(list("vwxyz")))
    with pytest.raises(CorpusError, match="has a test and a validation split already; with --anew"):
        divide(whole, test=0.2, valid=0.1)
    parts = texts_of(divide(whole, test=0.2, anew=True))
    assert len(parts[2]) == 22 and not parts[1] and {*"abcdevwxyz"} < {*parts[0], *parts[2]}


def test_a_validation_split_that_nobody_asked_for_anew_is_kept_and_shares_no_text_with_test():
    official = made([f"text {at}" for at in range(0, 200, 2)])
    whole = Splits(dataclasses.replace(distinct().train, official_valid=official))
    parts = divide(whole, test=0.3)
    assert parts.train.official_valid is official
    assert len(parts.split("test")) == 60 and not set(parts.split("test").texts) & set(official.texts)


def test_features_are_divided_too_but_not_put_together():
    features = Documents(features=sp.csr_array(np.eye(40, dtype=np.float32)))
    splits = Splits(dataclasses.replace(distinct(40).train, documents=features))
    assert len(divide(splits, test=0.1).split("test")) == 4
    with pytest.raises(CorpusError, match="only texts can be put together"):
        divide(splits, test=0.1, anew=True)


@pytest.mark.parametrize(("test", "valid"), [(0, 0), (1, 0), (0.5, 0.5), (-0.1, 0), (0.1, -0.1), (float("nan"), 0)])
def test_impossible_shares_are_refused(test: float, valid: float):
    with pytest.raises(ConfigError, match="write shares"):
        divide(distinct(), test=test, valid=valid)


@pytest.mark.parametrize("texts", [["one"], ["the same"] * 40])
def test_too_few_different_documents_are_refused(texts: list[str]):
    with pytest.raises(CorpusError, match="1 different documents are too few"):
        divide(Splits(made(texts)), test=0.1)
