"""A corpus and the documents that came since."""

from __future__ import annotations

from pathlib import Path

import pytest
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, Label, LabelSet, Splits
from longtail.data.join import join
from longtail.data.load import load
from longtail.data.write import write
from longtail.errors import CorpusError


def labels_of(corpus: Corpus) -> list[list[str]]:
    rows = zip(corpus.labels.indptr, corpus.labels.indptr[1:])
    return [[corpus.label_set[int(at)].id for at in corpus.labels.indices[start:stop]] for start, stop in rows]


OLD = Splits(Corpus.of(["a", "b"], [["x"], ["x", "y"]]), Corpus.of(["t"], [["y"]]))
OLD = Splits(OLD.train, Corpus(OLD.test.documents, sp.csr_array([[0.0, 1.0]]), OLD.train.label_set, role="test"))
NEW = Splits(Corpus.of(["c", "d"], [["z", "x"], []]))


def test_documents_follow_each_other_and_labels_are_matched_by_id():
    both = join([OLD, NEW], "both")
    assert list(both.train.texts) == ["a", "b", "c", "d"]
    assert labels_of(both.train) == [["x"], ["x", "y"], ["x", "z"], []]
    assert list(both.test.texts) == ["t"] and labels_of(both.test) == [["y"]]
    assert [label.id for label in both.train.label_set] == ["x", "y", "z"]
    assert both.train.official_valid is None and both.train.fingerprint not in (OLD.train.fingerprint, "")


def test_names_and_texts_come_from_whoever_has_them():
    def with_labels(*labels: Label) -> Splits:
        matrix = sp.csr_array([[1.0] * len(labels)])
        return Splits(Corpus(Documents.of(["t"]), matrix, LabelSet.of(labels)).fingerprinted())

    both = join(
        [with_labels(Label("1", "1"), Label("2", "two", "pair")), with_labels(Label("2", "2"), Label("1", "one"))], "b"
    )
    assert list(both.train.label_set) == [Label("1", "one"), Label("2", "two", "pair")]


def test_what_is_joined_can_be_written_and_read(tmp_path: Path):
    both = join([OLD, NEW], "both")
    write(both, tmp_path / "both", "jsonl")
    again = load(tmp_path / "both", say=lambda line: None)
    assert list(again.train.texts) == list(both.train.texts) and labels_of(again.train) == labels_of(both.train)
    assert labels_of(again.test) == [["y"]]


def test_features_cannot_be_joined():
    features = Splits(Corpus(Documents(features=sp.csr_array([[1.0]])), sp.csr_array([[1.0]]), LabelSet.of(["x"])))
    with pytest.raises(CorpusError, match="only texts can be joined"):
        join([OLD, features], "both")
