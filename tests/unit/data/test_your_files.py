"""Files as people have them: other columns, other separators, other encodings.  Every guess is said."""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from longtail.corpus import Splits
from longtail.data.load import load
from longtail.data.queries import read_queries
from longtail.errors import CorpusError, MissingExtraError
from longtail.frames import CorpusNotice
from tests.unit.data.layouts import jsonl, label_names, parquet_bytes, put

HERBS = [  # a text, and its labels
    ("basil grows best in the warm summer sun", ["herb", "summer"]),
    ("parsley can be sown early in the spring", ["herb", "spring"]),
    ("tulips open their flowers in the spring", ["flower", "spring"]),
    ("roses bloom all through the long summer", ["flower", "summer"]),
    ("mint comes again every year by itself", ["herb"]),
    ("dahlias must not freeze in the winter", ["flower"]),
]
EXPECTED = [sorted(labels) for _, labels in HERBS]


def read(place: Path, name: str, content: bytes, **options: str) -> Splits:
    """The corpus in one file; what was guessed about it is in `notes`."""
    put(place, {name: content})
    return load(place / name, cache=place / "cache", say=[].append, **options)


def labels(splits: Splits) -> list[list[str]]:
    return [sorted(row) for row in label_names(splits, "train")]


def table(header: str, by: str = ",", between: str = "|") -> str:
    return "\n".join([header, *(f"{text}{by}{between.join(names)}" for text, names in HERBS), ""])


def said(splits: Splits, *words: str) -> None:
    notes = "\n".join(splits.notes)
    for word in words:
        assert word in notes, notes


# -- columns --------------------------------------------------------------------------------------------------------


def test_the_documented_columns_need_no_note(tmp_path: Path):
    assert read(tmp_path, "a.csv", table("text,labels").encode()).notes == ()
    rows = [{"text": text, "labels": names} for text, names in HERBS]
    assert read(tmp_path, "a.jsonl", jsonl(rows)).notes == ()


@pytest.mark.parametrize(
    "header", ["Text,Labels", "abstract,tags", "BODY,Category", "comment_text,subjects", "Beschreibung,Schlagwörter"]
)
def test_known_names_in_any_capitals_are_taken_and_said(header: str, tmp_path: Path):
    splits = read(tmp_path, "a.csv", table(header).encode())
    text, tags = header.split(",")
    assert labels(splits) == EXPECTED and splits.train.texts[0] == HERBS[0][0]
    said(splits, f"a.csv: the text is {text}; the labels are {tags}")


def test_a_title_is_read_before_an_abstract(tmp_path: Path):
    splits = read(tmp_path, "a.csv", b"Title,Abstract,Keywords,Year\nBasil,a herb,green,1999\n")
    assert list(splits.train.texts) == ["Basil\na herb"]
    said(splits, "the text is Title + Abstract; the labels are Keywords; not read: Year")


@pytest.mark.parametrize("header", ["title,abstract", "title,Content", "abstract,title"])
def test_a_title_in_small_letters_does_not_hide_an_abstract(header: str, tmp_path: Path):
    order = header.split(",")
    cells = {"title": "Basil", "abstract": "a herb", "Content": "a herb"}
    splits = read(tmp_path, "a.csv", f"{header},tags\n{','.join(cells[name] for name in order)},green\n".encode())
    assert list(splits.train.texts) == ["Basil\na herb"]


def test_a_title_and_two_longer_texts_are_a_question(tmp_path: Path):
    with pytest.raises(CorpusError, match="did you mean --text"):
        read(tmp_path, "a.csv", b"title,abstract,body,tags\na,b c d,e f g,x\n")


def test_columns_that_are_not_read_are_said(tmp_path: Path):
    splits = read(tmp_path, "a.csv", b"title,text,labels,year\nBasil,a herb,green,1999\n")
    assert list(splits.train.texts) == ["a herb"]
    said(splits, "not read: title, year (--text title,text would read title too)")
    assert read(tmp_path, "b.csv", b"title,text,labels,id\n,a,b,c\n", text="title,text", labels="labels").notes == ()


def test_columns_can_be_told_and_so_can_the_separator(tmp_path: Path):
    content = b"Name,Blurb,Kinds,Year\nBasil,a herb,green;tasty,1999\n"
    splits = read(tmp_path, "a.csv", content, text="Name,Blurb", labels="kinds", label_separator=";")
    assert list(splits.train.texts) == ["Basil\na herb"] and labels(splits) == [["green", "tasty"]]
    assert splits.notes == ()


