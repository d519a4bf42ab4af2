"""Models of any number of labels, to measure what many labels cost: a trained DECAF, and rows drawn around its own.

What is real: words and pieces of words, their trained vectors and the trained block; the queries, which are test
documents of the demo corpus; and the rows of its 18,909 labels in their clusters, of which some one behind the other
are taken as one of about 170 labels.  Trained vectors have 256 numbers.  For 512, each of them is there twice, and each
number of a row is divided in two parts at random, so that all products stay what they are.

What is drawn: from 18,909 labels on, more rows around every one.  A drawn row is a trained one plus a share of the
difference of two others of its cluster, so that rows differ inside a cluster in the directions in which trained ones
do.  How large the share is follows from the trained rows too: the distance of a row to the nearest other one falls with
the number of labels, by a power that samples of the trained rows show, and drawn rows follow that power (`nearness`).
The rows of a trained cluster are then split like those of a training, by balanced 2-means.

A cluster's row is fitted and not trained: ridge regression of the largest logit inside it on training documents, as
coarse rows are (longtail/rankers/coarse.py).  In the trained model itself such rows find more than its own, with a beam
of 50 of 8,192 clusters 97 % of the exact top 10 instead of 94 %: `python -m benchmarks.million drawn` compares them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

import longtail
from longtail.corpus import Documents, Label, LabelSet
from longtail.data.load import load
from longtail.encoders.bag import GatedBlock, TokenBag
from longtail.index.balanced import balanced_clusters
from longtail.index.clusters import Clusters
from longtail.methods.decaf.model import Decaf, Instance, Scorer
from longtail.precision import stored_as
from longtail.predict.export import in_precision
from longtail.predict.predictor import About, Predictor
from longtail.rankers.label_rows import LabelRows

TRAINED = Path("runs/demo/model")  # what `longtail demo` makes
DIM, A_CLUSTER = 512, 170  # numbers a vector, labels a cluster
FITTED = 2000  # training documents that cluster rows are fitted on
RIDGE = 1e-3


class Trained:
    """The demo's DECAF: 18,909 labels, and the vectors of texts."""

    def __init__(self) -> None:
        self.corpus, self.model = load("demo"), longtail.open(TRAINED)
        self.instance: Instance = self.model.model.instances[0]  # type: ignore[attr-defined]
        self.encoder: TokenBag = self.instance.ranker.encoder  # type: ignore[assignment]
        self.rows, self.biases = np.asarray(self.instance.ranker.rows.rows), self.instance.ranker.rows.biases
        found = self.instance.ranker.rows.clusters
        assert found is not None
        # Clusters come from halving, so that some one behind the other are a larger one.
        together = max(1, len(found) * A_CLUSTER // len(self.rows) // 2 * 2)
        self.clusters = Clusters(found.labels, np.append(found.starts[:-1:together], found.starts[-1]))

    @cached_property
    def fitting(self) -> Fitting:
        """What cluster rows are fitted on."""
        some = self.some(self.corpus.train.documents, FITTED)
        return Fitting(self.encoder.encode(self.encoder.read(some)))

    @staticmethod
    def some(documents: Documents, count: int, seed: int = 0) -> Documents:
        return documents[np.sort(np.random.default_rng(seed).permutation(len(documents))[:count])]

    def queries(self, count: int, seed: int = 3) -> list[str]:
        """Texts of test documents."""
        chosen = self.some(self.corpus.test.documents, count, seed)  # type: ignore[union-attr]
        assert chosen.texts is not None
        return list(chosen.texts)


class Fitting:
    """Ridge regression on document vectors, prepared once for many targets."""

    def __init__(self, vectors: np.ndarray):
        self.vectors, ones = vectors, np.ones(len(vectors))
        inputs = np.column_stack([vectors, ones]).astype(np.float64)
        penalty = RIDGE * (inputs[:, :-1] ** 2).sum() / vectors.shape[1]
        matrix = inputs.T @ inputs + np.diag([*[penalty] * vectors.shape[1], 1e-9])
        self.solution = np.linalg.solve(matrix, inputs.T).astype(np.float32)

    def largest_logits(self, rows: np.ndarray, biases: np.ndarray, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Rows and biases of clusters: the largest logit inside, as a linear function of the vector."""
        logits = self.vectors @ rows.T + biases
        weights = (self.solution @ np.maximum.reduceat(logits, np.cumsum([0, *sizes[:-1]]), axis=1)).T
        return np.ascontiguousarray(weights[:, :-1]), np.ascontiguousarray(weights[:, -1])


# -- rows --------------------------------------------------------------------------------------------------------------


@dataclass
class Group:
    """The labels that are drawn around those of one trained cluster, in clusters."""

    rows: np.ndarray
    biases: np.ndarray
    origins: np.ndarray  # of each row, the trained row that it was drawn around
    sizes: list[int]  # of its clusters


def drawn_group(trained: Trained, cluster: int, count: int, share: float) -> Group:
    """So many labels around those of one trained cluster; the first of them are the trained ones."""
    rng, starts = np.random.default_rng([cluster, 5]), trained.clusters.starts
    place = starts[cluster] + np.arange(count) % (starts[cluster + 1] - starts[cluster])
    one, other = rng.integers(starts[cluster], starts[cluster + 1], (2, count))
    new = np.arange(count) >= starts[cluster + 1] - starts[cluster]
    shares = np.float32(share) * new[:, None].astype(np.float32)
    rows = trained.rows[place] + shares * (trained.rows[one] - trained.rows[other])
    split = balanced_clusters(rows, A_CLUSTER, seed=cluster)
    order = split.labels
    return Group(rows[order], trained.biases[place[order]], place[order], np.diff(split.starts).tolist())


def counts_of(trained: Trained, n_labels: int) -> np.ndarray:
    """How many labels are drawn around each trained cluster; of small models some clusters are left out."""
    sizes = np.diff(trained.clusters.starts)
    if n_labels < sizes.sum():
        chosen = np.cumsum(sizes[np.random.default_rng(0).permutation(len(sizes))]) <= n_labels
        return np.where(chosen[np.argsort(np.random.default_rng(0).permutation(len(sizes)))], sizes, 0)
    ends = np.cumsum(sizes) * n_labels // sizes.sum()
    return np.diff(ends, prepend=0)


def nearness(trained: Trained) -> tuple[float, float]:
    """The mean distance of a trained row to its nearest other one, and the power of the number of rows it falls by."""
    rows, rng, sizes = trained.rows, np.random.default_rng(0), (1, 4, 16)
    distances = [nearest(rows[np.sort(rng.permutation(len(rows))[: len(rows) // part])]) for part in sizes]
    power = np.polyfit(-np.log(sizes), np.log(distances), 1)[0]
    return distances[0], float(power)


def nearest(rows: np.ndarray, asked: int = 500) -> float:
    """The mean distance of some rows to the nearest other one."""
    some = rows[np.linspace(0, len(rows) - 1, min(asked, len(rows))).astype(int)]
    squares = (some**2).sum(1)[:, None] - 2 * some @ rows.T + (rows**2).sum(1)
    squares[np.arange(len(some)), np.linspace(0, len(rows) - 1, len(some)).astype(int)] = np.inf
    return float(np.sqrt(np.maximum(squares.min(axis=1), 0)).mean())


def share_of(trained: Trained, n_labels: int, tried: int = 8) -> float:
    """The share of a difference that rows are drawn at, so that the nearest ones are as near as they should be."""
    distance, power = nearness(trained)
    wanted = distance * (n_labels / len(trained.rows)) ** power
    counts = counts_of(trained, n_labels)
    low, high = 0.0, 2.0
    for _ in range(8):
        share = (low + high) / 2
        found = [
            nearest(drawn_group(trained, at, counts[at], share).rows, 100)
            for at in range(0, len(counts), len(counts) // tried)
        ]
        low, high = (share, high) if np.mean(found) < wanted else (low, share)
    return (low + high) / 2


# -- a model -----------------------------------------------------------------------------------------------------------


def drawn_model(trained: Trained, n_labels: int, beam: int) -> Predictor:
    """A DECAF of so many labels in int8, its cluster rows in one level."""
    counts = counts_of(trained, n_labels)
    share = share_of(trained, n_labels) if n_labels > len(trained.rows) else 0.0
    n = int(counts.sum())
    codes, scales, biases = np.empty((n, DIM), np.int8), np.empty(n, np.float32), np.empty(n, np.float32)
    origins, sizes, heads, first = np.empty(n, np.int64), [], [], 0
    for cluster in np.flatnonzero(counts):
        group = drawn_group(trained, cluster, counts[cluster], share)
        part = slice(first, first + len(group.rows))
        codes[part], scales[part] = stored_as("int8", wide(group.rows))  # type: ignore[assignment]
        biases[part], origins[part] = group.biases, group.origins
        heads.append(trained.fitting.largest_logits(group.rows, group.biases, group.sizes))
        sizes += group.sizes
        first = part.stop
    starts = np.cumsum([0, *sizes]).astype(np.int64)
    clusters = Clusters(np.random.default_rng(2).permutation(n).astype(np.int32), starts)
    of_clusters = LabelRows(*(np.concatenate(part) for part in zip(*heads)))
    of_clusters = replace(of_clusters, rows=wide(of_clusters.rows))
    encoder = wide_encoder(trained.encoder)
    scorers = Scorer(encoder, of_clusters), Scorer(encoder, LabelRows(codes, biases, clusters, scales))
    model = Decaf([Instance(*scorers, min(beam, len(of_clusters)), trained.instance.belief_weight)])
    about = About("decaf", {}, {"name": "drawn", "fingerprint": "none", "documents": 1, "labels": n})
    whole = Predictor(model, names_of(trained, clusters, origins), np.ones(n, np.int64), about)
    return in_precision(whole, "int8")


def wide(rows: np.ndarray) -> np.ndarray:
    """Rows of twice as many numbers, the two halves of each trained number apart: ⟨wide(w), (x, x)⟩ = ⟨w, x⟩."""
    part = np.random.default_rng(7).uniform(0.25, 0.75, rows.shape).astype(np.float32)
    return np.hstack([part * rows, (1 - part) * rows])


def wide_encoder(encoder: TokenBag) -> TokenBag:
    """The encoder with every number of a vector twice."""
    block = encoder.block
    assert isinstance(block, GatedBlock)
    twice = GatedBlock(
        np.kron(np.eye(2, dtype=np.float32), block.residual), np.tile(block.offset, 2), np.tile(block.identity, 2)
    )
    return replace(encoder, vectors=np.hstack([encoder.vectors] * 2), block=twice)


# -- names -------------------------------------------------------------------------------------------------------------


def names_of(trained: Trained, clusters: Clusters, origins: np.ndarray) -> LabelSet:
    """Names of the labels that rows were drawn around, each with a word of its own."""
    words = trained.encoder.reader.words.tfidf.vocabulary  # type: ignore[union-attr]
    old, place = trained.model.labels, trained.clusters.labels
    drawn = (
        Label(str(at), f"{old[int(place[origins[row]])].name} {words[at * 31 % len(words)]}")
        for at, row in enumerate(clusters.places.tolist())
    )
    return LabelSet.of(drawn)


def with_fitted_clusters(trained: Trained) -> Predictor:
    """The trained model with fitted cluster rows instead of its own."""
    labels = trained.instance.ranker
    sizes = np.diff(labels.rows.clusters.starts).tolist()  # type: ignore[union-attr]
    heads = LabelRows(*trained.fitting.largest_logits(trained.rows, trained.biases, sizes))
    one = replace(trained.instance, shortlister=Scorer(trained.encoder, heads))
    return replace(trained.model, model=Decaf([one]))
