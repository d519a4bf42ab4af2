"""Metrics of a Ranking, as defined in the extreme classification literature (docs/metrics.md).

For N documents, Y_i the true labels of document i, T_i(k) the first k labels of its ranking, r_i(l) = 1, 2, … the
rank of label l there, and w_l the label's inverse propensity:

    P@k         1/N Σ_i Σ_{l ∈ T_i(k) ∩ Y_i}  1 / k
    nDCG@k      1/N Σ_i Σ_{l ∈ T_i(k) ∩ Y_i}  1 / log2(r_i(l) + 1)  /  Σ_{r = 1 … min(k, |Y_i|)} 1 / log2(r + 1)
    R@k         1/N Σ_i Σ_{l ∈ T_i(k) ∩ Y_i}  1 / |Y_i|
    PSP@k       as P, each summand times w_l, divided by the same sum for the best possible ranking:
                every document's true labels by falling w_l.  A ratio of means, not a mean of ratios.
    PSnDCG@k    as nDCG, likewise
    PSR@k       as R, likewise
    coverage@k  |∪_i T_i(k) ∩ Y_i|  /  |∪_i Y_i|: as R, averaged over labels instead of documents

So every metric is a sum over the true pairs (i, l) of a gain that depends on the label's rank, on |Y_i| and on k.
The code below finds the rank of every true pair, then adds gains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from longtail.corpus import PAD
from longtail.errors import ConfigError, CorpusError, RankingError
from longtail.judge.frequencies import N_DECILES, Frequencies, binary_of, inverse_propensity
from longtail.judge.gains import METRICS, Metric, Pairs, recall
from longtail.kernels.hits import FILTERED, NOWHERE, SOUND, find_places
from longtail.progress import steps
from longtail.ranking import Ranking
from longtail.sparse import sp

if TYPE_CHECKING:
    from longtail.judge.calibration import Reliability, Threshold

RECALL_DEPTHS = (10, 20, 50, 100)  # extra cut-offs of recall, as far as the ranking reaches
ROWS_AT_ONCE = 1 << 14  # bounds temporary memory, and fits the CPU cache


# -- the result ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decile:
    """Metrics of a tenth of the labels: decile 1 holds the labels with most training documents, 10 the rarest.

    `contribution` is the part of the metric due to these labels: it sums to the metric over the ten deciles.
    `within` restricts the truth to these labels, and the documents to those that have one.
    """

    decile: int
    labels: int
    most_frequent: int  # training documents of its first label
    least_frequent: int  # and of its last
    documents: int  # scored documents with at least one of these labels
    pairs: int  # true pairs (document, label) in it
    contribution: dict[str, float]  # percent, "P@1" …
    within: dict[str, float]


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a ranking in percent, with a description of model and data."""

    metrics: dict[str, float]  # "P@1" …
    by_decile: list[Decile]  # empty when the training frequencies are unknown
    recall_curve: np.ndarray  # (k,) R@1, R@2, …
    reliability: Reliability | None = None  # scores compared with truth
    threshold: Threshold | None = None  # metrics of the model's own threshold, if it has one
    corpus: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The output of `longtail evaluate --json`."""
        deciles = [_rounded(asdict(decile)) for decile in self.by_decile]
        told: dict[str, Any] = {"metrics": _rounded(self.metrics), "by_decile": deciles}
        if self.reliability is not None:
            told["reliability"] = asdict(self.reliability)
        if self.threshold is not None:
            told["threshold"] = asdict(self.threshold)
        return told | {"corpus": self.corpus, "model": self.model}


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    nested = {name: _rounded(value) for name, value in values.items() if isinstance(value, dict)}
    return {name: round(value, 4) for name, value in values.items() if name not in nested} | nested


# -- scoring ------------------------------------------------------------------------------------------------------


def evaluate_ranking(
    ranking: Ranking,
    truth: sp.csr_array,
    *,
    train: Frequencies | None = None,
    a: float = 0.55,
    b: float = 1.5,
    ks: Sequence[int] = (1, 3, 5),
    filtered: sp.csr_array | None = None,
) -> Evaluation:
    """Every metric of METRICS at every k, recall also at RECALL_DEPTHS, and all by label-frequency decile.

    Any nonzero value of `truth` means a true label.  Without `train` there are neither propensities nor
    deciles.  Pairs in `filtered` are removed from truth and ranking, and later labels move up.  Documents
    without true labels score 0; without any true pair, all metrics are 0.

    >>> best_first = Ranking(np.array([[2, 0], [1, 2]], np.int32), np.array([[0.9, 0.1], [0.7, 0.6]], np.float32))
    >>> truth = sp.csr_array([[1, 0, 0], [0, 1, 1]])
    >>> evaluate_ranking(best_first, truth, ks=[1, 2]).metrics["P@2"]
    75.0
    """
    _check_fit(ranking, truth, train, filtered)
    columns = _columns(ks, ranking.k, propensity=train is not None)
    known = _Known.of(truth.shape[1], train, a, b)
    documents = _Tally([column for column in columns if column.metric.over == "documents"], known, ranking.k)
    labels = _Tally([column for column in columns if column.metric.over == "labels"], known, ranking.k)
    best_place = np.full(truth.shape[1], NOWHERE + 1, np.int32)  # larger than NOWHERE for labels that are never true
    for document, label, place in _true_pairs(ranking.labels, truth, filtered):
        documents.add(document, label, place)
        np.minimum.at(best_place, label, place)
    present = np.flatnonzero(best_place <= NOWHERE)
    for rows in _batches(len(present)):
        label = present[rows]
        labels.add(np.arange(len(label)), label, best_place[label])
    contribution = documents.contributions(len(ranking)) | labels.contributions(len(present))
    within = documents.within() | labels.within()
    return Evaluation(
        {name: float(parts.sum()) for name, parts in contribution.items()},
        [] if train is None else _deciles(contribution, within, documents, train),
        100 * np.cumsum(documents.recall_at) / len(ranking),
    )


class _Column(NamedTuple):
    """One number of the result: a metric at a k."""

    name: str
    metric: Metric
    k: int


def _columns(ks: Sequence[int], depth: int, *, propensity: bool) -> list[_Column]:
    if not len(ks) or any(not isinstance(k, (int, np.integer)) or k < 1 for k in ks):
        raise ConfigError(f"ks = {ks}: name at least one cut-off, each a whole number from 1")
    deeper = {"R": [k for k in RECALL_DEPTHS if k <= depth]}
    return [
        _Column(f"{name}@{k}", metric, int(k))
        for name, metric in METRICS.items()
        if propensity or not metric.propensity
        for k in sorted({*ks, *deeper.get(name, [])})
    ]


class _Known(NamedTuple):
    """Per-label values that do not depend on the documents."""

    weight: np.ndarray
    priority: np.ndarray  # rank of the label by falling weight
    decile: np.ndarray
    n_deciles: int

    @classmethod
    def of(cls, n_labels: int, train: Frequencies | None, a: float, b: float) -> _Known:
        if train is None:
            return cls(np.ones(n_labels), np.arange(n_labels), np.zeros(n_labels, np.int64), 1)
        weight, priority = inverse_propensity(train, a, b), np.empty(n_labels, np.int64)
        priority[np.argsort(-weight, kind="stable")] = np.arange(n_labels)
        return cls(weight, priority, train.deciles(), N_DECILES)


class _Tally:
    """Sums of gains by column and decile, accumulated over batches of documents."""

    def __init__(self, columns: list[_Column], known: _Known, depth: int):
        self.columns, self.known = columns, known
        shape = (len(columns), known.n_deciles)
        self.earned, self.ideal = np.zeros(shape), np.zeros(shape)
        self.earned_within, self.ideal_within = np.zeros(shape), np.zeros(shape)
        self.documents, self.pairs = np.zeros(shape[1], np.int64), np.zeros(shape[1], np.int64)
        self.recall_at = np.zeros(depth)

    def add(self, document: np.ndarray, label: np.ndarray, place: np.ndarray) -> None:
        """Add the true pairs of complete documents."""
        decile = self.known.decile[label]
        part = document * self.known.n_deciles + decile  # treats a document's labels of one decile as a document
        ranked = self._pairs(document, label, place)
        depth = len(self.recall_at)
        top = ranked.first(depth)
        self.recall_at += np.bincount(top.place, recall(top, depth), minlength=depth)
        self.earned += self._gains(ranked)
        self.earned_within += self._gains(self._pairs(part, label, place))
        if any(column.metric.propensity for column in self.columns):
            self.ideal += self._gains(self._pairs(document, label, self._ideal_places(document, label)))
            self.ideal_within += self._gains(self._pairs(part, label, self._ideal_places(part, label)))
        self.pairs += np.bincount(decile, minlength=self.known.n_deciles)
        parts = np.flatnonzero(np.bincount(part))
        self.documents += np.bincount(parts % self.known.n_deciles, minlength=self.known.n_deciles)

    def contributions(self, n_documents: int) -> dict[str, np.ndarray]:
        """Percent by column: each decile's part of the metric."""
        return {
            column.name: _percent(earned, ideal.sum() if column.metric.propensity else n_documents)
            for column, earned, ideal in zip(self.columns, self.earned, self.ideal)
        }

    def within(self) -> dict[str, np.ndarray]:
        """Percent by column: the metric restricted to a decile's labels."""
        return {
            column.name: _percent(earned, ideal if column.metric.propensity else self.documents)
            for column, earned, ideal in zip(self.columns, self.earned_within, self.ideal_within)
        }

    def _pairs(self, document: np.ndarray, label: np.ndarray, place: np.ndarray) -> Pairs:
        size = np.bincount(document)[document]
        return Pairs.of(place, size, self.known.weight[label], self.known.decile[label])

    def _ideal_places(self, document: np.ndarray, label: np.ndarray) -> np.ndarray:
        """Rank of each true label among its document's true labels, by falling weight."""
        order = np.argsort(document * len(self.known.priority) + self.known.priority[label])
        sizes = np.bincount(document)
        place = np.empty(len(document), np.int64)
        place[order] = np.arange(len(document)) - (np.cumsum(sizes) - sizes)[document[order]]
        return place

    def _gains(self, pairs: Pairs) -> np.ndarray:
        gains = np.empty((len(self.columns), self.known.n_deciles))
        for at, (_, metric, k) in enumerate(self.columns):
            top = pairs.first(k)
            gain = metric.gain(top, k) * top.weight if metric.propensity else metric.gain(top, k)
            gains[at] = np.bincount(top.decile, gain, minlength=self.known.n_deciles)
        return gains