def test_what_was_told_is_part_of_what_a_cache_is_known_by(tmp_path: Path):
    content = b"title,text,labels\nBasil,a herb,green;tasty\n"
    assert list(read(tmp_path, "a.csv", content).train.texts) == ["a herb"]
    assert list(load(tmp_path / "a.csv", cache=tmp_path / "cache", text="title", say=print).train.texts) == ["Basil"]
    once = load(tmp_path / "a.csv", cache=tmp_path / "cache", label_separator=";", say=print)
    assert labels(once) == [["green", "tasty"]]
    assert labels(read(tmp_path, "a.csv", content)) == [["green;tasty"]]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("blurb,kinds", "did you mean --text blurb --labels kinds?"),
        ("text,kinds", "needs a field called label or labels; .*did you mean --labels kinds?"),
        ("blurb,labels", "needs a field called content or text or title; .*did you mean --text blurb?"),
        ("my blurb,kinds", "did you mean --text 'my blurb' --labels kinds?"),
    ],
)
def test_the_columns_that_look_right_are_suggested(header: str, message: str, tmp_path: Path):
    with pytest.raises(CorpusError, match=message.replace("?", r"\?")):
        read(tmp_path, "a.csv", table(header).encode())


def test_options_that_nothing_in_the_files_answers_to_are_refused(tmp_path: Path):
    content = table("text,labels").encode()
    with pytest.raises(CorpusError, match=r"--table Sheet1: only \.xlsx, \.sqlite.* files have tables with names"):
        read(tmp_path, "a.csv", content, table="Sheet1")
    with pytest.raises(CorpusError, match="--language de: there is no vocabulary; --vocabulary names one"):
        read(tmp_path, "a.csv", content, language="de")


def test_two_columns_that_could_be_the_labels_are_a_question(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"did you mean --labels (tags|category)\?"):
        read(tmp_path, "a.csv", b"text,tags,category\na b c,x,y\nd e f,x,z\n")


def test_a_known_name_beside_a_much_longer_text_is_a_question(tmp_path: Path):
    rows = "".join(f"good,{'many words ' * 20},books\n" for _ in range(3))
    with pytest.raises(CorpusError, match=r"did you mean --text reviewText\?"):
        read(tmp_path, "a.csv", f"summary,reviewText,category\n{rows}".encode())


def test_a_misspelt_column_is_told_which_one_is_near(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"--text abstrct: no column has this name; .*did you mean --text abstract\?"):
        read(tmp_path, "a.csv", b"abstract,tags\na,b\n", text="abstrct")


def test_columns_of_a_layout_without_columns_cannot_be_told(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"--text: only tables have columns to choose from, and this is fastText"):
        read(tmp_path, "a.txt", b"__label__a b\n", text="body")


def test_columns_of_zeros_and_ones_are_labels(tmp_path: Path):
    content = b"id,comment_text,toxic,insult,threat\n1,you fool,1,1,0\n2,hello there,0,0,0\n3,beware,0,0,1\n"
    splits = read(tmp_path, "a.csv", content)
    assert labels(splits) == [["insult", "toxic"], [], ["threat"]] and list(splits.train.ids) == ["1", "2", "3"]
    said(splits, "the labels are 3 columns of 0 and 1: toxic, insult, threat")
    some = read(tmp_path, "a.csv", content, labels="toxic,threat")
    assert labels(some) == [["toxic"], [], ["threat"]]
    with pytest.raises(CorpusError, match=r"b.csv:2004: insult is 'maybe', but the columns of labels hold 0 and 1"):
        read(tmp_path, "b.csv", content + b"4,more,0,0,0\n" * 1999 + b"5,bad,0,maybe,0\n")


@pytest.mark.parametrize(("no", "yes"), [("", "x"), ("no", "yes"), ("FALSCH", "WAHR"), ("N", "Y")])
def test_columns_of_marks_are_labels_too(no: str, yes: str, tmp_path: Path):
    kinds = ("herb", "spring")
    rows = [",".join([text, *(yes if kind in names else no for kind in kinds)]) for text, names in HERBS]
    content = "\n".join(["text,herb,spring", *rows, ""]).encode()
    wanted = [[name for name in names if name in kinds] for names in EXPECTED]
    assert labels(read(tmp_path, "a.csv", content)) == wanted
    assert labels(read(tmp_path, "a.csv", content, labels="herb,spring")) == wanted


def test_several_columns_of_labels_are_suggested_together(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"did you mean --labels 'Kind 1,Kind 2,Kind 3'\?"):
        read(tmp_path, "a.csv", b"text,Kind 1,Kind 2,Kind 3,Year 1\na b c,x,y,,1999\nd e f,x,,z,2000\n")


def test_nothing_is_suggested_where_no_column_looks_like_text(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"its fields are: data; --text and --labels name columns"):
        read(tmp_path, "a.json", b'{"data": [{"text": "a", "labels": ["b"]}]}')


