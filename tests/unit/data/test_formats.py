"""Every format says the same when it holds the same corpus."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from longtail.corpus import Label
from longtail.data.load import load
from tests.unit.data import layouts
from tests.unit.data.layouts import CSV, DESCRIBED, EVERY, JSONL, LF_JSON, SPARSE, label_names, loaded, put

FEATURES = [[1, 0, 0, 0, 0.5], [0, 2, 0, 0, 0], [0, 0, 0.1, 1, 0]]


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
@pytest.mark.parametrize("layout", EVERY)
def test_every_layout_gives_the_same_labels(layout: str, ending: str, tmp_path: Path):
    splits = loaded(tmp_path, EVERY[layout], ending)
    named = "The " if layout == "described" else ""
    expected = [sorted(labels) for *_, labels in layouts.TRAIN], [sorted(labels) for *_, labels in layouts.TEST]
    got = [[sorted(n.removeprefix(named) for n in row) for row in label_names(splits, s)] for s in ("train", "test")]
    assert tuple(got) == expected
    assert [label.name.removeprefix(named) for label in splits.train.label_set] == layouts.LABELS
    assert splits.train.role == "train" and splits.test.role == "test" and splits.train.name == "corpus"


@pytest.mark.parametrize("layout", layouts.WITH_TEXT)
def test_every_layout_of_texts_gives_the_same_texts(layout: str, tmp_path: Path):
    splits = loaded(tmp_path, layouts.WITH_TEXT[layout])
    for split, documents in layouts.SPLITS.items():
        newline = " " if layout in ("text lines", "fasttext") else "\n"
        assert list(splits.split(split).texts) == [layouts.text(*row[:2]).replace("\n", newline) for row in documents]


@pytest.mark.parametrize("layout", layouts.WITH_FEATURES)
def test_both_sparse_layouts_give_the_same_features(layout: str, tmp_path: Path):
    splits = loaded(tmp_path, layouts.WITH_FEATURES[layout])
    np.testing.assert_allclose(splits.train.documents.features.toarray(), FEATURES)
    np.testing.assert_allclose(splits.test.documents.features.toarray(), [[1, 0, 0, 0, 0], [0, 0, 0, 0, -1]])
    assert splits.train.documents.features.dtype == np.float32 and splits.train.documents.texts is None


def test_a_label_that_only_test_has_counts_there_and_has_no_training_document(tmp_path: Path):
    splits = loaded(tmp_path, JSONL)
    owl = list(splits.train.label_set.names).index("owl")
    assert splits.train.labels[:, [owl]].nnz == 0 and splits.test.labels[:, [owl]].nnz == 1


def test_labels_are_numbered_as_they_are_first_met_training_first(tmp_path: Path):
    files = {"test.jsonl": b'{"text": "", "labels": ["z", "b"]}', "train.jsonl": b'{"text": "", "labels": ["b", "a"]}'}
    assert list(loaded(tmp_path, files).train.label_set.names) == ["b", "a", "z"]


def test_label_rows_are_sorted_without_duplicates_and_binary(tmp_path: Path):
    files = LF_JSON | {"trn.json": b'{"title": "x", "target_ind": [3, 0, 3, 1, 0]}'}
    labels = loaded(tmp_path, files).train.labels
    assert labels.indices.tolist() == [0, 1, 3] and labels.data.tolist() == [1, 1, 1]
    assert labels.has_canonical_format


def test_an_official_validation_split_is_what_training_chooses_by(tmp_path: Path):
    splits = loaded(tmp_path, LF_JSON | {"val.json": b'{"title": "held out", "target_ind": [2]}'})
    assert list(splits.valid.texts) == ["held out"] and splits.valid.role == "valid"
    assert splits.train.hold_out(1, seed=0) == (splits.train, splits.valid)


def test_filtered_pairs_are_those_of_the_file(tmp_path: Path):
    for layout in (LF_JSON, DESCRIBED):
        filtered = loaded(tmp_path / str(len(layout)), layout).test.filtered
        assert np.column_stack(filtered.nonzero()).tolist() == [[0, 3], [1, 0]]
    assert loaded(tmp_path / "none", JSONL).test.filtered is None


def test_a_corpus_with_ids_keeps_them_and_one_without_has_none(tmp_path: Path):
    assert list(loaded(tmp_path / "a", LF_JSON).test.ids) == ["d0", "d1"]
    assert list(loaded(tmp_path / "b", CSV).train.ids) == ["d0", "d1", "d2"]
    assert loaded(tmp_path / "c", JSONL).train.ids is None


def test_a_file_of_labels_describes_and_orders_them(tmp_path: Path):
    label_set = loaded(tmp_path, DESCRIBED).train.label_set
    assert label_set[1] == Label("red", "The red", "about red")
    backwards = DESCRIBED | {"labels.csv": b"name,text\nowl,\nseason,winter\nred,\nmammal,\nunused,\n"}
    label_set = loaded(tmp_path / "backwards", backwards).train.label_set
    assert list(label_set.ids) == ["owl", "season", "red", "mammal", "unused"] == list(label_set.names)
    assert label_set[1].text == "winter"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.jsonl", JSONL["train.jsonl"]),
        ("mine.csv", CSV["train.csv"]),
        ("mine.tsv", layouts.TSV["train.tsv"]),
        ("mine.parquet", layouts.PARQUET["train.parquet"]),
        ("mine.txt", layouts.FASTTEXT["train.txt"]),
        ("mine.txt", SPARSE["train.txt"]),
    ],
)
def test_a_single_file_is_a_training_split(name: str, content: bytes, tmp_path: Path):
    splits = load(put(tmp_path, {name: content}) / name, cache=tmp_path / "cache")
    assert len(splits.train) == 3 and splits.test is None and splits.train.name == "mine"


def test_one_label_may_be_a_string_and_a_label_may_be_a_number(tmp_path: Path):
    rows = [{"text": "a", "label": "x|y"}, {"text": "b", "labels": [7, "x|y"]}, {"text": "c", "label": None}]
    splits = loaded(tmp_path, {"train.jsonl": layouts.jsonl(rows)})
    assert label_names(splits, "train") == [["x|y"], ["x|y", "7"], []]
    splits = loaded(tmp_path / "csv", {"train.csv": b"text,label\na,x|y\nb,\n"})
    assert label_names(splits, "train") == [["x|y"], []]


def test_parquet_may_hold_lists_of_numbers_nulls_and_other_columns(tmp_path: Path):
    rows = [{"text": "a", "labels": [3, 4], "x": {"y": 1}}, {"text": None, "labels": None, "x": None}]
    splits = loaded(tmp_path, {"train.parquet": layouts.parquet_bytes(rows)})
    assert label_names(splits, "train") == [["3", "4"], []] and list(splits.train.texts) == ["a", ""]


def test_a_long_cell_with_newlines_and_quotes_is_one_csv_cell(tmp_path: Path):
    long = "word " * 50_000 + '\nsaid ""no""'
    splits = loaded(tmp_path, {"train.csv": f'text,labels\n"{long}",a\nshort,b\n'.encode()})
    assert splits.train.texts[0] == long.replace('""', '"') and splits.train.texts[1] == "short"


def test_a_newline_in_a_title_becomes_a_space_so_that_title_and_content_part_again(tmp_path: Path):
    files = LF_JSON | {"trn.json": json.dumps({"title": "a\nb", "content": "c\nd", "target_ind": [0]}).encode()}
    assert loaded(tmp_path, files).train.texts[0] == "a b\nc\nd"


def test_half_a_character_in_json_becomes_the_replacement_character(tmp_path: Path):
    files = {"train.jsonl": rb'{"text": "cut \ud83d emoji, whole \ud83d\ude00", "labels": ["\uDE00"]}'}
    splits = loaded(tmp_path, files)
    assert splits.train.texts[0] == "cut \ufffd emoji, whole \U0001f600"
    assert label_names(splits, "train") == [["\ufffd"]]


def test_only_a_line_feed_ends_a_line(tmp_path: Path):
    files = layouts.TEXT_LINES | {
        "train_raw_texts.txt": "a\u2028b\x85c\x0bd\x0ce\nsecond\r\n\n".encode(),
        "train_labels.txt": b"x\ny\r\nz",
    }
    splits = loaded(tmp_path, files)
    assert list(splits.train.texts) == ["a\u2028b\x85c\x0bd\x0ce", "second", ""]
    assert label_names(splits, "train") == [["x"], ["y"], ["z"]]


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path):
    files = {name: b"\xef\xbb\xbf" + content for name, content in CSV.items()}
    assert loaded(tmp_path, files).train.texts[0] == "red fox\nruns at dusk"


def test_fasttext_labels_may_stand_anywhere_and_blank_lines_are_no_documents(tmp_path: Path):
    splits = loaded(tmp_path, {"train.txt": b"\n__label__a one __label__b two x__label__c\n  \nnone\n"})
    assert label_names(splits, "train") == [["a", "b"], []]
    assert list(splits.train.texts) == ["one two x__label__c", "none"]


def test_sparse_labels_may_be_missing_on_a_line(tmp_path: Path):
    splits = loaded(tmp_path, {"train.txt": b"4 3 2\n 0:1\n0:1 2:1\n1,0\n\n\n\n"})
    assert splits.train.labels.toarray().tolist() == [[0, 0], [0, 0], [1, 1], [0, 0]]
    assert splits.train.documents.features.toarray().tolist() == [[1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert list(splits.train.label_set.ids) == ["0", "1"]


def test_blocks_of_any_size_give_the_same_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = {layout: loaded(tmp_path / layout, files) for layout, files in EVERY.items()}
    monkeypatch.setattr("longtail.data.lines.BLOCK_BYTES", 7)
    monkeypatch.setattr("longtail.data.rows.ROWS_A_BLOCK", 1)
    monkeypatch.setattr("longtail.data.separated.ROWS_A_BLOCK", 1)
    monkeypatch.setattr("longtail.data.mapped.LABELS_A_BLOCK", 1)
    for layout, files in EVERY.items():
        pieces = loaded(tmp_path / "pieces" / layout, files)
        assert pieces.train.fingerprint == whole[layout].train.fingerprint
        assert pieces.test.fingerprint == whole[layout].test.fingerprint


@pytest.mark.parametrize(
    ("files", "texts"),
    [
        ({"train.jsonl": '{"text": "a", "labels": ["x"]}\n\n  \n{"text": "b", "labels": ["y"]}\n'}, ["a", "b"]),
        ({"train.csv": "text,labels\na,x\n\nb,y\n"}, ["a", "b"]),
        ({"train.tsv": "text\tlabels\na\tx\n\nb\ty\n"}, ["a", "b"]),
        ({"train.txt": "__label__x a\n\n__label__y b\n"}, ["a", "b"]),
        ({"train_texts.txt": "a\n\nb\n", "train_labels.txt": "x\n\ny\n"}, ["a", "", "b"]),
    ],
    ids=["jsonl", "csv", "tsv", "fasttext", "lines that belong together"],
)
def test_a_blank_line_is_no_document_but_where_lines_of_two_files_belong_together(
    files: dict[str, str], texts: list[str], tmp_path: Path
):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    assert list(load(tmp_path).train.texts) == texts
