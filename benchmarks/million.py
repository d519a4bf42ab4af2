"""A model of a million labels: file size, memory, time to open, time of one text, and what the shortcuts miss.

    python -m benchmarks.million [LABELS]          1,300,000 labels of 512 numbers in int8 unless told
    python -m benchmarks.million curve             10³ … 3·10⁶ labels, and a plot of them

The model is a DECAF whose numbers are drawn and not trained, saved and opened like any other.  What is drawn has the
structure of a real one.  Words, pieces of words and their company are those of the demo corpus.  A label has some words
of a definition there, which the labels of its cluster share, and some of its own; its row is the sum of their vectors,
and noise.  Queries are words of labels with some left out and others put in.

Exact means: all clusters opened, so all labels scored, by the same int8 rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.machine import RESULTS, earlier, save
from longtail.corpus import Documents, Label, LabelSet, Texts
from longtail.data.load import load
from longtail.encoders.bag import GatedBlock, TokenBag
from longtail.features.reading import Reader
from longtail.features.tfidf import TfidfOptions
from longtail.index.clusters import Clusters
from longtail.kernels.bag import bag_sums
from longtail.methods.decaf.model import Decaf, Instance, Scorer
from longtail.precision import stored_as
from longtail.predict.export import in_precision, in_two_levels
from longtail.predict.predictor import About, Predictor
from longtail.rankers.label_rows import LabelRows

DIM, A_CLUSTER, BEAM = 512, 40, 50  # numbers a vector, labels a cluster, clusters opened
SHARED, OWN = 4, 4  # words of a label's text that its cluster shares, and that it has alone
QUERIES, JUDGED = 3000, 200  # texts that are timed, and those that are also answered exactly
K = 10
OWN_SHARE = 0.3  # of a token's vector that no other token shares
CURVE = (1_000, 10_000, 100_000, 1_000_000, 3_000_000)


# -- a model ---------------------------------------------------------------------------------------------------------


class Drawn:
    """Words of labels and texts of queries."""

    def __init__(self, n_labels: int):
        self.reader, self.definitions, self.frequencies, self.idf, self.encoder = demo_words()
        self.words = np.array(self.reader.words.tfidf.vocabulary)  # type: ignore[union-attr]
        self.n_labels, self.n_clusters = n_labels, max(1, n_labels // A_CLUSTER)
        self.cluster_of = np.arange(n_labels) * self.n_clusters // n_labels
        self.own = np.random.default_rng(1).choice(len(self.words), (1 << 16, OWN - 1), p=self.frequencies)

    def words_of(self, labels: np.ndarray) -> np.ndarray:
        """Columns of the words of labels: those of their clusters' definitions, some frequent ones, and a rare one."""
        shared = self.definitions[self.cluster_of[labels] * 7919 % len(self.definitions)]
        own = self.own[(labels * 2654435761 >> 7) % len(self.own)]
        return np.column_stack([shared, own, labels * 31 % len(self.words)])

    def vectors(self, labels: np.ndarray) -> np.ndarray:
        """ReLU of the bags of labels, (labels, DIM): what the encoder makes of them but for its block."""
        columns = self.words_of(labels).astype(np.int32)
        weights = unit(self.idf[columns])
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        return np.maximum(bag_sums((starts, columns.ravel(), weights.ravel()), self.encoder.vectors), 0)

    def queries(self, count: int, seed: int, kept: float = 0.7) -> list[str]:
        """Texts of labels of which a share of the words is kept, and others come in for the rest."""
        rng = np.random.default_rng(seed)
        words = self.words_of(rng.integers(0, self.n_labels, count))
        others = rng.choice(len(self.words), words.shape, p=self.frequencies)
        return [" ".join(text) for text in self.words[np.where(rng.random(words.shape) < kept, words, others)]]


