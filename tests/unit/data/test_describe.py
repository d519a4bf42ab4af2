"""A description counts what a person would count."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longtail.corpus import Corpus, Splits, Texts
from longtail.data import describe as module
from longtail.data.describe import Decile, describe, word_counts
from longtail.data.load import load
from longtail.judge.frequencies import Frequencies
from tests.unit.data.layouts import LF_JSON, SPARSE, jsonl, loaded

TEXTS = ["one two", "one two", "  ", "three", "", "one  two"]
LABELS = [["a", "b", "c"], ["a"], [], ["a"], ["d"], ["a", "b"]]


@pytest.fixture
def splits(tmp_path: Path) -> Splits:
    test = [("three", ["z"]), ("", ["a"]), ("one two", ["a", "b"]), ("new", []), ("one two", ["a"])]
    rows = {"train": list(zip(TEXTS, LABELS)), "valid": [("three", ["a"]), ("four", ["a"])], "test": test}
    return loaded(
        tmp_path, {f"{s}.jsonl": jsonl([{"text": t, "labels": names} for t, names in r]) for s, r in rows.items()}
    )


def test_documents_and_their_labels_are_counted(splits: Splits):
    train = describe(splits).splits["train"]
    assert (train.documents, train.most_labels, train.without_labels) == (6, 3, 1)
    assert train.labels_per_document == pytest.approx(8 / 6)
    assert train.words == {"0%": 0, "5%": 0, "25%": 0, "50%": 1, "75%": 2, "95%": 2, "100%": 2}


def test_empty_documents_are_counted_and_are_no_duplicates_of_each_other(splits: Splits):
    found = describe(splits).splits
    assert (found["train"].empty, found["train"].duplicates) == (2, 1)
    assert (found["test"].empty, found["test"].duplicates) == (1, 1)


def test_documents_that_training_has_too_are_counted_as_a_leak(splits: Splits):
    found = describe(splits).splits
    assert {role: split.in_train for role, split in found.items()} == {"train": 0, "valid": 1, "test": 3}


def test_labels_are_counted_in_training_only(splits: Splits):
    found = describe(splits)
    assert (found.labels, found.labels_without_training) == (5, 1)
    assert found.frequencies.tolist() == [4, 2, 1, 1, 0]
    assert found.curve == [(1, 4), (2, 2), (3, 1), (4, 1), (5, 0)]


@pytest.mark.parametrize("n_labels", [1, 3, 10, 12, 97, 1000])
def test_deciles_are_the_ones_that_metrics_report_by(n_labels: int):
    rng = np.random.default_rng(n_labels)
    names = [
        [str(n) for n in rng.choice(n_labels, 1 + rng.integers(min(n_labels, 4)), replace=False)] for _ in range(80)
    ]
    corpus = Corpus.of(["x"] * len(names), names)
    counts = Frequencies.of(corpus.labels)
    groups = [counts.counts[counts.deciles() == decile] for decile in np.unique(counts.deciles())]
    expected = [Decile(len(g), g.max(), g.min(), g.mean(), g.sum() / counts.counts.sum()) for g in groups]
    assert describe(Splits(corpus)).deciles == expected


def test_a_curve_of_many_labels_has_few_points_and_both_ends():
    corpus = Corpus.of(["x"] * 3000, [[f"{n}", f"{n // 2}"] for n in range(3000)])
    curve = describe(Splits(corpus)).curve
    assert len(curve) <= 200 and curve[0][0] == 1 and curve[-1][0] == corpus.n_labels
    assert [count for _, count in curve] == sorted((count for _, count in curve), reverse=True)


def test_a_corpus_of_features_is_described_without_words(tmp_path: Path):
    files = SPARSE | {"train.txt": b"4 5 4\n0 1:1 2:1\n0\n1 1:1 2:1\n2 1:1 2:2\n", "test.txt": b"1 5 4\n0 1:1 2:2\n"}
    found = describe(loaded(tmp_path, files)).splits
    assert found["train"].words is None
    assert (found["train"].empty, found["train"].duplicates, found["test"].in_train) == (1, 1, 1)


def test_a_description_can_be_written_as_json(tmp_path: Path):
    found = json.loads(json.dumps(describe(loaded(tmp_path, LF_JSON)).to_json()))
    assert found["splits"]["train"]["documents"] == 3 and found["labels_without_training"] == 1


@given(st.lists(st.text("ab \t\né", max_size=8), max_size=12), st.integers(1, 20))
def test_words_are_counted_as_split_counts_them(texts: list[str], at_once: int):
    before, module.BYTES_AT_ONCE = module.BYTES_AT_ONCE, at_once
    try:
        shuffled = np.random.default_rng(0).permutation(len(texts))
        assert word_counts(Texts.of(texts)).tolist() == [len(text.split()) for text in texts]
        assert word_counts(Texts.of(texts)[shuffled]).tolist() == [len(texts[at].split()) for at in shuffled]
    finally:
        module.BYTES_AT_ONCE = before


@pytest.mark.slow
def test_a_real_corpus_is_described_in_seconds(real_corpora: Path, tmp_path: Path):
    found = describe(load(real_corpora / "eurlex57k", cache=tmp_path))
    assert (found.labels, found.labels_without_training) == (4271, 163)
    assert found.splits["train"].labels_per_document == pytest.approx(5.07, abs=0.01)