# -- label cells ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", [";", "; ", ", ", ","])
def test_a_separator_is_found_where_its_parts_come_again(between: str, tmp_path: Path):
    splits = read(tmp_path, "a.tsv", table("text\tlabels", "\t", between).encode())
    assert labels(splits) == EXPECTED
    said(splits, f"labels have {between.strip()!r} between them, as in 'herb{between}summer'")


def test_names_with_commas_are_not_taken_apart(tmp_path: Path):
    places = ["Paris, France", "Lyon, France", "Rome, Italy", "Milan, Italy", "Paris, France"]
    rows = "".join(f"about a town\t{place}\n" for place in places)
    splits = read(tmp_path, "a.tsv", f"text\tlabels\n{rows}".encode())
    assert labels(splits) == [[place] for place in places]


def test_quotes_keep_a_comma_inside_a_label(tmp_path: Path):
    cells = ['"salt, sea", herb', 'herb, "salt, sea"', "herb"]
    rows = [{"text": "x", "labels": cell} for cell in cells]
    splits = read(tmp_path, "a.jsonl", jsonl(rows), label_separator=",")
    assert labels(splits) == [["herb", "salt, sea"], ["herb", "salt, sea"], ["herb"]]


@pytest.mark.parametrize("write", [json.dumps, str, lambda names: str(names).replace(",", "")])
def test_lists_in_cells_are_lists(write, tmp_path: Path):
    """As JSON, as pandas writes lists, and as pandas writes arrays."""
    rows = "".join(f"{text}\t{write(names)}\n" for text, names in HERBS)
    splits = read(tmp_path, "a.tsv", f"text\ttags\n{rows}".encode())
    assert labels(splits) == EXPECTED
    said(splits, "label cells are lists")


def test_labels_come_as_strings_objects_numbers_and_nulls(tmp_path: Path):
    rows = [
        {"text": "a", "labels": "x"},
        {"text": "b", "labels": [{"id": 7, "name": "seven"}, None, 8.0]},
        {"text": "c", "labels": {"uri": "http://x", "label": "ex"}},
        {"text": "d", "labels": 3.0},
        {"text": "e", "labels": None},
    ]
    splits = read(tmp_path, "a.jsonl", jsonl(rows))
    assert labels(splits) == [["x"], ["8", "seven"], ["ex"], ["3"], []]
    assert list(splits.train.label_set.ids) == ["x", "7", "8", "http://x", "3"]
    said(splits, "nulls in lists of labels were left out: 1")


def test_one_string_of_labels_in_parquet_is_taken_apart(tmp_path: Path):
    rows = [{"text": text, "labels": ";".join(names)} for text, names in HERBS]
    assert labels(read(tmp_path, "a.parquet", parquet_bytes(rows))) == EXPECTED


def test_whole_numbers_that_pandas_made_floats_are_whole_numbers(tmp_path: Path):
    splits = read(tmp_path, "a.csv", b"text,category\na,3.0\nb,4.0\nc,\nd,3.0\n")
    assert labels(splits) == [["3"], ["4"], [], ["3"]]
    said(splits, "labels are whole numbers written as 3.0")
    assert labels(read(tmp_path, "a.csv", b"text,label\na,3.0\nb,4.0\nc,\nd,3.0\n")) == [["3"], ["4"], [], ["3"]]
    assert labels(read(tmp_path, "a.csv", b"text,label\na,3.0\nb,3.1\n")) == [["3.0"], ["3.1"]]


def test_nearly_every_document_with_a_label_of_its_own_is_a_warning(tmp_path: Path):
    rows = "".join(f"some text {at}\ta{at};b{at}\n" for at in range(20))
    splits = read(tmp_path, "a.tsv", f"text\tlabels\n{rows}".encode())
    said(splits, "careful: 20 of 20 documents have exactly one label", "look like 'a0;b0': pass --label-separator ';'")
    assert read(tmp_path, "a.tsv", f"text\tlabels\n{rows}".encode(), label_separator=";").notes == ()
    rows = "".join(f"some text {at}\tnumber {at}\n" for at in range(20))
    said(read(tmp_path, "b.tsv", f"text\tlabels\n{rows}".encode()), "are these the right columns?")


def test_cells_that_are_kept_whole_and_look_like_several_labels_are_a_warning(tmp_path: Path):
    splits = read(tmp_path, "a.tsv", table("text\tlabel", "\t", ";").encode())
    assert labels(splits)[0] == ["herb;summer"], "a column called label holds one name"
    said(splits, "label cells look like 'herb;summer'; if these are several labels, pass --label-separator ';'")
    kinds = ["cs.AI math.CO", "cs.AI", "math.CO", "math.CO stat.ML", "stat.ML"]
    rows = [{"text": "a paper", "category": kind} for kind in kinds]
    said(read(tmp_path, "a.jsonl", jsonl(rows)), "pass --label-separator ' '")
    apart = read(tmp_path, "a.jsonl", jsonl(rows), label_separator=" ")
    assert labels(apart)[0] == ["cs.AI", "math.CO"] and "careful" not in "".join(apart.notes)