@cache
def demo_words() -> tuple[Reader, np.ndarray, np.ndarray, np.ndarray, TokenBag]:
    """A reader of the demo's definitions, their words, the share of each word and its weight, and an encoder.

    Token vectors come from the company that tokens keep, as trained ones do: AᵀA times random numbers, A the bags.
    """
    train, rng = load("demo").train, np.random.default_rng(0)
    reader = Reader.fit(train.documents, TfidfOptions(), 8000)
    bags, (starts, columns, _) = reader.bags(train.documents), reader.words.tfidf.rows(train.texts)  # type: ignore[union-attr]
    counts = 1.0 + np.bincount(columns, minlength=reader.words.n_features)
    own = unit(rng.standard_normal((reader.n_tokens, DIM)).astype(np.float32))
    vectors = unit(np.asarray(bags.T @ (bags @ own), np.float32)) + OWN_SHARE * own
    residual = 0.5 * np.eye(DIM, dtype=np.float32) + 0.02 * rng.standard_normal((DIM, DIM)).astype(np.float32)
    block = GatedBlock(residual, np.zeros(DIM, np.float32), np.full(DIM, 0.5, np.float32))
    encoder = TokenBag(reader, vectors, block)
    lengths = np.diff(starts)[np.diff(starts) > 0]
    places = starts[:-1][np.diff(starts) > 0][:, None] + np.arange(SHARED) % lengths[:, None]
    return reader, columns[places], counts / counts.sum(), np.log(len(train) / counts).astype(np.float32), encoder


