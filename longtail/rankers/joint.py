"""Several rankings of a document and what is known of its candidate labels, made into one score.

    candidates = what the members rank first, together

    score = σ(b + f log n + Σ_m (u_m log s_m + v_m s_m + a_m [s_m = 0] + f_m log s_m · log n + r_m s_m / best s_m
                                 + c_m (t_m + x·text d_m + x·centroid e_m)),    c_m = −log(1 − s_m)

n is the number of training documents of the label, s_m the score of member m, and best s_m that of its first label.
Two more scores are known for every candidate, whoever proposed it: x·text and x·centroid, of the document's TF-IDF row
with that of the label's name and text, and with the sum of its documents' rows, of length 1; they have the columns of
members too.  The weights are those of a logistic regression on documents that no member learned from.

A mean of scores weighs a member equally for frequent and for rare labels; a column log s · log n does not.  Between
scores near 1, log s and s hardly differ, and the other columns would decide who is first; −log(1 − s) tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from longtail.corpus import PAD, Corpus, Documents
from longtail.features.bags import Bags
from longtail.features.described import Described
from longtail.features.labels import label_centroids, label_text_bags
from longtail.features.tfidf import TfidfOptions
from longtail.invariants import Array, agree
from longtail.rankers.sparse_linear import SparseLinear
from longtail.ranking import Ranking
from longtail.shortlist import Shortlist
from longtail.sparse import sp

OF_A_SCORE = 8  # columns: log s, s, s = 0, log s · log n, s / best s, c = −log(1 − s), c · text, c · centroid
LOG, SCORE, SURE = 0, 1, 5  # places of three of them
KNOWN = 2  # scores beside those of members: by text and by centroid
LEAST = np.float32(1e-6)  # a smaller score counts as this in a logarithm
DOUBT = np.float32(1e-4)  # and a smaller 1 − s as this
ROWS_AT_ONCE = 4096  # documents: bounds temporary memory


@dataclass(frozen=True)
class Known:
    """What is known of every label beside what members say: its text, its documents, and how many these are."""

    words: Bags
    texts: SparseLinear
    centroids: SparseLinear
    counts: Annotated[np.ndarray, Array("labels", np.float32, between=(0, np.inf))]

    def check(self) -> None:
        """All are of the same labels and the same words."""
        agree("labels", len(self.counts), len(self.texts.biases), len(self.centroids.biases))
        agree("words", self.words.n_features, self.texts.weights.shape[1], self.centroids.weights.shape[1])

    @classmethod
    def of(cls, train: Corpus) -> Known:
        """From training documents; features without words have no label texts."""
        words = Bags.fit(train.documents, TfidfOptions(sublinear=True))
        centroids = label_centroids(words.rows(train.documents), train.labels)
        texts = sp.csr_array(centroids.shape, dtype=np.float32)
        if words.tfidf is not None:
            texts = label_text_bags(words.tfidf, train.label_set)
        counts = np.bincount(train.labels.indices, minlength=train.n_labels).astype(np.float32)
        return cls(words, _rows(texts), _rows(centroids), counts)

    def scores(self, documents: Documents, labels: np.ndarray) -> list[np.ndarray]:
        """x·text and x·centroid of candidates (documents, width)."""
        read, asked = self.words.plain_rows(documents), Shortlist(labels, np.ones(labels.shape, np.float32))
        return [self.texts.margins(read, asked), self.centroids.margins(read, asked)]

    def with_labels(self, new: Described) -> Known:
        """With new labels, whose texts and examples are all that is known of them."""
        rows = new.directions(self.words.rows(new.documents))
        texts, centroids = (
            _rows(sp.csr_array(sp.vstack([each.weights, rows]))) for each in (self.texts, self.centroids)
        )
        counts = np.append(self.counts, np.maximum(new.examples, 1).astype(np.float32))
        return Known(self.words, texts, centroids, counts)


def _rows(matrix: sp.csr_array) -> SparseLinear:
    """Scalar products with rows: classifiers without a bias."""
    return SparseLinear(sp.csr_array(matrix, dtype=np.float32), np.zeros(matrix.shape[0], np.float32))


@dataclass(frozen=True)
class Joint:
    """One score of every candidate."""

    known: Known
    weights: Annotated[np.ndarray, Array("columns", np.float64)]
    bias: float

    def check(self) -> None:
        """Columns are those of whole scores, and one of the label."""
        agree("columns", len(self.weights), 1 + OF_A_SCORE * (self.n_members + KNOWN))

    @property
    def n_members(self) -> int:
        """How many members it has columns of."""
        return (len(self.weights) - 1) // OF_A_SCORE - KNOWN

    def rank(self, documents: Documents, rankings: Sequence[Ranking], k: int) -> Ranking:
        """The k best of all labels that members rank for each document."""
        starts = range(0, max(len(documents), 1), ROWS_AT_ONCE)
        if len(starts) == 1:
            return self._rank(documents, rankings, k)
        cut = [slice(start, start + ROWS_AT_ONCE) for start in starts]
        return Ranking.joined(self._rank(documents[rows], [part(each, rows) for each in rankings], k) for rows in cut)

    def _rank(self, documents: Documents, rankings: Sequence[Ranking], k: int) -> Ranking:
        labels, columns = evidence(self.known, documents, rankings)
        logits = np.full(labels.shape, -np.inf)
        logits[labels != PAD] = columns @ self.weights + self.bias
        scores = (1 / (1 + np.exp(-logits))).astype(np.float32)
        return Ranking.of_candidates(labels, scores, k)

    def of_members(self) -> np.ndarray:
        """What each member weighs in a logit, (members,): the weights of its score and its logarithms, 0 at least."""
        by_score = self.weights[1:].reshape(-1, OF_A_SCORE)[: self.n_members]
        return np.maximum(by_score[:, [LOG, SCORE, SURE]].sum(axis=1), 0)

    def with_labels(self, new: Described) -> Joint:
        """With new labels."""
        return replace(self, known=self.known.with_labels(new))


def part(ranking: Ranking, rows: slice | np.ndarray) -> Ranking:
    """Of some documents."""
    return Ranking(ranking.labels[rows], ranking.scores[rows])


def evidence(known: Known, documents: Documents, rankings: Sequence[Ranking]) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of each document (documents, width), and the columns of all that are no PAD (candidates, columns)."""
    labels = candidates(rankings)
    there, cosines = labels != PAD, known.scores(documents, labels)
    frequent, (text, centroid) = np.log1p(known.counts[labels[there]]), (each[there] for each in cosines)
    columns = [frequent]
    for given in [*(looked_up(ranking, labels) for ranking in rankings), *cosines]:
        scores, best = given[there], np.maximum(given.max(axis=1, keepdims=True, initial=0), LEAST)
        logs, sure = np.log(np.maximum(scores, LEAST)), -np.log(np.maximum(1 - scores, DOUBT))
        columns += [logs, scores, (scores <= 0).astype(np.float32), logs * frequent, (given / best)[there]]
        columns += [sure, sure * text, sure * centroid]
    return labels, np.stack(columns, axis=1)


