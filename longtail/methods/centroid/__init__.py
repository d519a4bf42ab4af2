"""Centroid: the labels whose documents, added up, use a document's words most alike.

Rocchio's classifier: no training but counting, and a floor for everything else.  Rare labels fare well here, for
one document is enough to be found by.

    document --TF-IDF--> x        label l --> c_l = sum of its documents' x, of length 1        score = x·c_l
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
import scipy.sparse as sp

from longtail.config import setting
from longtail.corpus import Corpus, Documents, LabelSet
from longtail.features.bags import Bags, features_expected
from longtail.features.described import Described
from longtail.features.labels import label_centroids, label_features, label_text_bags
from longtail.features.spans import ReadText
from longtail.features.tfidf import TfidfOptions
from longtail.invariants import Array, agree, check_indices
from longtail.kernels.entries import entries
from longtail.kernels.nearest import nearest
from longtail.rankers.frequent import label_shares, where_silent, without
from longtail.ranking import Ranking
from longtail.reasons import Reasons, nothing_proposed
from longtail.sparse import rows_of
from longtail.train.need import Need

if TYPE_CHECKING:
    from longtail.train.run import Run

CPU_ONLY = True  # nothing here learns with torch


@dataclass(frozen=True)
class Config:
    """Nothing here comes from a paper: the method is older than its settings."""

    words: TfidfOptions = setting(TfidfOptions(sublinear=True), "how texts become features")
    label_text: bool = setting(True, "a label without documents is found by the words of its name and text")
    seed: int = setting(0, "changes nothing: counting needs no chance")


@dataclass(frozen=True)
class Centroids:
    """Labels by feature: an inverted index of the centroids."""

    # Feature f has weights[starts[f] : starts[f + 1]].
    starts: Annotated[np.ndarray, Array("features+1", np.int64, starts="weights")]
    labels: Annotated[np.ndarray, Array("weights", np.int32)]
    weights: Annotated[np.ndarray, Array("weights", np.float32)]

    def with_more(self, rows: sp.csr_array, first: int) -> Centroids:
        """With labels numbered from `first`, behind the others of each feature."""
        new = rows.tocsc()
        counts = np.diff(new.indptr)
        at = np.repeat(self.starts[1:], counts)
        labels = np.insert(self.labels, at, (first + new.indices).astype(np.int32))
        return Centroids(self.starts + np.append(0, np.cumsum(counts)), labels, np.insert(self.weights, at, new.data))

    def without(self, labels: np.ndarray) -> Centroids:
        """Without these labels, which no document is near to any more."""
        kept = ~np.isin(self.labels, labels)
        return Centroids(np.append(0, np.cumsum(kept))[self.starts], self.labels[kept], self.weights[kept])


@dataclass(frozen=True)
class Centroid:
    """Nearest centroids by cosine; a document like no label gets the most frequent ones."""

    bags: Bags
    centroids: Centroids
    shares: Annotated[np.ndarray, Array("labels", np.float32)]  # the share of training documents that carry the label

    def check(self) -> None:
        """Every feature has its run of weights, and these are of labels."""
        agree("features", self.bags.n_features, len(self.centroids.starts) - 1)
        check_indices("centroids.labels", self.centroids.labels, self.n_labels)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.shares)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k nearest labels of each document; labels that share no word with it are left out."""
        features = self.bags.rows(documents)
        index = self.centroids.starts, self.centroids.labels, self.centroids.weights
        nearest_labels = Ranking(*nearest(rows_of(features), index, len(self.shares), k))
        return where_silent(features, self.shares, nearest_labels)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What the words of one document add to its cosine with each label's centroid."""
        read = ReadText.of(self.bags, documents)
        index = self.centroids.starts, self.centroids.labels, self.centroids.weights
        return nothing_proposed(read.explained(entries(index, read.columns, labels).T, np.zeros(len(labels))))

    def with_labels(self, new: Described) -> Centroid:
        """With new labels, whose centroids are the sums of their texts."""
        rows = new.directions(self.bags.rows(new.documents))
        shares = np.append(self.shares, np.zeros(len(new), np.float32))
        return replace(self, centroids=self.centroids.with_more(rows, self.n_labels), shares=shares)

    def without_labels(self, labels: np.ndarray) -> Centroid:
        """With labels that are ranked behind all others, if at all."""
        return replace(self, centroids=self.centroids.without(labels), shares=without(self.shares, labels))


def fit(corpus: Corpus, config: Config, run: Run) -> Centroid:
    """Words, features, centroids."""
    bags = run.stage("words", Bags.fit, corpus.documents, config.words)
    features = run.stage("features", bags.rows, corpus.documents)
    label_set = corpus.label_set if config.label_text else None
    centroids = run.stage("centroids", centroids_of, features, corpus.labels, bags, label_set)
    return Centroid(bags, centroids, label_shares(corpus.labels))


def centroids_of(features: sp.csr_array, labels: sp.csr_array, bags: Bags, label_set: LabelSet | None) -> Centroids:
    """Every label's documents added up; where it has none, the words of the label itself."""
    centroids = label_centroids(features, labels)
    if label_set is not None and bags.tfidf is not None:
        centroids = label_features(centroids, label_text_bags(bags.tfidf, label_set))
    return Centroids(*rows_of(centroids.T.tocsr()))


PROGRAM = 250_000_000  # bytes before any document is read: interpreter, libraries, compiled code
WORDS = 4000  # different words in the documents of one label, however many they are


def need(corpus: Corpus, config: Config) -> Need:
    """Estimates from counts alone, checked against measured runs."""
    entries = features_expected(corpus.documents, config.words)
    if corpus.documents.texts is None:
        parameters = 1 + weights_expected(corpus.documents.features, corpus.labels)
    else:
        # Half of what a label's documents say they say together.
        parameters = 1 + min(entries * corpus.labels.nnz // len(corpus) // 2, WORDS * corpus.n_labels)
    return Need(parameters, memory=PROGRAM + 24 * entries + 32 * parameters, disk=8 * entries + 16 * parameters)


SAMPLED = 20  # labels whose features are counted to estimate those of all


def weights_expected(features: sp.csr_array, labels: sp.csr_array) -> int:
    """Stored entries of all centroids: documents of one label share features, and how many is seen in a sample.

    A label has at most as many features as its documents have entries; the labels of the sample are drawn by that.
    """
    by_label = sp.csr_array(labels.T, dtype=np.float64)
    most = np.minimum(by_label @ np.diff(features.indptr), features.shape[1])
    if most.sum() == 0:
        return 0
    drawn = np.random.default_rng(0).choice(len(most), SAMPLED, p=most / most.sum())
    share = np.mean([len(np.unique(features[by_label[[label]].indices].indices)) / most[label] for label in drawn])
    return int(share * most.sum())