def drawn_model(drawn: Drawn) -> Predictor:
    """A DECAF in int8 with two levels of clusters, whatever pays at its size."""
    n, rng = drawn.n_labels, np.random.default_rng(2)
    mean = drawn.vectors(rng.integers(0, n, 2000)).mean(axis=0)
    noise = 0.3 * unit(rng.standard_normal((CHUNK, DIM)).astype(np.float32))
    codes, scales = np.empty((n, DIM), np.int8), np.empty(n, np.float32)
    sums = np.zeros((drawn.n_clusters, DIM), np.float32)
    for first in range(0, n, CHUNK):
        labels = np.arange(first, min(first + CHUNK, n))
        rows = 8 * unit(
            unit(drawn.vectors(labels) - mean) + noise[: len(labels), np.roll(np.arange(DIM), first // CHUNK)]
        )
        inside = np.flatnonzero(np.diff(drawn.cluster_of[labels], prepend=-1))
        sums[drawn.cluster_of[labels[inside]]] += np.add.reduceat(rows, inside)
        codes[labels], scales[labels] = stored_as("int8", rows)  # type: ignore[assignment]
    starts = np.searchsorted(drawn.cluster_of, np.arange(drawn.n_clusters + 1)).astype(np.int64)
    clusters = Clusters(rng.permutation(n).astype(np.int32), starts)
    labels_ = LabelRows(codes, np.full(n, -4, np.float32), clusters, scales)
    heads = LabelRows(8 * unit(sums), np.full(drawn.n_clusters, -4, np.float32))
    instance = Instance(Scorer(drawn.encoder, heads), Scorer(drawn.encoder, labels_), min(BEAM, drawn.n_clusters), 0.25)
    names = LabelSet.of(Label(str(at), f"label {at}") for at in range(n))
    about = About("decaf", {}, {"name": "drawn", "fingerprint": "none", "documents": 1, "labels": n})
    whole = Predictor(Decaf([instance]), names, np.ones(n, np.int64), about)
    sample = Documents(Texts.of(drawn.queries(8000, seed=4)))
    return in_precision(in_two_levels(in_precision(whole, "int8"), sample), "int8")


CHUNK = 1 << 14


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


# -- measuring, in a process of its own --------------------------------------------------------------------------------


def measured(place: Path) -> dict:
    """Open the model there and ask it, on one core; run as a program, so that memory is this model's alone."""
    import longtail

    texts = json.loads((place / "queries.json").read_text("utf-8"))
    longtail.open(place / "small").predict(texts[:2], K)  # compiles, and brings in what is imported when first used
    before, started, used = anonymous(), time.perf_counter(), time.process_time()
    model = longtail.open(place / "model")
    opened = {"open s": time.perf_counter() - started, "open CPU s": time.process_time() - used}
    opened |= {"MB after opening": (anonymous() - before) / 1e6}
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    for text in texts[-200:]:
        model.predict([text], K)
    return {name: round(value, 3) for name, value in opened.items()} | latencies(model, texts)


def encoder_of(model: Predictor) -> TokenBag:
    """What reads texts in a drawn model."""
    return model.model.instances[0].ranker.encoder  # type: ignore[attr-defined]


def latencies(model: Predictor, texts: list[str]) -> dict:
    """Of one text at a time: wall time, and processor time, which other programs disturb less."""
    whole = timed(lambda text: model.predict([text], K), texts)
    bags = [encoder_of(model).read(Documents(Texts.of([text]))) for text in texts[:1000]]  # type: ignore[attr-defined]
    dense = timed(lambda bag: model.model.instances[0].rank(bag, K), bags)  # type: ignore[attr-defined]
    shown = {"text to names": whole, "bag to ranking": dense}
    answer = {
        f"{what}, p{share} {kind} ms": round(float(np.percentile(times[:, at], share)), 3)
        for what, times in shown.items() for share in (50, 99) for at, kind in enumerate(("wall", "CPU"))
    }  # fmt: skip
    return answer | recall(model, texts[:JUDGED])


def timed(work: Callable, asked: list) -> np.ndarray:
    """Milliseconds of each, (asked, 2): wall time and processor time."""
    times = np.empty((len(asked), 2))
    for at, one in enumerate(asked):
        wall, cpu = time.perf_counter(), time.thread_time()
        work(one)
        times[at] = time.perf_counter() - wall, time.thread_time() - cpu
    return 1000 * times


def recall(model: Predictor, texts: list[str]) -> dict:
    """The share of the exact top K that is found."""
    one = model.model.instances[0]  # type: ignore[attr-defined]
    heads = one.shortlister.rows
    if heads.coarse is not None:
        heads = replace(heads, coarse=replace(heads.coarse, probes=len(heads.clusters)))
    exact = replace(one, shortlister=replace(one.shortlister, rows=heads), beam=len(heads))
    bags = encoder_of(model).read(Documents(Texts.of(texts)))  # type: ignore[attr-defined]
    pairs = zip(exact.rank(bags, K).labels, one.rank(bags, K).labels)
    found = np.mean([len(set(all_) & set(some)) / min(K, len(model.labels)) for all_, some in pairs])
    return {f"of the exact top {K}, %": round(100 * float(found), 2)}


def anonymous() -> int:
    """Bytes of memory that are not pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


# -- the program -------------------------------------------------------------------------------------------------------


def one_size(labels: int) -> dict:
    with tempfile.TemporaryDirectory() as place:
        drawn = Drawn(labels)
        model = drawn_model(drawn)
        model.save(Path(place) / "model")
        drawn_model(Drawn(2000)).save(Path(place) / "small")
        queries = drawn.queries(QUERIES, seed=3)
        (Path(place) / "queries.json").write_text(json.dumps(queries), "utf-8")
        files = {path.name: path.stat().st_size for path in (Path(place) / "model").iterdir()}
        heads = model.model.instances[0].shortlister.rows  # type: ignore[attr-defined]
        about = {"labels": labels, "clusters": len(heads), "weights MB": round(files["weights.safetensors"] / 1e6, 1)}
        about |= {"directory MB": round(sum(files.values()) / 1e6, 1)}
        about |= {"probes": None if heads.coarse is None else heads.coarse.probes}
        del model
        asked = [sys.executable, "-m", "benchmarks.million", "measure", place]
        return about | json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)


def main(words: list[str]) -> None:
    if words[:1] == ["measure"]:
        print(json.dumps(measured(Path(words[1]))))
        return
    results = earlier("million")
    for labels in CURVE if words == ["curve"] else [int(words[0]) if words else 1_300_000]:
        results[str(labels)] = one_size(labels)
        print(results[str(labels)], flush=True)
        print(save("million", results))
    if len(results) > 2:
        plot(results)


def plot(results: dict) -> None:
    """Time, memory and file size against the number of labels."""
    import matplotlib.pyplot as plt

    sizes = sorted(results, key=int)
    labels = [int(size) for size in sizes]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    times = tuple(f"{what}, p50 CPU ms" for what in ("text to names", "bag to ranking"))
    shown = {
        "one text, ms": ("text to names, p50 wall ms", *times),
        "memory beyond the page cache, MB": ("MB after opening",),
        "files, MB": ("directory MB",),
    }
    for axis, (title, names) in zip(axes, shown.items()):
        for name in names:
            axis.plot(labels, [results[size][name] for size in sizes], marker="o", label=name)
        axis.set(xscale="log", yscale="log", title=title, xlabel="labels")
        axis.legend()
        axis.grid(alpha=0.3)
    figure.savefig(RESULTS / "million.png", dpi=110)


if __name__ == "__main__":
    main(sys.argv[1:])