@pytest.mark.parametrize("between", [" / ", "/", "#", " + "])
def test_rarer_separators_are_warned_about(between: str, tmp_path: Path):
    splits = read(tmp_path, "a.tsv", table("text\tlabels", "\t", between).encode())
    said(splits, f"label cells look like 'herb{between}summer'", f"pass --label-separator '{between.strip()}'")


def test_a_path_of_categories_is_one_label(tmp_path: Path):
    paths = ["tools/saws", "tools/hammers", "tools/saws/small", "books/maps", "books/maps/old", "tools/saws/old"]
    rows = "".join(f"about a thing\t{path}\n" for path in paths * 3)
    assert read(tmp_path, "a.tsv", f"text\tlabels\n{rows}".encode()).notes == ()


def test_a_cell_that_is_no_list_among_lists_is_one_label(tmp_path: Path):
    splits = read(tmp_path, "a.tsv", b"text\ttags\nx\t['a', 'b']\ny\tplain\nz\t[]\n")
    assert labels(splits) == [["a", "b"], ["plain"], []]


def test_a_told_empty_separator_keeps_cells_whole(tmp_path: Path):
    splits = read(tmp_path, "a.tsv", table("text\tlabels", "\t", ";").encode(), label_separator="")
    assert labels(splits)[0] == ["herb;summer"]


def test_spaces_around_a_label_are_none_of_it(tmp_path: Path):
    rows = [{"text": "a", "labels": ["herb ", " herb", "tree"]}, {"text": "b", "labels": ["herb"]}]
    splits = read(tmp_path, "a.jsonl", jsonl(rows))
    assert list(splits.train.label_set.ids) == ["herb", "tree"] and labels(splits) == [["herb", "tree"], ["herb"]]
    single = read(tmp_path, "b.jsonl", jsonl([{"text": "a", "label": "herb "}, {"text": "b", "label": " "}]))
    assert labels(single) == [["herb"], []]
    objects = read(tmp_path, "c.jsonl", jsonl([{"text": "a", "labels": [{"id": "h ", "name": "herb "}]}]))
    assert objects.train.label_set[0][:2] == ("h", "herb")
    with pytest.raises(CorpusError, match=r"d\.jsonl:1: a label must be a name, not ''"):
        read(tmp_path, "d.jsonl", jsonl([{"text": "a", "labels": [" "]}]))


def test_labels_that_differ_in_capitals_alone_are_said_and_stay_apart(tmp_path: Path):
    splits = read(tmp_path, "a.csv", b"text,labels\na b,Herb|tree\nc d,herb|tree\ne f,HERB|moss\n")
    assert len(splits.train.label_set) == 5
    said(
        splits,
        "labels that differ from another one in capitals alone stay labels of their own: 2, as 'HERB' and 'Herb'",
    )


@pytest.mark.parametrize(("train", "test"), [(";", "|"), ("|", ";"), (",", ";")])
def test_another_separator_in_test_than_in_train_is_a_warning(train: str, test: str, tmp_path: Path):
    files = {"train.tsv": table("text\tlabels", "\t", train), "test.tsv": table("text\tlabels", "\t", test)}
    place = put(tmp_path / "c", {name: content.encode() for name, content in files.items()})
    splits = load(place, cache=tmp_path / "cache", say=print)
    said(splits, "careful: 4 labels of test are not in train, though their parts are, as 'herb", "the same separator")
    put(
        place, {"test.tsv": (table("text\tlabels", "\t", train) + "mint and moss\therb\nx y z\tmoss/lichen\n").encode()}
    )
    assert "are not in train" not in "".join(load(place, cache=tmp_path / "cache", say=print).notes)


@pytest.mark.parametrize(("blank", "warned"), [(6, True), (3, True), (2, False)])
def test_texts_that_are_mostly_empty_are_a_warning(blank: int, warned: bool, tmp_path: Path):
    rows = [{"text": " " if at < blank else text, "labels": names} for at, (text, names) in enumerate(HERBS)]
    splits = read(tmp_path, "a.jsonl", jsonl(rows))
    assert (f"careful: {blank} of 6 texts of train are empty" in "".join(splits.notes)) == warned


