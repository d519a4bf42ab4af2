"""Labels of a saved model are what they were."""

from __future__ import annotations

from pathlib import Path

from longtail.corpus import Label, LabelSet
from longtail.predict.labels import LabelFile, label_digest, write_labels


def test_labels_are_read_line_by_line_as_they_were_written(tmp_path: Path):
    labels = [Label("1", "été\nno"), Label("2", "", "text"), Label("\u2028", "x")]
    write_labels(tmp_path / "labels.jsonl", labels)
    read = LabelFile(tmp_path / "labels.jsonl")
    assert [read[at] for at in range(len(read))] == labels and read[1:] == labels[1:] and len(read) == 3


def test_the_digest_of_labels_is_their_ids_in_order(tmp_path: Path):
    labels = LabelSet.of(["a", "bc"])
    write_labels(tmp_path / "labels.jsonl", labels)
    assert label_digest(LabelFile(tmp_path / "labels.jsonl")) == label_digest(labels)
    assert label_digest(labels) != label_digest(LabelSet.of(["ab", "c"]))
    assert label_digest(labels) != label_digest(LabelSet.of(["bc", "a"]))