def candidates(rankings: Sequence[Ranking]) -> np.ndarray:
    """All labels that are ranked for a document, each once and in order, (documents, width), PAD behind them."""
    every = np.sort(np.hstack([ranking.labels for ranking in rankings]), axis=1)
    again = np.zeros(every.shape, bool)
    again[:, 1:] = every[:, 1:] == every[:, :-1]
    every = np.where(again | (every == PAD), LAST, every)
    every.sort(axis=1)
    width = int((every != LAST).sum(axis=1).max(initial=1))
    return np.where(every == LAST, PAD, every)[:, :width].astype(np.int32)


LAST = np.iinfo(np.int32).max


def looked_up(ranking: Ranking, labels: np.ndarray) -> np.ndarray:
    """The scores of candidates (documents, width) in order; 0 where a label is not ranked."""
    rows = np.arange(len(labels), dtype=np.int64)[:, None] << 32
    order = np.argsort(ranking.labels, axis=1)
    ranked = (rows + np.take_along_axis(ranking.labels, order, axis=1)).ravel()
    scores = np.take_along_axis(ranking.scores, order, axis=1).ravel()
    places = np.minimum(np.searchsorted(ranked, (rows + labels).ravel()), len(ranked) - 1)
    found = (ranked[places] == (rows + labels).ravel()) & (labels.ravel() != PAD)
    return np.where(found, scores[places], np.float32(0)).reshape(labels.shape)
