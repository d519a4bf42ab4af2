"""A corpus from a data frame of pandas or polars, whose columns are chosen as those of a file."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pandas as pd
import polars as pl
import pytest

from longtail.corpus import Corpus, Texts
from longtail.errors import CorpusError
from longtail.frames import CorpusNotice

DATA = {
    "abstract": ["basil likes the warm sun", "tulips bloom in the spring", "mint grows everywhere"],
    "tags": ["herb;summer", "flower;spring", "herb;spring"],
    "year": [1999, 2000, 2001],
}
LISTS = [["herb", "summer"], ["flower", "spring"], ["herb", "spring"]]


def labels(corpus: Corpus) -> list[list[str]]:
    names = list(corpus.label_set.names)
    return [[names[at] for at in row.nonzero()[0]] for row in corpus.labels.toarray()]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("tags", [DATA["tags"], LISTS])
def test_columns_of_a_frame_are_a_corpus(frame: type, tags: list):
    with warnings.catch_warnings():
        warnings.simplefilter("error", CorpusNotice)
        corpus = Corpus.of(frame(DATA | {"tags": tags}), text="abstract", labels="tags", label_separator=";")
    assert labels(corpus) == [sorted(row) for row in LISTS] and list(corpus.texts) == DATA["abstract"]
    assert corpus.fingerprint == Corpus.of(DATA["abstract"], LISTS).fingerprint


def test_what_is_guessed_about_a_frame_is_a_warning():
    with pytest.warns(CorpusNotice, match="the text is abstract; the labels are tags; not read: year"):
        corpus = Corpus.of(pd.DataFrame(DATA))
    assert labels(corpus) == [sorted(row) for row in LISTS]


def test_missing_cells_floats_and_columns_of_zeros_and_ones():
    frame = pd.DataFrame({"text": ["a", None, "c"], "labels": [3.0, None, 4.0]})
    corpus = Corpus.of(frame)
    assert list(corpus.texts) == ["a", "", "c"] and labels(corpus) == [["3"], [], ["4"]]
    frame = pl.DataFrame({"title": ["a", "b"], "body": ["c", None], "red": [1, 0], "blue": [True, False]})
    corpus = Corpus.of(frame, text=["title", "body"], labels=["red", "blue"])
    assert list(corpus.texts) == ["a\nc", "b"] and labels(corpus) == [["blue", "red"], []]


def test_a_frame_without_known_columns_is_a_question():
    with pytest.raises(CorpusError, match=r"the data frame: .*did you mean text='blurb' labels='kinds'\?"):
        Corpus.of(pd.DataFrame({"blurb": ["a b c", "d e f"], "kinds": ["x", "x"]}))
    with pytest.raises(CorpusError, match=r"row 1 of the data frame: a label must be a name, not 1\.5"):
        Corpus.of(pd.DataFrame({"text": ["a", "b"], "labels": [[1], [1.5]]}))
    with pytest.raises(CorpusError, match="are for data frames"):
        Corpus.of(["a"], [["b"]], text="c")


def test_columns_that_cannot_be_told_apart_are_refused():
    frame = pd.DataFrame(DATA)
    with pytest.raises(CorpusError, match="two columns with the same name: abstract, tags, year; rename one"):
        Corpus.of(pd.concat([frame, frame], axis=1))
    with pytest.raises(CorpusError, match=r"text: write names of columns, .*, not 0"):
        Corpus.of(frame, text=0, labels="tags")


def test_texts_without_labels_are_told_what_is_missing():
    for given in (["a"], {"text": ["a"]}, [{"text": "a"}]):
        with pytest.raises(CorpusError, match=r"without a list of labels .*pass Corpus.of\(texts, label_lists\)"):
            Corpus.of(given)


def test_neither_library_is_imported():
    code = "import sys; from longtail import Corpus; Corpus.of(['a'], [['b']]); print('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_spaces_around_labels_from_python_are_none_of_them():
    assert labels(Corpus.of(["a", "b"], [["herb ", "tree"], [" herb"]])) == [["herb", "tree"], ["herb"]]
    with pytest.raises(CorpusError, match="row 0 of the labels holds ' '; labels are strings, and not empty"):
        Corpus.of(["a"], [[" "]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_for_texts_is_named_by_its_type_and_its_column(frame: type):
    with pytest.raises(CorpusError) as refused:
        Texts.of(frame({"year": [1], "text": ["a"]}))
    assert str(refused.value) == (
        'texts are a list of strings, not a DataFrame; pass one of its columns, as in list(frame["text"])'
    )
