"""Calls that cannot work are answered with a sentence that says what to pass, never with an error from inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail.corpus import Corpus, Documents, Label, LabelSet, Splits, Texts
from longtail.errors import LongtailError
from longtail.predict.predictor import Predictor

NAN, INF = float("nan"), float("inf")
TEXTS = ["red fox", "blue whale", "red rose", "blue sky"]
LISTS = [["fox"], ["whale"], ["rose"], ["sky"]]


@dataclass(frozen=True)
class Known:
    """What a call can be made with."""

    model: Predictor
    splits: Splits
    path: Path

    @property
    def train(self) -> Corpus:
        return self.splits.train


@pytest.fixture(scope="module")
def known(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Known:
    return Known(longtail.fit("centroid", planted.without_valid), planted, tmp_path_factory.mktemp("calls"))


def classifier(**parameters: Any) -> Any:
    sklearn = pytest.importorskip("longtail.sklearn")
    return sklearn.ExtremeClassifier(**({"method": "centroid"} | parameters))


def csr(*shape: int) -> sp.csr_array:
    return sp.csr_array(np.ones(shape, np.float32))


def features(value: float) -> Documents:
    return Documents(features=sp.csr_array(np.array([[value, 1.0]], np.float32)))


# What is wrong, and words of the sentence that must be said.
CALLS: dict[str, tuple[Callable[[Known], object], str]] = {
    # fit
    "fit on a path": (lambda at: longtail.fit("linear", "my-corpus/"), r"longtail\.load\(.*\)\.train"),
    "fit on a Path": (lambda at: longtail.fit("linear", at.path), r"longtail\.load\(.*\)\.train"),
    "fit on splits": (lambda at: longtail.fit("linear", at.splits), r"\.train"),
    "fit on nothing": (lambda at: longtail.fit("linear", None), r"longtail\.load\(path\)\.train"),
    "fit on texts": (lambda at: longtail.fit("linear", TEXTS), r"Corpus\.of\(texts, label_lists\)"),
    "fit on documents": (lambda at: longtail.fit("linear", at.train.documents), r"Corpus"),
    "fit on a test split": (lambda at: longtail.fit("linear", at.splits.test), "test split"),
    "fit a method that is not": (lambda at: longtail.fit("linaer", at.train), "did you mean linear"),
    "fit method None": (lambda at: longtail.fit(None, at.train), "method"),
    "fit method 5": (lambda at: longtail.fit(5, at.train), "method"),
    "fit the other way round": (lambda at: longtail.fit(at.train, "linear"), "method"),
    "fit into a number": (lambda at: longtail.fit("centroid", at.train, run=5), "run = 5"),
    "fit into bytes": (lambda at: longtail.fit("centroid", at.train, run=b"x"), "run = b'x'"),
    "fit a setting that is not": (lambda at: longtail.fit("linear", at.train, baem=3), "did you mean beam"),
    "fit a setting of another type": (lambda at: longtail.fit("linear", at.train, beam="wide"), "beam = 'wide'"),
    "fit a setting that is a list": (lambda at: longtail.fit("linear", at.train, beam=[1]), "beam"),
    "fit a huge seed": (lambda at: longtail.fit("linear", at.train, seed=10**23), "seed"),
    "fit a negative seed": (lambda at: longtail.fit("centroid", at.train, seed=-1), "seed"),
    "fit a seed that is no number": (lambda at: longtail.fit("linear", at.train, seed=None), "seed"),
    "fit with a NaN": (lambda at: longtail.fit("linear", at.train, cost=NAN), "cost"),
    "fit with an infinity": (lambda at: longtail.fit("linear", at.train, cost=INF), "cost"),
    "fit with a written infinity": (lambda at: longtail.fit("linear", at.train, tolerance="1e999"), "tolerance"),
    "fit with a huge number": (lambda at: longtail.fit("linear", at.train, beam=10**23), "beam"),
    # load
    "load nothing": (lambda at: longtail.load(None), "path"),
    "load a number": (lambda at: longtail.load(123), "path"),
    "load bytes": (lambda at: longtail.load(b"demo"), "path"),
    "load a list": (lambda at: longtail.load(["demo"]), "path"),
    "load what is not there": (lambda at: longtail.load("no/such/corpus"), "no such file"),
    "load into a strange cache": (lambda at: longtail.load("demo", cache=5), "cache = 5"),
    # open
    "open a number": (lambda at: longtail.open(123), "path"),
    "open nothing": (lambda at: longtail.open(None), "path"),
    "open a model": (lambda at: longtail.open(at.model), "path"),
    "open what is not there": (lambda at: longtail.open("no/such/model"), "no/such/model"),
    "open a nul": (lambda at: longtail.open("a\0b"), "a.*b"),
    # save
    "save nowhere": (lambda at: at.model.save(None), "path"),
    "save to a number": (lambda at: at.model.save(3), "path"),
    # Corpus.of
    "texts and fewer lists": (lambda at: Corpus.of(TEXTS, LISTS[:2]), "4 texts, but 2 lists of labels"),
    "texts and more lists": (lambda at: Corpus.of(TEXTS[:1], LISTS), "1 texts, but 4 lists of labels"),
    "one text": (lambda at: Corpus.of("red fox", [["fox"]]), r"in a list"),
    "texts None": (lambda at: Corpus.of(None, LISTS), "texts"),
    "a text None": (lambda at: Corpus.of(["red fox", None], LISTS[:2]), "text 1 is None"),
    "a text bytes": (lambda at: Corpus.of([b"red fox"], [["fox"]]), "text 0 is b'red fox'"),
    "a text NaN": (lambda at: Corpus.of(["red fox", NAN], LISTS[:2]), "text 1 is nan"),
    "labels None": (lambda at: Corpus.of(TEXTS, None), "list of labels"),
    "labels of one None": (lambda at: Corpus.of(TEXTS[:2], [["fox"], None]), "row 1"),
    "a label instead of a list": (lambda at: Corpus.of(TEXTS[:1], ["fox"]), r"row 0.*\['fox'\]"),
    "labels one string": (lambda at: Corpus.of(TEXTS[:1], "f"), "list of labels"),
    "labels numbers": (lambda at: Corpus.of(TEXTS[:2], [[1], [2]]), "row 0.*strings"),
    "labels mixed": (lambda at: Corpus.of(TEXTS[:2], [["fox"], ["whale", 3]]), "row 1.*strings"),
    "labels a number a text": (lambda at: Corpus.of(TEXTS[:2], [1, 2]), "row 0"),
    "a label None": (lambda at: Corpus.of(TEXTS[:1], [[None]]), "row 0.*strings"),
    "a label bytes": (lambda at: Corpus.of(TEXTS[:1], [[b"fox"]]), "row 0.*strings"),
    "a label that is empty": (lambda at: Corpus.of(TEXTS[:1], [[""]]), "row 0"),
    "a label of half a character": (lambda at: Corpus.of(TEXTS[:1], [["\ud83d"]]), "row 0"),
    "labels in lists in lists": (lambda at: Corpus.of(TEXTS[:1], [[["fox"]]]), "row 0.*strings"),
    "labels a matrix": (lambda at: Corpus.of(TEXTS[:2], np.eye(2)), "row 0"),
    # Documents, Corpus
    "documents of one text": (lambda at: Documents.of("red fox"), "in a list"),
    "documents of bytes": (lambda at: Documents.of(b"red fox"), "in a list"),
    "documents of a dict": (lambda at: Documents.of({"text": "red fox"}), "list of strings"),
    "documents of a number": (lambda at: Documents.of(5), "list of strings"),
    "documents of None": (lambda at: Documents.of([None]), "text 0 is None"),
    "documents without anything": (lambda at: Documents(), "texts or features"),
    "documents with a bare list": (lambda at: Documents(TEXTS), r"Documents\.of"),
    "documents with dense features": (lambda at: Documents(features=np.eye(3)), r"csr_array"),
    "documents with listed features": (lambda at: Documents(features=[[1.0]]), r"csr_array"),
    "documents with columns": (lambda at: Documents(features=sp.csc_array(np.eye(3))), r"csr_array"),
    "documents with one row": (lambda at: Documents(features=sp.csr_array(np.ones(3))), r"two dimensions"),
    "documents with complex features": (lambda at: Documents(features=sp.csr_array([[1j]])), r"numbers"),
    "documents of two lengths": (lambda at: Documents(Texts.of(["a"]), csr(2, 3)), "1 texts but 2 rows"),
    "corpus of a list": (lambda at: Corpus(TEXTS, csr(4, 2), LabelSet.of("ab")), "Documents"),
    "corpus with dense labels": (lambda at: Corpus(Documents.of("a"), np.ones((1, 1)), LabelSet.of(["x"])), ""),
    "corpus with a list of names": (lambda at: Corpus(Documents.of(["a"]), csr(1, 1), ["x"]), "LabelSet"),
    "label set of numbers": (lambda at: LabelSet.of([1, 2]), "label 0"),
    "label set of odd labels": (lambda at: LabelSet.of([Label("a", None)]), "label 0"),  # type: ignore[arg-type]
    # predict and rank
    "predict one text": (lambda at: at.model.predict("red fox"), r"predict\(\[text\]\)"),
    "predict bytes": (lambda at: at.model.predict(b"red fox"), r"in a list"),
    "predict nothing": (lambda at: at.model.predict(None), "list of strings"),
    "predict None": (lambda at: at.model.predict(["red fox", None]), "text 1 is None"),
    "predict a list of bytes": (lambda at: at.model.predict([b"red fox"]), "text 0 is b'red fox'"),
    "predict a table": (lambda at: at.model.predict(np.array([["red fox", "blue whale"]])), "list of strings"),
    "predict numbers": (lambda at: at.model.predict([1, 2]), "text 0 is 1"),
    "predict k 0": (lambda at: at.model.predict(TEXTS, k=0), "k = 0"),
    "predict k -1": (lambda at: at.model.predict(TEXTS, k=-1), "k = -1"),
    "predict k 2.5": (lambda at: at.model.predict(TEXTS, k=2.5), "k = 2.5"),
    "predict k '5'": (lambda at: at.model.predict(TEXTS, k="5"), "k = '5'"),
    "predict k True": (lambda at: at.model.predict(TEXTS, k=True), "k = True"),
    "predict above NaN": (lambda at: at.model.predict(TEXTS, threshold=NAN), "between 0 and 1"),
    "predict above 2": (lambda at: at.model.predict(TEXTS, threshold=2), "between 0 and 1"),
    "predict above -1": (lambda at: at.model.predict(TEXTS, threshold=-1), "between 0 and 1"),
    "predict above None": (lambda at: at.model.predict(TEXTS, threshold=None), "between 0 and 1"),
    "predict above True": (lambda at: at.model.predict(TEXTS, threshold=True), "between 0 and 1"),
    "predict above a word": (lambda at: at.model.predict(TEXTS, threshold="high"), "write a number, or auto"),
    "predict above auto": (lambda at: at.model.predict(TEXTS, threshold="auto"), "longtail calibrate"),
    "rank a list": (lambda at: at.model.rank(TEXTS), r"Documents\.of"),
    "rank a text": (lambda at: at.model.rank("red fox"), r"Documents\.of"),
    "rank a corpus": (lambda at: at.model.rank(at.train), r"\.documents"),
    "rank k 1.0": (lambda at: at.model.rank(at.train.documents, 1.0), "k = 1.0"),
    "rank k None": (lambda at: at.model.rank(at.train.documents, None), "k = None"),
    # evaluate
    "evaluate a path": (lambda at: longtail.evaluate("runs/x/model", at.splits.test), r"longtail\.open\(.*\)"),
    "evaluate a Path": (lambda at: longtail.evaluate(at.path, at.splits.test), r"longtail\.open\(.*\)"),
    "evaluate nothing": (lambda at: longtail.evaluate(None, at.splits.test), r"longtail\.open\("),
    "evaluate on splits": (lambda at: longtail.evaluate(at.model, at.splits), r"\.test"),
    "evaluate on a path": (lambda at: longtail.evaluate(at.model, "my-corpus"), r"longtail\.load\(.*\)\.test"),
    "evaluate on nothing": (lambda at: longtail.evaluate(at.model, None), r"longtail\.load\(path\)\.test"),
    "evaluate the other way round": (lambda at: longtail.evaluate(at.splits.test, at.model), r"longtail\.open\("),
    "evaluate at 0": (lambda at: longtail.evaluate(at.model, at.splits.test, ks=[0]), "k = 0"),
    "evaluate at a half": (lambda at: longtail.evaluate(at.model, at.splits.test, ks=[1, 2.5]), "k = 2.5"),
    "evaluate at True": (lambda at: longtail.evaluate(at.model, at.splits.test, ks=[True]), "k = True"),
    "evaluate at a bare 5": (lambda at: longtail.evaluate(at.model, at.splits.test, ks=5), "ks = 5"),
    "evaluate at a string": (lambda at: longtail.evaluate(at.model, at.splits.test, ks="1,3"), "ks = '1,3'"),
    "evaluate at nothing": (lambda at: longtail.evaluate(at.model, at.splits.test, ks=[]), "ks = "),
    "evaluate with a NaN": (lambda at: longtail.evaluate(at.model, at.splits.test, a=NAN), "propensity constants"),
    "evaluate with a word": (lambda at: longtail.evaluate(at.model, at.splits.test, b="x"), "propensity constants"),
    "evaluate with too much": (lambda at: longtail.evaluate(at.model, at.splits.test, a=1e300), "propensity constants"),
    # calibrate, weigh, combine
    "calibrate a path": (lambda at: longtail.calibrate("runs/x/model", at.splits.valid), r"longtail\.open\("),
    "calibrate by splits": (lambda at: longtail.calibrate(at.model, at.splits), r"\.valid"),
    "calibrate by a path": (lambda at: longtail.calibrate(at.model, "my-corpus"), r"longtail\.load\(.*\)\.valid"),
    "calibrate by test": (lambda at: longtail.calibrate(at.model, at.splits.test), "test split"),
    "calibrate k 0": (lambda at: longtail.calibrate(at.model, at.splits.valid, k=0), "k = 0"),
    "calibrate k '5'": (lambda at: longtail.calibrate(at.model, at.splits.valid, k="5"), "k = '5'"),
    "calibrate for 0.5": (lambda at: longtail.calibrate(at.model, at.splits.valid, threshold=0.5), "write f1"),
    "calibrate for f2": (lambda at: longtail.calibrate(at.model, at.splits.valid, threshold="f2"), "write f1"),
    "weigh paths": (lambda at: longtail.weigh(["a", "b"], at.splits.valid), r"longtail\.open\("),
    "weigh one model": (lambda at: longtail.weigh(at.model, at.splits.valid), "in a list"),
    "weigh by splits": (lambda at: longtail.weigh([at.model], at.splits), r"\.valid"),
    "weigh no models": (lambda at: longtail.weigh([], at.splits.valid), "at least one"),
    "weigh by a strange metric": (lambda at: longtail.weigh([at.model], at.splits.valid, "good"), "NAME@k"),
    "weigh by a number": (lambda at: longtail.weigh([at.model], at.splits.valid, 5), "NAME@k"),
    "combine paths": (lambda at: longtail.combine(["a", at.path]), r"longtail\.open\("),
    "combine one model": (lambda at: longtail.combine(at.model), "in a list"),
    "combine nothing": (lambda at: longtail.combine([]), "at least one"),
    "combine None": (lambda at: longtail.combine(None), "list"),
    "combine with NaN": (lambda at: longtail.combine([at.model] * 2, [1, NAN]), "weights"),
    "combine with infinity": (lambda at: longtail.combine([at.model] * 2, [1, INF]), "weights"),
    "combine with words": (lambda at: longtail.combine([at.model] * 2, ["1", "2"]), "weights"),
    "combine with a string": (lambda at: longtail.combine([at.model] * 2, "12"), "weights"),
    "combine with None": (lambda at: longtail.combine([at.model] * 2, [1, None]), "weights"),
    "combine with one number": (lambda at: longtail.combine([at.model] * 2, 2), "weights"),
    "combine with too few": (lambda at: longtail.combine([at.model] * 2, [1]), "weights"),
    "combine with huge ones": (lambda at: longtail.combine([at.model] * 2, [1e308, 1e308]), "weights"),
    # scikit-learn
    "sklearn fewer lists": (lambda at: classifier().fit(TEXTS, LISTS[:2]), "4, 2"),
    "sklearn fewer classes": (lambda at: classifier().fit(TEXTS, ["a", "b"]), "4, 2"),
    "sklearn one text": (lambda at: classifier().fit("red fox", ["a"]), "in a list"),
    "sklearn some None": (lambda at: classifier().fit(["red fox", None], LISTS[:2]), "row 1 of X"),
    "sklearn bytes": (lambda at: classifier().fit([b"red", b"fox"], ["a", "b"]), "row 0 of X"),
    "sklearn only None": (lambda at: classifier().fit([None, None], LISTS[:2]), "row 0 of X"),
    "sklearn labels mixed": (lambda at: classifier().fit(TEXTS[:2], [["fox"], ["whale", 3]]), "row 1 of y"),
    "sklearn k True": (lambda at: classifier(k=True).fit(TEXTS, LISTS), "k = True"),
    "sklearn k 0": (lambda at: classifier(k=0).fit(TEXTS, LISTS), "k = 0"),
    "sklearn threshold NaN": (lambda at: classifier(threshold=NAN).fit(TEXTS, LISTS), "between 0 and 1"),
    "sklearn threshold None": (lambda at: classifier(threshold=None).fit(TEXTS, LISTS), "between 0 and 1"),
    "sklearn method None": (lambda at: classifier(method=None).fit(TEXTS, LISTS), "method"),
    "sklearn a setting that is not": (lambda at: classifier(baem=3).fit(TEXTS, LISTS), "baem"),
    "sklearn topk 0": (lambda at: classifier().fit(TEXTS, LISTS).predict_topk(TEXTS, k=0), "k = 0"),
    "sklearn topk 2.5": (lambda at: classifier().fit(TEXTS, LISTS).predict_topk(TEXTS, k=2.5), "k = 2.5"),
    "sklearn score of fewer": (lambda at: classifier().fit(TEXTS, LISTS).score(TEXTS, LISTS[:2]), "4, 2"),
    "sklearn features for texts": (lambda at: classifier().fit(TEXTS, LISTS).predict(np.eye(2)), "learned from texts"),
    # features that are no numbers
    "fit on NaN features": (
        lambda at: longtail.fit("centroid", Corpus(features(NAN), csr(1, 1), LabelSet.of(["x"]))),
        "NaN or infinite",
    ),
    "rank infinite features": (
        lambda at: longtail.fit("centroid", Corpus(features(1), csr(1, 1), LabelSet.of(["x"]))).rank(features(INF)),
        "NaN or infinite",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_cannot_work_says_what_to_pass(name: str, known: Known):
    call, said = CALLS[name]
    with pytest.raises(LongtailError, match=f"(?s){said}"):
        call(known)