def test_from_python_notes_and_errors_name_arguments(tmp_path: Path):
    place = put(tmp_path, {"a.tsv": table("text\tlabels", "\t", ";").encode(), "b.csv": table("blurb,kinds").encode()})
    with pytest.warns(CorpusNotice, match=r"as in 'herb;summer'; label_separator='' keeps cells whole"):
        splits = load(place / "a.tsv", cache=tmp_path / "cache")
    assert "--" not in "".join(splits.notes)
    with pytest.raises(CorpusError, match=r"did you mean text='blurb' labels='kinds'\?"):
        load(place / "b.csv", cache=tmp_path / "cache")
    with pytest.raises(CorpusError, match=r"--vocabulary names one"):
        load(place / "a.tsv", cache=tmp_path / "cache", language="de", say=print)


# -- tables as they are exported ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [";", "\t", "|"])
def test_other_delimiters_of_csv_are_found(by: str, tmp_path: Path):
    splits = read(tmp_path, "a.csv", table(f"text{by}labels", by, ",").replace("basil", "basil, thyme").encode())
    assert labels(splits) == EXPECTED and splits.train.texts[0].startswith("basil, thyme")
    said(splits, f"a.csv has {by!r} between its columns")


def test_a_line_that_tells_excel_the_delimiter_is_obeyed(tmp_path: Path):
    splits = read(tmp_path, "a.csv", ("sep=;\r\n" + table("text;labels", ";").replace("\n", "\r\n")).encode())
    assert labels(splits) == EXPECTED
    with pytest.raises(CorpusError, match=r"b.csv:3: 3 cells under a header of 2"):
        read(tmp_path, "b.csv", b"sep=;\ntext;labels\na;b;c\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_carriage_returns_alone_end_lines(encoding: str, tmp_path: Path):
    """As programs for old Macs write."""
    content = table("text,labels").replace("basil", "b\u00e9" if encoding != "utf-8" else "basil").replace("\n", "\r")
    splits = read(tmp_path, "a.csv", content.encode(encoding))
    assert labels(splits) == EXPECTED and splits.train.texts[1] == HERBS[1][0]
    said(splits, "a.csv has carriage returns alone at the ends of its lines")
    crlf = read(tmp_path, "b.csv", table("text,labels").replace("\n", "\r\n").encode())
    assert labels(crlf) == EXPECTED and crlf.notes == ()


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("a.xls", "save it as .xlsx or .csv"), ("a.ODS", "save it as .xlsx or .csv"), ("a.zip", "unpack it")],
)
def test_files_that_are_not_read_are_told_what_to_do_with(name: str, remedy: str, tmp_path: Path):
    with pytest.raises(CorpusError, match=rf"{name}: {Path(name).suffix.lower()} files are not read; .*{remedy}"):
        read(tmp_path, name, b"\xd0\xcf\x11\xe0")
    with pytest.raises(CorpusError, match=f"; {name} is not read: .*{remedy}"):
        load(put(tmp_path / "d", {name: b"PK"}))
    with pytest.raises(CorpusError, match=remedy):
        list(read_queries(str(tmp_path / name)))


def test_two_columns_without_a_header_are_read(tmp_path: Path):
    splits = read(tmp_path, "a.csv", table("").strip().encode())
    assert labels(splits) == EXPECTED and splits.train.texts[0] == HERBS[0][0]
    said(splits, "a.csv has no header", "the text is 1; the labels are 2")


def test_every_split_is_read_as_the_training_split_is(tmp_path: Path):
    """The first line of this test split could be a header, but that of training is none."""
    train, test = table("").strip().encode(), b"short,herb\nwords,flower\n"
    splits = load(put(tmp_path / "c", {"train.csv": train, "test.csv": test}), cache=tmp_path / "cache", say=print)
    assert list(splits.test.texts) == ["short", "words"]


def test_more_columns_without_a_header_are_a_question(tmp_path: Path):
    rows = "".join(f"{at},{text},{names[0]}\n" for at, (text, names) in enumerate(HERBS))
    with pytest.raises(CorpusError, match=r"1, 2, 3; it has no header, .*did you mean --text 2 --labels 3\?"):
        read(tmp_path, "a.csv", rows.encode())
    assert labels(read(tmp_path, "a.csv", rows.encode(), text="2", labels="3"))[0] == ["herb"]


def test_a_single_line_without_a_header_is_a_document(tmp_path: Path):
    splits = read(tmp_path, "a.tsv", b"a text of several words\t<http://a>\n")
    assert labels(splits) == [["http://a"]]


def test_a_directory_with_a_table_of_another_name_hints_at_it(tmp_path: Path):
    with pytest.raises(
        CorpusError, match=r"not a corpus in any known format; a single file is one, such as .*export.csv"
    ):
        load(put(tmp_path / "d", {"export.csv": b"text,labels\na,b\n"}))


def test_blank_columns_that_spreadsheets_leave_are_no_reason_to_refuse(tmp_path: Path):
    splits = read(tmp_path, "a.csv", b",text,labels,,\n0,a b,x,,\n1,c d,y,,\n")
    assert labels(splits) == [["x"], ["y"]]


