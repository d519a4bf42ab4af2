"""Whatever is wrong with a file, the error says which file, which line and what, and nothing is left behind."""

from __future__ import annotations

import gzip
import json
import lzma
import sys
from pathlib import Path

import pytest

from longtail.data import lines, separated
from longtail.data.lines import _OPEN
from longtail.data.load import load
from longtail.errors import CorpusError, MissingExtraError
from tests.unit.data import layouts
from tests.unit.data.layouts import CSV, DESCRIBED, JSONL, LF_JSON, SPARSE, SPARSE_PAIRS, TEXT_LINES, Files, put


def lf(targets: object) -> Files:
    """A second training document with these targets."""
    good = b'{"title": "x", "target_ind": [0]}\n'
    return LF_JSON | {"trn.json": good + json.dumps({"title": "y", "target_ind": targets}).encode()}


def named(row: bytes) -> Files:
    return {"train.jsonl": b'{"text": "x", "labels": ["a"]}\n' + row}


CASES: dict[str, tuple[Files, str]] = {
    # LF JSON
    "label index out of range": (lf([1, 4]), r"trn.json:2: label index 4 is not a whole number below 4"),
    "negative label index": (lf([-1]), r"trn.json:2: label index -1 "),
    "bool as label index": (lf([0, True]), r"trn.json:2: label index True "),
    "float as label index": (lf([1.0]), r"trn.json:2: label index 1.0 "),
    "huge label index": (lf([10**30]), r"trn.json:2: label index 10+ "),
    "string as label index": (lf(["1"]), r"trn.json:2: label index '1' "),
    "list in a label list": (lf([[1]]), r"trn.json:2: label index \[1\] "),
    "targets not a list": (lf(3), r"trn.json:2: the labels must be a list, not 3"),
    "targets null": (lf(None), r"trn.json:2: the labels must be a list, not None"),
    "no targets": (
        LF_JSON | {"trn.json": b'{"title": "x"}'},
        r"trn.json:1: needs a field called target_ind; .*: title",
    ),
    "no text": (LF_JSON | {"trn.json": b'{"target_ind": []}'}, r"trn.json:1: needs a field called content or title"),
    "title not a string": (
        LF_JSON | {"trn.json": b'{"title": ["x"], "target_ind": []}'},
        r"trn.json:1: title must be a",
    ),
    "not JSON": (LF_JSON | {"trn.json": b"\n{]"}, r"trn.json:2: not JSON .*column 2"),
    "not an object": (LF_JSON | {"trn.json": b"[1, 2]"}, r"trn.json:1: expected a JSON object"),
    "deep JSON": (LF_JSON | {"trn.json": b'{"a":' * 10**5}, r"trn.json:1: not JSON"),
    "number of many digits": (LF_JSON | {"trn.json": b"1" * 5000}, r"trn.json:1: not JSON"),
    "duplicate label id": (
        LF_JSON | {"lbl.json": b'{"uid": "a"}\n{"uid": "b"}\n{"uid": "a"}'},
        r"lbl.json:3: label id 'a' is already that of",
    ),
    "duplicate label id, one a number": (
        LF_JSON | {"lbl.json": b'{"uid": "1"}\n{"uid": 1}'},
        r"lbl.json:2: label id '1'",
    ),
    "no labels file": ({"trn.json": LF_JSON["trn.json"]}, r"lbl.json: missing"),
    "filter out of range": (LF_JSON | {"filter_labels_test.txt": b"0 0\n2 0"}, r"filter_labels_test.txt:2: document 2"),
    "filter label out of range": (LF_JSON | {"filter_labels_test.txt": b"0 4"}, r"filter_labels_test.txt:1: .*label 4"),
    "filter not a pair": (LF_JSON | {"filter_labels_test.txt": b"0 0\n1"}, r"filter_labels_test.txt:2: '1' is not"),
    "negative filter": (LF_JSON | {"filter_labels_test.txt": b"0 -1"}, r"filter_labels_test.txt:1: '0 -1' is not"),
    "empty training file": (LF_JSON | {"trn.json": b"\n"}, r"trn.json: no documents"),
    "empty test file": (LF_JSON | {"tst.json": b""}, r"tst.json: no documents"),
    "bad UTF-8": (
        LF_JSON | {"trn.json": b'{"title": "x", "target_ind": []}\n{"title": "\xff'},
        r"trn.json:2: byte 0xff",
    ),
    # names
    "no columns": (
        {"train.csv": b"a,b\n1,2\n"},
        r"train.csv:2: needs a field called content or text or title; .*: a, b",
    ),
    "no labels column": ({"train.csv": b"text,lables\n1,2\n"}, r"train.csv:2: needs a field called label or labels"),
    "ragged row": ({"train.csv": b'text,labels\n"a\nb",x\nc\n'}, r"train.csv:4: 1 cells under a header of 2"),
    "too long a row": ({"train.tsv": b"text\tlabels\na\tx\ty\n"}, r"train.tsv:2: 3 cells under a header of 2"),
    "open quote": ({"train.csv": b'text,labels\nfine,x\n"a,x\n\n'}, r"train.csv:3: unexpected end of data"),
    "column twice": ({"train.csv": b"text,labels,text\na,x,b\n"}, r"train.csv:1: two columns have the same name"),
    "label bool": (named(b'{"text": "y", "labels": [true]}'), r"train.jsonl:2: a label must be a name, not True"),
    "label float": (named(b'{"text": "y", "label": 1.5}'), r"train.jsonl:2: a label must be a name, not 1.5"),
    "label empty": (named(b'{"text": "y", "labels": ["b", ""]}'), r"train.jsonl:2: a label must be a name, not ''"),
    "label object": (named(b'{"text": "y", "labels": [{}]}'), r"train.jsonl:2: a label must be a name, not {}"),
    "text an object": (named(b'{"text": {}, "labels": []}'), r"train.jsonl:2: text must be a string, not {}"),
    "JSON array without an end": (
        {"train.json": b'[{"text": "x", "labels": ["a"]},\n'},
        r"train.json: the JSON array has no end; is the file cut short",
    ),
    "array of strings": (
        {"train.json": b'[{"text": "x", "labels": ["a"]},\n"y"]'},
        r"train.json:2: expected a JSON object in braces, not \"y\"",
    ),
    "no labels at all": ({"train.jsonl": b'{"text": "x", "labels": []}'}, r"train.jsonl: no document has a label"),
    "unknown label": (
        DESCRIBED | {"test.jsonl": b'{"text": "x", "labels": ["cat"]}'},
        r"test.jsonl:1: label 'cat' is not in the file of",
    ),
    "label twice": (
        DESCRIBED | {"labels.csv": b"id\na\na\n"},
        r"labels.csv:3: label id 'a' is already that of label 0",
    ),
    "label without id": (DESCRIBED | {"labels.csv": b"id,name\n,\n"}, r"labels.csv:2: a label needs an id or a name"),
    "labels without columns": (DESCRIBED | {"labels.csv": b"x\ny\n"}, r"labels.csv:2: needs a field called id or name"),
    "not Parquet": ({"train.parquet": b"PAR1 no"}, r"train.parquet: cannot be read as Parquet"),
    "Parquet cut short": (
        {"train.parquet": layouts.PARQUET["train.parquet"][:-20]},
        r"train.parquet: cannot be read as Parquet",
    ),
    "fasttext label without a name": (
        {"train.txt": b"__label__a x\n__label__ y\n"},
        r"train.txt:2: a label must be a name",
    ),
    # lines of two files
    "no label file": ({"train_texts.txt": b"x\n"}, r"train_labels.txt: missing, although train_texts.txt is there"),
    "fewer label lines": (
        TEXT_LINES | {"test_labels.txt": b"x\n"},
        r"test_labels.txt: 1 lines, but test_raw_texts.txt has 2",
    ),
    # sparse
    "NaN": (SPARSE | {"train.txt": b"1 5 4\n0 1:nan\n"}, r"train.txt:2: 'nan' is not a finite number"),
    "infinite": (SPARSE | {"train.txt": b"1 5 4\n0 1:1 2:inf\n"}, r"train.txt:2: 'inf' is not a finite number"),
    "too large": (SPARSE | {"train.txt": b"1 5 4\n0 1:1e39\n"}, r"train.txt:2: '1e39' is not a finite number"),
    "not a number": (SPARSE | {"train.txt": b"2 5 4\n0 1:1\n0 1:1_0\n"}, r"train.txt:3: '1_0' is not a finite number"),
    "bad exponent": (SPARSE | {"train.txt": b"1 5 4\n0 1:1e\n"}, r"train.txt:2: '1e' is not a finite number"),
    "no value": (SPARSE | {"train.txt": b"1 5 4\n0 1\n"}, r"train.txt:2: '1' is not a pair"),
    "pair of three": (SPARSE | {"train.txt": b"1 5 4\n0 1:2:3\n"}, r"train.txt:2: '2:3' is not a finite number"),
    "space in a pair": (SPARSE | {"train.txt": b"1 5 4\n0 1: 2\n"}, r"train.txt:2: '1:' is not a pair"),
    "feature out of range": (SPARSE | {"train.txt": b"1 5 4\n0 5:1\n"}, r"train.txt:2: column 5 is not below 5"),
    "negative feature": (SPARSE | {"train.txt": b"1 5 4\n0 -1:1\n"}, r"train.txt:2: '-1:1' is not a pair"),
    "feature twice": (SPARSE | {"train.txt": b"1 5 4\n0 3:1 1:1 3:2\n"}, r"train.txt:2: feature 3 comes twice"),
    "label out of range": (SPARSE | {"train.txt": b"1 5 4\n0,4 1:1\n"}, r"train.txt:2: label index 4 is not"),
    "label not a number": (
        SPARSE | {"train.txt": b"1 5 4\n0,a 1:1\n"},
        r"train.txt:2: '0,a' is not a list of label ind",
    ),
    "fewer documents": (
        SPARSE | {"train.txt": b"3 5 4\n0 1:1\n"},
        r"train.txt: the header promises 3 documents, but .* 1;",
    ),
    "more documents": (
        SPARSE | {"train.txt": b"1 5 4\n0 1:1\n\n1 1:1\n"},
        r"train.txt:4: the header promises 1 documents",
    ),
    "other features in test": (
        SPARSE | {"test.txt": b"1 6 4\n0 1:1\n"},
        r"test.txt:1: .*6 features, but training has 5",
    ),
    "other labels in test": (SPARSE | {"test.txt": b"1 5 5\n0 1:1\n"}, r"test.txt:1: .*5 labels, but training has 4"),
    "bad test header": (
        SPARSE | {"test.txt": b"0 1:1\n"},
        r"test.txt:1: the header must be the numbers of documents, fea",
    ),
    "labels beyond reason": (
        SPARSE | {"train.txt": b"1 5 999999999\n0 1:1\n"},
        r"train.txt:1: .*999999999 labels, more",
    ),
    "too few names": (SPARSE | {"Y.txt": b"a\nb\n"}, r"Y.txt: there are 4 labels to name, but there are only 2"),
    "too many names": (
        SPARSE | {"Y.txt": b"a\nb\nc\nd\ne\n"},
        r"Y.txt:5: there are 4 labels to name, and this is one more",
    ),
    "empty header": (SPARSE_PAIRS | {"trn_X_Xf.txt": b""}, r"trn_X_Xf.txt:1: the header must be"),
    "rows differ": (
        SPARSE_PAIRS | {"trn_X_Y.txt": b"2 4\n0:1\n0:1\n"},
        r"trn_X_Y.txt:1: 2 rows, but trn_X_Xf.txt has 3",
    ),
    "no label part": ({"trn_X_Xf.txt": b"1 1\n0:1\n"}, r"trn_X_Y.txt: missing, although trn_X_Xf.txt is there"),
    "negative relevance": (
        SPARSE_PAIRS | {"tst_X_Y.txt": b"2 4\n0:1\n1:1 2:-1\n"},
        r"tst_X_Y.txt:3: a label's relevance",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_error_names_file_line_and_fault(case: str, tmp_path: Path):
    files, message = CASES[case]
    corpus = put(tmp_path / "corpus", files)
    with pytest.raises(CorpusError, match=message):
        load(corpus, cache=tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").glob("**/*") if path.suffix != ".lock"], (
        "something was left behind"
    )


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_a_compressed_file_that_was_cut_short_is_called_so(compress, tmp_path: Path):
    ending = {gzip.compress: ".gz", lzma.compress: ".xz"}[compress]
    whole = compress(b'{"title": "x", "target_ind": [0]}\n' * 10_000)
    for damaged in (whole[: len(whole) // 2], whole[: len(whole) // 2] + b"\0" * 100, b"no", whole[:7]):
        corpus = put(tmp_path, {name: content for name, content in LF_JSON.items() if name != "trn.json"})
        (corpus / f"trn.json{ending}").write_bytes(damaged)
        with pytest.raises(CorpusError, match=rf"trn.json{ending}: damaged or cut short .*again"):
            load(corpus, cache=tmp_path / "cache")


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize(
    "files", [JSONL, LF_JSON, TEXT_LINES, SPARSE, CSV], ids=["JSONL", "LF", "LINES", "SPARSE", "CSV"]
)
def test_a_line_that_no_memory_holds_is_refused(files: Files, ending: str, pack, monkeypatch, tmp_path: Path):
    """A few hundred bytes of xz can unpack into gigabytes without the end of a line."""
    monkeypatch.setattr(lines, "LONGEST_LINE", 2 << 20)
    first = next(iter(files))
    endless = files[first] + b"x" * ((2 << 20) + 1)
    corpus = put(tmp_path / "corpus", {name: content for name, content in files.items() if name != first})
    (corpus / f"{first}{ending}").write_bytes(pack(endless))
    with pytest.raises(CorpusError, match=rf"{first}{ending}:\d+: this line is longer than 2 MB"):
        load(corpus, cache=tmp_path / "cache")


def test_a_cell_whose_quote_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(separated, "LONGEST_LINE", 1000)
    with pytest.raises(CorpusError, match=r"train.csv:2: field larger than field limit \(1000\)"):
        load(put(tmp_path, {"train.csv": b'text,labels\n"' + b"x\n" * 1000 + b'",a\n'}), cache=tmp_path / "cache")


def test_a_bad_byte_behind_a_byte_order_mark_is_the_one_that_is_named(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"train.csv:2: byte 0xfe is not UTF-8"):
        load(put(tmp_path, {"train.csv": b"\xef\xbb\xbftext,labels\n\xfe,a\n"}), cache=tmp_path / "cache")


def test_a_path_that_cannot_be_is_a_sentence():
    with pytest.raises(CorpusError, match="File name too long"):
        load("x" * 5000)
    with pytest.raises(CorpusError, match="no such file"):
        load("nul\0byte")
    with pytest.raises(CorpusError, match="home directory"):
        load("~nobody-of-this-name/corpus")


def test_a_path_that_does_not_exist_is_named(tmp_path: Path):
    with pytest.raises(CorpusError, match="nowhere: no such file or directory"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["notes.md", "train.doc", "prose.txt"])
def test_something_that_is_no_corpus_is_told_what_one_looks_like(name: str, tmp_path: Path):
    put(tmp_path, {name: b"dear diary\n"})
    for place in (tmp_path, tmp_path / name):
        with pytest.raises(CorpusError, match=r"(?s)not a corpus.*trn.json \+ lbl.json.*train.jsonl or .*__label__"):
            load(place)


def test_a_split_without_training_is_no_corpus(tmp_path: Path):
    with pytest.raises(CorpusError, match="not a corpus"):
        load(put(tmp_path, {"test.csv": CSV["test.csv"]}))


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    corpus = put(tmp_path, JSONL)
    monkeypatch.setitem(_OPEN, "", refuse)
    with pytest.raises(CorpusError, match=r"train.jsonl: cannot be read \(Permission denied\)"):
        load(corpus, cache=tmp_path / "cache")


def test_parquet_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"longtail\[parquet\]"):
        load(put(tmp_path, layouts.PARQUET), cache=tmp_path / "cache")
