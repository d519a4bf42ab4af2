"""Texts, documents, corpora and their splits."""

from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from longtail.corpus import Corpus, Documents, Label, LabelSet, Splits, Texts
from longtail.errors import CorpusError

strings = st.lists(st.text(max_size=12), max_size=12)


@given(strings, st.randoms())
def test_texts_are_the_strings_they_were_made_of(wanted: list[str], random):
    texts = Texts.of(wanted)
    rows = [random.randrange(len(wanted)) for _ in range(5)] if wanted else []
    assert list(texts) == wanted
    assert list(texts[np.array(rows, int)]) == [wanted[row] for row in rows]
    assert list(texts[1:3]) == wanted[1:3]


@given(strings, st.randoms())
def test_packing_a_subset_keeps_its_strings_and_only_their_bytes(wanted: list[str], random):
    rows = [random.randrange(len(wanted)) for _ in range(5)] if wanted else []
    packed = Texts.of(wanted)[np.array(rows, int)].packed()
    assert list(packed) == [wanted[row] for row in rows]
    assert len(packed.data) == sum(len(wanted[row].encode()) for row in rows)


@given(st.lists(strings, min_size=1, max_size=4))
def test_joined_texts_are_the_strings_of_their_parts(parts: list[list[str]]):
    turned = [Texts.of(part)[::-1] for part in parts]
    assert list(Texts.joined(turned)) == [string for part in parts for string in reversed(part)]


def test_joined_texts_are_copied_once_and_never_made_strings():
    part = Texts.of(["red fox " * 20] * 5000)
    tracemalloc.start()
    try:
        joined = Texts.joined([part, part])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * joined.data.nbytes


def test_a_subset_shares_the_bytes_of_the_whole():
    texts = Texts.of(["one", "two", "three"])
    assert texts[[2, 0]].data is texts.data


def test_a_label_is_read_with_its_text_only_where_that_says_more():
    assert Label("1", "adhesive", "glue").words == "adhesive\nglue"
    assert Label("1", "adhesive", "adhesive").words == Label("1", "adhesive").words == "adhesive"


def test_a_corpus_made_of_lists_sorts_labels_and_merges_repeats():
    corpus = Corpus.of(["a", "b", "c"], [["y", "x", "y"], [], ["x"]])
    assert [label.name for label in corpus.label_set] == ["x", "y"]
    assert corpus.labels.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]


def test_documents_and_labels_must_count_the_same():
    with pytest.raises(CorpusError, match="2 documents and 1 labels"):
        Corpus(Documents.of(["a", "b"]), sp.csr_array((3, 1), dtype=np.float32), LabelSet.of(["x"]))
    with pytest.raises(CorpusError, match="texts or features"):
        Documents()
    with pytest.raises(CorpusError, match="1 texts but 2 rows"):
        Documents(Texts.of(["a"]), sp.csr_array((2, 3), dtype=np.float32))


@pytest.mark.parametrize("change", ["text", "label", "name"])
def test_the_fingerprint_knows_content(change: str):
    base = Corpus.of(["a", "b"], [["x"], ["y"]])
    other = {
        "text": Corpus.of(["a", "c"], [["x"], ["y"]]),
        "label": Corpus.of(["a", "b"], [["x"], ["x", "y"]]),
        "name": Corpus.of(["a", "b"], [["x"], ["z"]]),
    }[change]
    assert base.fingerprint == Corpus.of(["a", "b"], [["x"], ["y"]], "another name").fingerprint
    assert base.fingerprint != other.fingerprint


def test_a_part_has_a_fingerprint_of_its_own():
    whole = corpus(20)
    parts = [whole.subset(np.arange(start, 10), "train").fingerprint for start in (0, 1)]
    assert len({whole.fingerprint, *parts}) == 3
    assert whole.subset(np.arange(10), "train").fingerprint == parts[0]


def corpus(documents: int) -> Corpus:
    return Corpus.of([f"text {at}" for at in range(documents)], [[f"label {at % 7}"] for at in range(documents)])


def test_held_out_documents_leave_the_training_part():
    train, valid = corpus(200).hold_out(15, seed=1)
    assert (len(train), len(valid), valid.role) == (185, 15, "valid")
    assert not set(train.texts) & set(valid.texts)


def test_holding_out_is_seeded_and_never_takes_more_than_a_tenth():
    assert list(corpus(200).hold_out(15, 1)[1].texts) == list(corpus(200).hold_out(15, 1)[1].texts)
    assert list(corpus(200).hold_out(15, 1)[1].texts) != list(corpus(200).hold_out(15, 2)[1].texts)
    assert len(corpus(30).hold_out(4000, 0)[1]) == 3


def test_an_official_validation_split_is_used_as_it_is():
    official = dataclasses.replace(corpus(9), role="valid")
    whole = dataclasses.replace(corpus(200), official_valid=official)
    train, valid = whole.hold_out(15, 0)
    assert train is whole and valid is official
    assert Splits(whole).valid is official


def test_splits_answer_to_both_their_names_and_to_no_other():
    splits = Splits(corpus(40), dataclasses.replace(corpus(10), role="test"))
    assert splits.split("tst") is splits.split("test") is splits.test
    assert splits.split("trn") is splits.train and len(splits.split("val")) == 4
    with pytest.raises(CorpusError, match="dev"):
        splits.split("dev")


def test_a_corpus_without_a_test_split_names_both_ways_out():
    with pytest.raises(CorpusError, match=r"no test split; .*longtail split CORPUS --test.* --hold-out .* --split val"):
        Splits(corpus(3)).split("tst")