@pytest.mark.parametrize("name", ["a.CSV", "a.Csv.GZ"])
def test_names_of_files_may_be_in_capitals(name: str, tmp_path: Path):
    content = table("text,labels").encode()
    assert labels(read(tmp_path, name, gzip.compress(content) if name.endswith("GZ") else content)) == EXPECTED
    place = put(tmp_path / "all", {"TRAIN.CSV": content, "Test.csv": content})
    assert load(place, cache=tmp_path / "cache").test is not None


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_of_json_is_as_good_as_lines(indent: int | None, tmp_path: Path):
    rows = [{"text": f'{text} "]}}", \\', "labels": names, "more": {"a": [1, {}]}} for text, names in HERBS]
    splits = read(tmp_path, "a.json", json.dumps(rows, indent=indent).encode())
    assert labels(splits) == EXPECTED and splits.train.texts[0] == HERBS[0][0] + ' "]}", \\'


@pytest.mark.parametrize(
    ("encoding", "note"), [("utf-8-sig", ""), ("utf-16", "a.csv is UTF-16"), ("cp1252", "it was read as cp1252")]
)
def test_encodings_are_told_apart_and_said(encoding: str, note: str, tmp_path: Path):
    content = table("text,labels").replace("basil", "Bärlauch – l'été").replace("\n", "\r\n").encode(encoding)
    splits = read(tmp_path, "a.csv", content)
    assert labels(splits) == EXPECTED and splits.train.texts[0].startswith("Bärlauch – l'été grows")
    assert splits.notes == () if not note else note in splits.notes[0]


def test_one_bad_byte_in_utf8_is_an_error_and_no_other_encoding(tmp_path: Path):
    content = table("text,labels").replace("basil", "Bärlauch, été".replace(",", "")).encode() + b"M\xfcnchen,x\n"
    with pytest.raises(CorpusError, match=r"a.csv:8: byte 0xfc is not UTF-8"):
        read(tmp_path, "a.csv", content)


# -- other layouts --------------------------------------------------------------------------------------------------


def test_fasttext_files_by_their_own_names(tmp_path: Path):
    files = {f"cooking.{split}": b"__label__sauce how do I thicken it\n" for split in ("train", "valid")}
    place = put(tmp_path / "fast", files)
    for given in (place, place / "cooking.train"):
        splits = load(given, cache=tmp_path / "cache", say=print)
        assert label_names(splits, "train") == [["sauce"]] and splits.train.official_valid is not None
        said(splits, "the splits are cooking.train, cooking.valid")


def test_a_folder_for_each_label(tmp_path: Path):
    place = tmp_path / "mail"
    for at, (text, names) in enumerate(HERBS):
        put(place / names[0], {f"{at}.txt": text.encode()})
    splits = load(place, cache=tmp_path / "cache", say=print)
    assert sorted(zip(splits.train.texts, label_names(splits, "train"))) == sorted((t, n[:1]) for t, n in HERBS)
    said(splits, "the 2 folders are the labels: flower, herb")
    put(place / "herb", {"new.txt": "Fenchel ist grün".encode("cp1252")})
    more = load(place, cache=tmp_path / "cache", say=print)
    assert len(more.train) == 7 and "Fenchel ist grün" in list(more.train.texts)
    said(more, "read as cp1252")


def test_folders_of_labels_in_folders_of_splits(tmp_path: Path):
    for split in ("train", "test"):
        put(tmp_path / "mail" / split / "ham", {"1": b"hello"})
        put(tmp_path / "mail" / split / "spam", {"2": b"buy"})
    splits = load(tmp_path / "mail", cache=tmp_path / "cache", say=print)
    assert label_names(splits, "test") == [["ham"], ["spam"]] and list(splits.train.texts) == ["hello", "buy"]


# -- Annif's files --------------------------------------------------------------------------------------------------

URI = "http://example.org/"
WITH_URIS = [[URI + name for name in names] for _, names in HERBS]


def test_annifs_tsv_has_no_header_and_uris_in_brackets(tmp_path: Path):
    lines = [f"{text}\t{' '.join(f'<{uri}>' for uri in uris)}\n" for (text, _), uris in zip(HERBS, WITH_URIS)]
    splits = read(tmp_path, "a.tsv", "".join(lines).encode())
    assert labels(splits) == [sorted(uris) for uris in WITH_URIS]
    said(splits, "a.tsv has no header", "label cells are URIs with spaces between them")


