"""What is written and loaded again is the same corpus."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longtail.corpus import Corpus, Label, LabelSet, Splits
from longtail.data.formats.lf_json import joined, split
from longtail.data.load import load
from longtail.data.write import WRITERS, write
from longtail.errors import CorpusError, MissingExtraError
from tests.unit.data.layouts import JSONL, LF_JSON, SPARSE, WITH_TEXT, jsonl, loaded


def same(one: Splits, other: Splits) -> None:
    for a, b in (
        (one.train, other.train),
        (one.train.official_valid, other.train.official_valid),
        (one.test, other.test),
    ):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert a.fingerprint == b.fingerprint and list(a.texts) == list(b.texts)
            assert (a.ids is None) == (b.ids is None) and list(a.ids or []) == list(b.ids or [])
            assert (a.filtered is None) == (b.filtered is None)
            assert a.filtered is None or (a.filtered != b.filtered).nnz == 0


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("layout", WITH_TEXT)
def test_nothing_is_lost(layout: str, format: str, tmp_path: Path):
    original = loaded(tmp_path, WITH_TEXT[layout])
    write(original, tmp_path / "out", format)
    same(original, load(tmp_path / "out", cache=tmp_path / "cache"))


@pytest.mark.parametrize("format", WRITERS)
def test_validation_and_filters_of_every_split_are_kept(format: str, tmp_path: Path):
    files = LF_JSON | {
        "val.json": LF_JSON["tst.json"],
        "filter_labels_train.txt": b"2 1\n",
        "filter_labels_valid.txt": b"",
    }
    original = loaded(tmp_path, files)
    assert original.train.filtered.nnz == 1 and original.train.official_valid.filtered.nnz == 0
    write(original, tmp_path / "out", format)
    same(original, load(tmp_path / "out", cache=tmp_path / "cache"))


@pytest.mark.parametrize("format", WRITERS)
def test_labels_that_share_a_name_stay_apart(format: str, tmp_path: Path):
    labels = [
        {"uid": "1", "title": "cell", "content": "of a body"},
        {"uid": "2", "title": "cell", "content": "of a jail"},
    ]
    rows = [{"title": "x", "target_ind": [1]}, {"title": "y", "target_ind": [0, 1]}]
    original = loaded(tmp_path, {"trn.json": jsonl(rows), "lbl.json": jsonl(labels)})
    write(original, tmp_path / "out", format)
    again = load(tmp_path / "out", cache=tmp_path / "cache")
    same(original, again)
    assert again.train.label_set[1] == Label("2", "cell", "of a jail")


@given(st.text(st.characters(codec="utf-8"), max_size=8) | st.text("a\n\r ", max_size=6))
def test_a_text_is_parted_into_title_and_content_that_join_to_it(text: str):
    title, content = split(text)
    assert joined(title, content) == text and "\n" not in title


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=6) | st.text('a\n\r"\\|,\t', max_size=6), min_size=1))
@pytest.mark.parametrize("format", WRITERS)
def test_any_text_survives(format: str, tmp_path_factory: pytest.TempPathFactory, texts: list[str]):
    place = tmp_path_factory.mktemp("any")
    splits = Splits(Corpus.of(texts, [[str(at % 3)] for at in range(len(texts))]))
    if format == "csv" and any("\r\n" in text for text in texts):
        with pytest.raises(CorpusError, match="write jsonl instead"):
            write(splits, place / "out", format)
        return
    write(splits, place / "out", format)
    assert list(load(place / "out", cache=place / "cache").train.texts) == texts


def test_lf_json_is_what_the_repository_reads(tmp_path: Path):
    write(loaded(tmp_path, LF_JSON), tmp_path / "out", "lf")
    rows = [json.loads(line) for line in (tmp_path / "out" / "trn.json").read_text("utf-8").splitlines()]
    assert rows[0] == {"uid": "d0", "title": "red fox", "content": "runs at dusk", "target_ind": [0, 1]}
    assert (tmp_path / "out" / "filter_labels_test.txt").read_text() == "0 3\n1 0\n"


def test_blocks_of_any_size_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    original = loaded(tmp_path, LF_JSON)
    monkeypatch.setattr("longtail.data.write.ROWS_A_BLOCK", 2)
    for format in WRITERS:
        write(original, tmp_path / format, format)
        same(original, load(tmp_path / format, cache=tmp_path / "cache"))


def test_what_stands_there_already_is_not_touched(tmp_path: Path):
    splits = loaded(tmp_path, JSONL)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("more work")
    for name in ("full", "file"):
        with pytest.raises(CorpusError, match=f"{name}: exists already"):
            write(splits, tmp_path / name, "lf")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.tex"]
    (tmp_path / "empty").mkdir()
    write(splits, tmp_path / "empty", "lf")
    assert (tmp_path / "empty" / "trn.json").is_file()


@pytest.mark.parametrize("format", WRITERS)
def test_a_failure_leaves_nothing(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    splits = loaded(tmp_path, LF_JSON)
    monkeypatch.setattr("longtail.data.write._write_filters", full)
    with pytest.raises(CorpusError, match=r"out: cannot be written \(No space left"):
        write(splits, tmp_path / "out", format)
    assert not any("out" in path.name for path in tmp_path.iterdir())


def test_what_cannot_be_written_is_refused_in_words(tmp_path: Path):
    with pytest.raises(CorpusError, match="features somebody else made"):
        write(loaded(tmp_path / "a", SPARSE), tmp_path / "out", "lf")
    with pytest.raises(CorpusError, match=r"xml: no such format to write; there are lf, jsonl, csv, parquet"):
        write(loaded(tmp_path / "b", JSONL), tmp_path / "out", "xml")
    twins = Corpus.of(["a"], [["x", "y"]])
    twins = Corpus(twins.documents, twins.labels, LabelSet.of([Label("1", "x"), Label("1", "y")]))
    with pytest.raises(CorpusError, match="an id of its own"):
        write(Splits(twins), tmp_path / "out", "lf")
    for format in WRITERS:
        with pytest.raises(CorpusError, match="half of a character"):
            write(Splits(Corpus.of(["\ud800"], [["x"]])), tmp_path / "out", format)
    assert not (tmp_path / "out").exists()


def test_parquet_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    splits = loaded(tmp_path, JSONL)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"longtail\[parquet\]"):
        write(splits, tmp_path / "out", "parquet")


@pytest.mark.slow
@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("corpus", ["wordnet-glosses", "debian-related", "eurlex57k"])
def test_a_real_corpus_survives(corpus: str, format: str, real_corpora: Path, tmp_path: Path):
    original = load(real_corpora / corpus, cache=tmp_path / "cache")
    write(original, tmp_path / "out", format)
    again = load(tmp_path / "out", cache=tmp_path / "cache")
    assert again.train.fingerprint == original.train.fingerprint and again.test.fingerprint == original.test.fingerprint
    assert np.array_equal(again.train.ids.data, original.train.ids.data)
