"""The documents that a model is most wrong about, and files about single labels."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail.corpus import Corpus, Splits
from longtail.errors import ConfigError
from longtail.judge.evaluation import Answered, answer, evaluate
from longtail.judge.mistakes import worst_mistakes
from longtail.report.details import check_name, label_rows, mistake_rows, write_rows
from tests.planted import word


@pytest.fixture(scope="module")
def answered(planted: Splits) -> Answered:
    """Of a model that knows every word, and documents of which three have wrong labels."""
    model, test = longtail.fit("linear", planted.train), planted.test
    labels = test.labels.tolil()
    for row, wrong in ((3, 50), (7, 51), (9, 52)):
        labels[row, :] = 0
        labels[row, wrong] = 1
    return answer(model, Corpus(test.documents, labels.tocsr(), test.label_set, "wrong", "test").fingerprinted())


def test_wrong_truth_is_found_first(answered: Answered):
    found = worst_mistakes(answered, 3, k=3)
    assert {one.document for one in found} == {3, 7, 9}
    assert [one.gap for one in found] == sorted((one.gap for one in found), reverse=True)
    for one in found:
        assert not one.suggested[0].right and len(one.suggested) <= 3
        assert one.text == answered.corpus.texts[one.document]
        assert one.suggested[0].name in one.text and one.true[0].name not in one.text


def test_gaps_are_those_of_plain_python(answered: Answered):
    ranking, truth = answered.counted()
    for one in worst_mistakes(answered, 1000, k=5):
        scores = dict(zip(ranking.labels[one.document].tolist(), ranking.scores[one.document].tolist()))
        true = set(np.flatnonzero(truth[[one.document]].toarray()[0]).tolist())
        wrong = max(score for label, score in scores.items() if label not in true and label >= 0)
        assert one.gap == pytest.approx(wrong - min(scores.get(label, 0.0) for label in true))
        assert one.gap > 0


def test_rows_of_labels_add_up(answered: Answered):
    rows = label_rows(answered, 3)
    assert sum(row["true"] for row in rows) == answered.truth.nnz
    assert sum(row["suggested"] for row in rows) == 3 * len(answered.corpus)
    assert [row["true"] for row in rows] == sorted((row["true"] for row in rows), reverse=True)
    one = next(row for row in rows if row["name"] == word(50))
    assert one["recall"] == pytest.approx(100 * one["right"] / one["true"], abs=0.01)
    assert one["training_documents"] == int(answered.model.counts[50])


def test_labels_that_only_the_corpus_has_are_named(planted: Splits):
    model = longtail.fit("centroid", planted.train)
    strange = Corpus.of([planted.test.texts[0]], [["never heard of"]])
    (row,) = (row for row in label_rows(answer(model, strange), 1) if row["true"])
    assert (row["name"], row["training_documents"], row["recall"]) == ("never heard of", 0, 0.0)
    assert worst_mistakes(answer(model, strange), 5, 1)[0].true[0].place is None
    assert evaluate(model, strange).metrics["F1@1"] == 0


@pytest.mark.parametrize("end", [".csv", ".json", ".jsonl"])
def test_files_are_what_their_names_say(end: str, answered: Answered, tmp_path: Path):
    labels, mistakes = tmp_path / f"new/labels{end}", tmp_path / f"mistakes{end}"
    write_rows(labels, rows := label_rows(answered, 3))
    write_rows(mistakes, mistake_rows(worst_mistakes(answered, 2, 3), mistakes))
    if end == ".csv":
        assert [row["id"] for row in csv.DictReader(labels.open())] == [row["id"] for row in rows]
        assert "not ranked" in mistakes.read_text() or "|" in mistakes.read_text()
    elif end == ".json":
        assert json.loads(labels.read_text()) == rows
    else:
        assert [json.loads(line) for line in labels.read_text().splitlines()] == rows
    write_rows(tmp_path / f"none{end}", [], ["document", "gap"])
    assert end != ".csv" or (tmp_path / "none.csv").read_text() == "document,gap\n"


def test_a_name_that_says_nothing_is_refused():
    with pytest.raises(ConfigError, match="must end in one of"):
        check_name(Path("labels.xlsx"))