def test_annifs_csv_and_json_lines(tmp_path: Path):
    lines = [f"d{at},{HERBS[at][0]},{' '.join(uris)}\n" for at, uris in enumerate(WITH_URIS)]
    splits = read(tmp_path, "a.csv", ("document_id,text,subject_uris\n" + "".join(lines)).encode())
    assert labels(splits) == [sorted(uris) for uris in WITH_URIS] and splits.train.ids[0] == "d0"
    rows = [{"text": text, "subjects": [{"uri": URI + n, "label": n} for n in names]} for text, names in HERBS]
    splits = read(tmp_path, "a.jsonl", jsonl(rows))
    assert labels(splits) == EXPECTED and splits.train.label_set[0].id == URI + "herb"


def test_annifs_directories(tmp_path: Path):
    place = put(
        tmp_path / "docs",
        {"a.txt": b"basil", "a.tsv": f"<{URI}herb>\therb\n<{URI}summer>\tsummer\n".encode(),
         "b.txt": b"mint", "b.key": b"herb\n", "c.txt": b"nothing known"},
    )  # fmt: skip
    splits = load(place, cache=tmp_path / "cache", say=print)
    assert list(splits.train.texts) == ["basil", "mint", "nothing known"]
    assert label_names(splits, "train") == [["herb", "summer"], ["herb"], []]
    said(splits, "texts without a file of subjects beside them have no labels: 1, as c.txt")
    rows = {
        f"{at}.json": {"text": text, "subjects": [{"uri": URI + names[0]}]} for at, (text, names) in enumerate(HERBS)
    }
    place = put(tmp_path / "json", {name: json.dumps(row).encode() for name, row in rows.items()})
    assert len(load(place, cache=tmp_path / "cache").train) == 6


SKOS = f"""
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <{URI}> .
:plant a skos:Concept ; skos:prefLabel "plants"@en, "Pflanzen"@de .
:herb a skos:Concept ; skos:prefLabel "herbs"@en, "Kräuter"@de ; skos:altLabel "potherbs"@en ; skos:broader :plant .
:weed a skos:Concept ; skos:prefLabel "weeds"@en ; owl:deprecated true .
"""


def test_a_skos_vocabulary_names_and_describes_labels(tmp_path: Path):
    files = {"train.tsv": f"basil is a herb of summer\t<{URI}herb> <{URI}weed>\nmint is one\tplants\n".encode()}
    put(tmp_path / "c", files | {"plants.ttl": SKOS.encode()})
    splits = load(tmp_path / "c", cache=tmp_path / "cache", say=print, text="1", labels="2")
    herb = next(label for label in splits.train.label_set if label.id == f"{URI}herb")
    assert herb.name == "herbs" and herb.text == "potherbs\nplants"
    said(splits, "names of labels are read in en; --language chooses from de, en")
    said(splits, "labels of documents that are not in plants.ttl are kept under their ids: 1")
    german = load(tmp_path / "c", cache=tmp_path / "cache", say=print, language="de", text="1", labels="2")
    assert "Kräuter" in list(german.train.label_set.names)
    with pytest.raises(CorpusError, match="language='fr': its label names are in de, en"):
        load(tmp_path / "c", cache=tmp_path / "cache", language="fr")


def test_two_vocabularies_beside_the_documents_are_said_and_neither_is_read(tmp_path: Path):
    lines = {"train.tsv": f"basil is a herb of summer\t<{URI}herb>\nmint is one\t<{URI}plant>\n".encode()}
    place = put(tmp_path / "c", lines)
    options = {"cache": tmp_path / "cache", "text": "1", "labels": "2"}
    assert "careful" not in "".join(load(place, say=print, **options).notes)
    put(place, {"plants.ttl": SKOS.encode(), "old.rdf": b"<rdf/>"})
    splits = load(place, say=print, **options)
    said(splits, "careful: old.rdf and plants.ttl are not read", "--vocabulary FILE chooses it")
    assert list(splits.train.label_set.names) == [f"{URI}herb", f"{URI}plant"]
    chosen = load(place, say=print, vocabulary=place / "plants.ttl", **options)
    assert "herbs" in list(chosen.train.label_set.names) and "not read" not in "".join(chosen.notes)


def test_a_concept_without_a_name_in_the_language_has_one_of_another(tmp_path: Path):
    more = """
:moss a skos:Concept ; skos:prefLabel "mousses"@fr, "Moose"@de .
:fern a skos:Concept ; skos:prefLabel "Farne"@de .
:bare a skos:Concept .
"""
    put(tmp_path, {"plants.ttl": (SKOS + more).encode()})
    vocabulary = str(tmp_path / "plants.ttl")
    splits = read(tmp_path, "a.csv", f"text,labels\na b,{URI}moss\n".encode(), vocabulary=vocabulary, language="en")
    named = {label.id.removeprefix(URI): label.name for label in splits.train.label_set}
    assert named == {"plant": "plants", "herb": "herbs", "moss": "Moose", "fern": "Farne"}
    said(splits, "plants.ttl: labels without a name in en are called by another one: 2, as 'Farne' (de)")
    said(splits, "plants.ttl: labels without a name in any language are left out: 1")


