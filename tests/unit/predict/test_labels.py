"""Labels of a saved model are what they were, in plain lines and packed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from longtail.corpus import Label, LabelSet
from longtail.errors import ModelError
from longtail.predict.labels import LabelFile, MoreLabels, ids_of, known_ids, label_digest, write_labels
from longtail.predict.packed_labels import LINES

SOME = [Label("1", "été\nno"), Label("2", "", "text"), Label("\u2028", "x"), *(Label(f"L{at}", "") for at in range(40))]
PLAIN, PACKED = 1000, 1  # from how many labels on they are packed


@pytest.mark.parametrize("many", [PLAIN, PACKED])
@pytest.mark.parametrize("count", [0, 1, LINES - 1, LINES, LINES + 1, len(SOME)])
def test_labels_are_read_one_by_one_as_they_were_written(many: int, count: int, tmp_path: Path):
    write_labels(tmp_path, SOME[:count], many)
    read = LabelFile(tmp_path)
    assert [read[at] for at in range(len(read))] == SOME[:count] and read[1:] == SOME[1:count] and len(read) == count
    assert ids_of(read) == {label.id: at for at, label in enumerate(SOME[:count])}
    with pytest.raises(IndexError):
        read[count]


def test_many_labels_are_a_gzip_file_of_json_lines(tmp_path: Path):
    write_labels(tmp_path, SOME, PACKED)
    assert not (tmp_path / "labels.jsonl").exists()
    lines = gzip.decompress((tmp_path / "labels.jsonl.gz").read_bytes()).decode("utf-8").split("\n")
    assert [Label(**json.loads(line)) for line in lines[:-1]] == SOME


@pytest.mark.parametrize("many", [PLAIN, PACKED])
@pytest.mark.parametrize("id", ['"', "\\", 'a", "name": "b', "\n", "", "é"])
def test_ids_of_any_characters_are_found(many: int, id: str, tmp_path: Path):
    labels = [Label("first", "x"), Label(id, 'a "name"', '{"id": "no"}'), Label("last", "\n")]
    write_labels(tmp_path, labels, many)
    assert ids_of(LabelFile(tmp_path)) == {"first": 0, id: 1, "last": 2}


def test_known_ids_are_looked_up_in_a_file_that_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_labels(tmp_path, SOME)
    grown = MoreLabels(MoreLabels(LabelFile(tmp_path), [Label("new", "x")]), [Label("newer", "x")])
    assert known_ids(grown, ["1", "newer", "nobody"]) == {"1", "newer"}
    monkeypatch.setattr(LabelFile, "all_ids", None)
    assert known_ids(grown, ["L39", "L40", "new", "nobody"]) == {"L39", "new"}


def test_ids_in_lines_of_another_writer_are_found_and_a_bad_line_is_named(tmp_path: Path):
    path = tmp_path / "labels.jsonl"
    path.write_text('{"name": "x", "id": "a"}\n{"id": "b", "name": "y"}\n', "utf-8")
    assert ids_of(LabelFile(tmp_path)) == {"a": 0, "b": 1}
    path.write_text('{"id": "a", "name": "x"}\n{"id": 3, "name": "y"}\n', "utf-8")
    with pytest.raises(ModelError, match=r"labels\.jsonl:2: not a label"):
        ids_of(LabelFile(tmp_path))


@pytest.mark.parametrize("many", [PLAIN, PACKED])
def test_the_digest_of_labels_is_their_ids_in_order(many: int, tmp_path: Path):
    labels = LabelSet.of(["a", "bc"])
    write_labels(tmp_path, labels, many)
    assert label_digest(LabelFile(tmp_path)) == label_digest(labels)
    assert label_digest(labels) != label_digest(LabelSet.of(["ab", "c"]))
    assert label_digest(labels) != label_digest(LabelSet.of(["bc", "a"]))


def test_packed_labels_that_do_not_fit_their_index_are_refused(tmp_path: Path):
    write_labels(tmp_path, SOME, PACKED)
    blocks, whole = tmp_path / "label_blocks.npy", (tmp_path / "labels.jsonl.gz").read_bytes()
    starts = np.load(blocks)
    for wrong in (starts[:-1], starts + 1, starts[::-1].copy(), starts.astype(np.int32), starts[None], starts[:0]):
        np.save(blocks, wrong)
        with pytest.raises(ModelError, match=r"label_blocks\.npy"):
            LabelFile(tmp_path)
    np.save(blocks, starts)
    (tmp_path / "labels.jsonl.gz").write_bytes(b"x" * 40 + whole[40:])
    with pytest.raises(ModelError, match="block 0 cannot be unpacked"):
        LabelFile(tmp_path)[3]
    np.save(blocks, starts[[0, -1]])  # two members where one is expected
    (tmp_path / "labels.jsonl.gz").write_bytes(whole)
    with pytest.raises(ModelError, match="block 0 is not one gzip member"):
        LabelFile(tmp_path)[3]


def test_a_block_that_unpacks_to_more_than_any_label_needs_is_refused(tmp_path: Path):
    bomb = gzip.compress(bytes(1 << 27), mtime=0)
    (tmp_path / "labels.jsonl.gz").write_bytes(bomb)
    np.save(tmp_path / "label_blocks.npy", np.array([0, len(bomb)]))
    with pytest.raises(ModelError, match="block 0"):
        LabelFile(tmp_path)


def test_a_block_with_fewer_labels_than_the_others_is_refused(tmp_path: Path):
    members = [gzip.compress(b'{"id": "a", "name": "b"}\n' * lines, mtime=0) for lines in (2, 1, 1)]
    (tmp_path / "labels.jsonl.gz").write_bytes(b"".join(members))
    np.save(tmp_path / "label_blocks.npy", np.cumsum([0, *map(len, members)]))
    labels = LabelFile(tmp_path)
    assert len(labels) == 5 and labels[0] == labels[4] == Label("a", "b")
    with pytest.raises(ModelError, match="block 1 has 1 labels"):
        labels[3]
