"""How fast texts become TF-IDF rows, beside scikit-learn's TfidfVectorizer with the same tokens and the same result.

    python -m benchmarks.tfidf [CORPUS]        a name under LONGTAIL_DATA, or ../shared/data beside the project

Ours is `fit` and then `transform`, two passes over the texts; theirs is `fit_transform`.  Both start from texts in
memory: ours from mapped bytes, theirs from Python strings that were made before the clock started.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.machine import save
from longtail.corpus import Texts
from longtail.data.load import load
from longtail.features.tfidf import Tfidf, TfidfOptions

SHELF = Path(os.environ.get("LONGTAIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
ROUNDS = 2
CLOCKS = ("seconds", "processor")
SETTINGS = {
    "words": TfidfOptions(),
    "words and pairs": TfidfOptions(ngrams=2, min_df=2, sublinear=True),
}


def main(name: str = "eurlex57k") -> None:
    corpus = load(SHELF / name).train
    results: dict[str, Any] = {"corpus": name, "documents": len(corpus)}
    results["MB"] = round(int((corpus.texts.stops - corpus.texts.starts).sum()) / 1e6, 1)
    strings = list(corpus.texts)
    for title, options in SETTINGS.items():
        results[title] = compared(corpus.texts, strings, options)
        print(title, results[title], flush=True)
    results["one text"] = one_by_one(
        corpus.texts, {"short": list(corpus.label_set.names[:1000]), "long": strings[:1000]}
    )
    print("one text", results["one text"])
    results["load of the last 15 minutes"] = round(os.getloadavg()[2], 1)  # what else ran
    print(save("tfidf", results))


def compared(texts: Texts, strings: list[str], options: TfidfOptions) -> dict[str, Any]:
    """Seconds of wall clock and of processor, the best of some rounds; raises unless the matrices are equal."""
    ours(texts[:100], options, threads=1)  # compiles
    rounds = []
    for _ in range(ROUNDS):
        (tfidf, rows), one = timed(lambda: ours(texts, options, threads=1))
        (_, rows_of_two), two = timed(lambda: ours(texts, options, threads=2))
        (vectorizer, expected), theirs = timed(lambda: scikit_learn(strings, options))
        assert tfidf.vocabulary == list(vectorizer.get_feature_names_out())
        assert_equal(rows, expected)
        assert_equal(rows_of_two, expected)
        rounds.append({"ours, 1 thread": one, "ours, 2 threads": two, "scikit-learn": theirs})
    best = {who: {clock: min(r[who][clock] for r in rounds) for clock in CLOCKS} for who in rounds[0]}
    # Wall clocks mean little on a busy machine (see the load in the results); processor time can be compared anywhere.
    faster = {
        "1 thread, processor time": ratio(best, "ours, 1 thread", "processor"),
        "1 thread, wall clock": ratio(best, "ours, 1 thread", "seconds"),
        "2 threads, wall clock": ratio(best, "ours, 2 threads", "seconds"),
    }
    return {"terms": len(tfidf.vocabulary)} | best | {"times faster": faster}


def ratio(best: dict[str, dict[str, float]], who: str, clock: str) -> float:
    return round(best["scikit-learn"][clock] / best[who][clock], 1)


def ours(texts: Texts, options: TfidfOptions, threads: int) -> tuple[Tfidf, sp.csr_array]:
    tfidf = Tfidf.fit(texts, options, threads=threads)
    return tfidf, tfidf.transform(texts, threads=threads)


def scikit_learn(strings: list[str], options: TfidfOptions) -> tuple[TfidfVectorizer, sp.csr_array]:
    vectorizer = TfidfVectorizer(
        ngram_range=(1, options.ngrams),
        min_df=options.min_df,
        sublinear_tf=options.sublinear,
        dtype=np.float32,
    )
    return vectorizer, sp.csr_array(vectorizer.fit_transform(strings))


def assert_equal(rows: sp.csr_array, expected: sp.csr_array) -> None:
    expected.sort_indices()
    assert np.array_equal(rows.indptr, expected.indptr)
    assert np.array_equal(rows.indices, expected.indices)
    assert np.abs(rows.data - expected.data).max() < 1e-6


def one_by_one(texts: Texts, kinds: dict[str, list[str]]) -> dict[str, Any]:
    """Median milliseconds from one string to its row."""
    tfidf = Tfidf.fit(texts)
    vectorizer = TfidfVectorizer(vocabulary=tfidf.vocabulary)
    vectorizer.idf_ = tfidf.idf.astype(np.float64)
    return {
        kind: {
            "ours, ms": latency(lambda text: tfidf.transform(Texts.of([text])), strings),
            "scikit-learn, ms": latency(lambda text: vectorizer.transform([text]), strings),
        }
        for kind, strings in kinds.items()
    }


def latency(answer: Callable[[str], object], strings: list[str]) -> float:
    answer(strings[0])
    times = []
    for text in strings:
        clock = time.perf_counter()
        answer(text)
        times.append(time.perf_counter() - clock)
    return round(1000 * median(times), 4)


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    seconds, processor = time.perf_counter() - clock, time.process_time() - processor
    return result, dict(zip(CLOCKS, (round(seconds, 2), round(processor, 2))))


if __name__ == "__main__":
    main(*sys.argv[1:])