def test_skos_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rdflib", None)
    put(tmp_path, {"plants.ttl": SKOS.encode()})
    with pytest.raises(MissingExtraError, match=r"longtail\[skos\]"):
        read(tmp_path, "a.csv", b"text,labels\na,b\n", vocabulary=str(tmp_path / "plants.ttl"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "v.csv",
            f"uri,notation,label_en,label_fi\n{URI}herb,1,herbs,yrtit\n{URI}flower,3,,kukat\n{URI}old,2,,\n",
        ),
        ("v.tsv", f"<{URI}herb>\therbs\t1\n<{URI}flower>\tflowers\t2\n"),
    ],
)
def test_annifs_vocabularies(name: str, content: str, tmp_path: Path):
    put(tmp_path, {name: content.encode()})
    lines = [f"{text}\t{' '.join(uris)}\n" for (text, _), uris in zip(HERBS, WITH_URIS)]
    splits = read(tmp_path, "a.tsv", "".join(lines).encode(), vocabulary=str(tmp_path / name))
    assert splits.train.label_set[0][:2] == (f"{URI}herb", "herbs")
    assert splits.train.label_set[1].name in ("flowers", "kukat")
    said(splits, f"labels of documents that are not in {name} are kept under their ids")
    assert f"{URI}old" not in list(splits.train.label_set.ids)


# -- spreadsheets, databases, datasets ------------------------------------------------------------------------------


def test_a_spreadsheet(tmp_path: Path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Articles"
    for row in [[], ["Abstract", "Tags", "Year"], *([text, "; ".join(names), 2020] for text, names in HERBS)]:
        book.active.append(row)
    book.create_sheet("Notes").append(["nothing"])
    book.save(tmp_path / "a.xlsx")
    splits = load(tmp_path / "a.xlsx", cache=tmp_path / "cache", say=print)
    assert labels(splits) == EXPECTED
    said(splits, "the sheet Articles is read; --table chooses from Articles, Notes", "the labels are Tags", "Year")
    with pytest.raises(CorpusError, match="table='Other': its sheets are Articles, Notes"):
        load(tmp_path / "a.xlsx", cache=tmp_path / "cache", table="Other")
    with pytest.raises(CorpusError, match=r"b.xlsx: cannot be read as a spreadsheet"):
        read(tmp_path, "b.xlsx", b"not one")


def test_a_spreadsheet_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"longtail\[excel\]"):
        read(tmp_path, "a.xlsx", b"")


def test_a_database(tmp_path: Path):
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE TABLE articles (id INTEGER, body TEXT, tags TEXT)")
        rows = [(at, text, ",".join(names)) for at, (text, names) in enumerate(HERBS)]
        database.executemany("INSERT INTO articles VALUES (?, ?, ?)", rows)
    database.close()
    splits = load(tmp_path / "a.sqlite", cache=tmp_path / "cache", say=print)
    assert labels(splits) == EXPECTED and splits.train.ids[1] == "1"
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE TABLE other (x)")
    database.close()
    with pytest.raises(CorpusError, match="its tables are articles, other; choose one, as in table='articles'"):
        load(tmp_path / "a.sqlite", cache=tmp_path / "cache")
    assert len(load(tmp_path / "a.sqlite", cache=tmp_path / "cache", table="articles", say=print).train) == 6
    with pytest.raises(CorpusError, match="cannot be read as an SQLite database"):
        read(tmp_path, "b.db", b"not a database, but long enough to be looked at as one")


def test_a_dataset_of_hugging_face(tmp_path: Path):
    """As `DatasetDict.save_to_disk` writes it; a class is a number there, with its name beside the data."""
    place = put(tmp_path / "ds", {"dataset_dict.json": b'{"splits": ["train", "test"]}'})
    data = pa.table({"text": [text for text, _ in HERBS], "label": [len(names) - 1 for _, names in HERBS]})
    info = {"features": {"text": {"_type": "Value"}, "label": {"names": ["one", "two"], "_type": "ClassLabel"}}}
    for split in ("train", "test"):
        put(place / split, {"state.json": b"{}", "dataset_info.json": json.dumps(info).encode()})
        file = str(place / split / "data-00000-of-00001.arrow")
        with pa.OSFile(file, "wb") as sink, pa.ipc.new_stream(sink, data.schema) as stream:
            stream.write_table(data)
    splits = load(place, cache=tmp_path / "cache", say=print)
    assert label_names(splits, "test") == [["two"]] * 4 + [["one"]] * 2 and splits.train.texts[0] == HERBS[0][0]