def _percent(earned: np.ndarray, possible: np.ndarray | float) -> np.ndarray:
    return 100 * np.divide(earned, possible, out=np.zeros_like(earned), where=np.asarray(possible) != 0)


def _deciles(
    contribution: dict[str, np.ndarray], within: dict[str, np.ndarray], tally: _Tally, train: Frequencies
) -> list[Decile]:
    deciles = []
    for at in range(N_DECILES):
        counts = train.counts[tally.known.decile == at]
        deciles.append(
            Decile(
                decile=at + 1,
                labels=len(counts),
                most_frequent=int(counts.max()) if len(counts) else 0,
                least_frequent=int(counts.min()) if len(counts) else 0,
                documents=int(tally.documents[at]),
                pairs=int(tally.pairs[at]),
                contribution={name: float(parts[at]) for name, parts in contribution.items()},
                within={name: float(parts[at]) for name, parts in within.items()},
            )
        )
    return deciles


def _true_pairs(
    labels: np.ndarray, truth: sp.csr_array, filtered: sp.csr_array | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(document, label, place) of every true pair that counts, in batches of documents."""
    for rows in steps(list(_batches(len(labels))), "comparing with the truth"):
        ranked, true = labels[rows], binary_of(truth[rows])
        without = sp.csr_array(true.shape, dtype=bool) if filtered is None else binary_of(filtered[rows])
        place, malformed = find_places(ranked, true, without)
        if malformed != SOUND:
            raise RankingError(_what_is_wrong(ranked[malformed], rows.start + malformed, true.shape[1]))
        document, keep = np.repeat(np.arange(len(ranked)), np.diff(true.indptr)), place != FILTERED
        yield document[keep], true.indices[keep], place[keep]


def _batches(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_AT_ONCE) for start in range(0, n_rows, ROWS_AT_ONCE))


def _what_is_wrong(row: np.ndarray, at: int, n_labels: int) -> str:
    ranked = row[row != PAD]
    unknown = ranked[(ranked < 0) | (ranked >= n_labels)]
    if len(unknown):
        return f"row {at} of the ranking names label {unknown[0]}, but the labels are 0 to {n_labels - 1}"
    if (row[: len(ranked)] == PAD).any():
        return f"row {at} of the ranking has a label behind PAD ({PAD}); PAD only fills the end of a row"
    label, times = np.unique(ranked, return_counts=True)
    return f"row {at} of the ranking names label {label[times > 1][0]} twice"


def _check_fit(ranking: Ranking, truth: sp.csr_array, train: Frequencies | None, filtered: sp.csr_array | None) -> None:
    if len(ranking) != truth.shape[0]:
        raise RankingError(f"the ranking has {len(ranking)} rows, but the truth has {truth.shape[0]} documents")
    if len(ranking) == 0:
        raise CorpusError("there are no documents to evaluate")
    if ranking.labels.dtype.kind not in "iu":
        raise RankingError(f"a ranking's labels are indices; these are {ranking.labels.dtype}")
    if train is not None and len(train.counts) != truth.shape[1]:
        raise CorpusError(f"training knew {len(train.counts)} labels, but the truth has {truth.shape[1]}")
    if filtered is not None and filtered.shape != truth.shape:
        raise CorpusError(f"the filter is for {filtered.shape} documents and labels, but the truth is {truth.shape}")
