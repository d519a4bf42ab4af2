"""Learn one score from those of several models, on documents that none of them learned from (rankers/joint.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longtail.corpus import PAD, Corpus
from longtail.errors import CorpusError
from longtail.judge.evaluation import in_model_order, spare
from longtail.judge.frequencies import Frequencies, inverse_propensity
from longtail.judge.gains import cut_off
from longtail.judge.metrics import evaluate_ranking
from longtail.judge.validation import chosen_on, refuse, unspent
from longtail.predict.ensemble import Ensemble, combine, models_of
from longtail.predict.predictor import Predictor
from longtail.rankers.joint import OF_A_SCORE, SCORE, Joint, Known, evidence
from longtail.ranking import Ranking
from longtail.sparse import sp

A, B = 0.55, 1.5  # propensity constants, as `evaluate` has them
SHARES = (0.0, 0.5, 1.0)  # of a true label's weight that follows its propensity
RIDGE = 1.0  # weight of squared weights, for columns of variance 1
MOST_STEPS = 30


def join(
    members: Sequence[Predictor],
    known: Known,
    corpus: Corpus,
    metrics: Sequence[str],
    shares: Sequence[float] = SHARES,
    floor: str | None = None,
) -> tuple[Predictor, float]:
    """A model of all members with weights learned on these documents, and the mean of its metrics in percent.

    A share says how much rare labels count: 0 learns for P@k, 1 for PSP@k.  Of several the one with the best metrics is
    taken, or one member alone where that is better.  A score that is worse by `floor`, a metric, than some member is
    not taken.  Metrics are cross-fitted: each half of the documents is ranked by weights of the other.
    """
    members, whole = models_of(members), corpus
    refuse(corpus, members)
    corpus = unspent(corpus, members)
    seen = Evidence.of(members, known, corpus)
    tried = [*(seen.joined(share) for share in shares), *(seen.alone(at) for at in range(len(members)))]
    values = [seen.worth(ranking, metrics) for ranking in tried]
    best = chosen(values, [seen.worth(ranking, [floor]) for ranking in tried] if floor else values, len(shares))
    chosen_by = chosen_on(whole, len(corpus)) | {"metric": " + ".join(metrics), "value": round(values[best], 4)}
    if best >= len(shares):
        return _noted(combine([members[best - len(shares)]]), chosen_by), values[best]
    joint = seen.learned(np.ones(len(corpus), bool), shares[best])
    return _noted(_in_one(members, joint), chosen_by | {"rare": shares[best]}), values[best]


def chosen(values: Sequence[float], floors: Sequence[float], mixes: int) -> int:
    """The place of the best value, of mixes and then members, among those that no member surpasses in `floors`.

    >>> chosen([75.0, 74.0, 73.0, 60.0], [91.6, 92.5, 92.4, 64.7], 2)  # the first mix is below the first member
    1
    """
    least = max(floors[mixes:])
    return max((at for at in range(len(values)) if floors[at] >= least), key=lambda at: values[at])


def _in_one(members: Sequence[Predictor], joint: Joint) -> Predictor:
    """An ensemble that ranks by a joint score."""
    strengths = joint.of_members()
    both = combine(members, strengths.tolist() if strengths.sum() > 0 else None)
    assert isinstance(both.model, Ensemble)
    return dataclasses.replace(both, model=dataclasses.replace(both.model, joint=joint))


def _noted(model: Predictor, chosen_by: dict[str, Any]) -> Predictor:
    """With what its weights were chosen by."""
    return dataclasses.replace(model, about=dataclasses.replace(model.about, chosen={"weights": chosen_by}))


@dataclass(frozen=True)
class Evidence:
    """Candidates of held-out documents, the columns of each, and which are true."""

    known: Known
    labels: np.ndarray  # (documents, width) int32
    columns: np.ndarray  # (candidates, columns): of all that are no PAD
    true: np.ndarray  # (candidates,) bool
    judged: np.ndarray  # (candidates,) bool: not filtered
    truth: sp.csr_array
    filtered: sp.csr_array | None
    frequencies: Frequencies

    @classmethod
    def of(cls, members: Sequence[Predictor], known: Known, corpus: Corpus) -> Evidence:
        """Members' scores of these documents."""
        truth, filtered = in_model_order(members[0], corpus)
        if truth.nnz == 0:
            raise CorpusError(f"{corpus.name}: the documents held out have no labels to learn weights from")
        depth = Ensemble.POOL + spare(filtered)
        labels, columns = evidence(
            known, corpus.documents, [member.rank(corpus.documents, depth) for member in members]
        )
        there, asked = labels != PAD, Ranking(labels, np.zeros(labels.shape, np.float32))
        judged = there[there] if filtered is None else ~asked.among(filtered)[there]
        unknown = truth.shape[1] - len(members[0].labels)
        frequencies = Frequencies(np.pad(members[0].counts, (0, unknown)), members[0].about.corpus["documents"])
        return cls(known, labels, columns, asked.among(truth)[there], judged, truth, filtered, frequencies)

    def learned(self, documents: np.ndarray, share: float) -> Joint:
        """Weights by some of the documents, (documents,) bool."""
        rows = self._documents()
        used = documents[rows] & self.judged
        columns, true = self.columns[used], self.true[used]
        weights, bias = logistic(columns, true, np.where(true, self._importance(share)[used], 1.0))
        return Joint(self.known, weights, bias)

    def joined(self, share: float) -> Ranking:
        """All documents by a joint score, each half by weights of the other."""
        odd = np.arange(len(self.labels)) % 2 == 1
        halves = [self._logits(self.learned(half, share)) for half in (~odd, odd)]
        return self._ranking(np.where(odd[self._documents()], *halves))

    def alone(self, member: int) -> Ranking:
        """All documents by one member, which does not rank what it has no score for."""
        scores = self.columns[:, 1 + OF_A_SCORE * member + SCORE]
        return self._ranking(np.where(scores > 0, scores, -np.inf))

    def worth(self, ranking: Ranking, metrics: Sequence[str]) -> float:
        """The mean of metrics in percent."""
        ks = sorted({cut_off(metric) for metric in metrics})
        found = evaluate_ranking(
            ranking, self.truth, train=self.frequencies, a=A, b=B, ks=ks, filtered=self.filtered
        ).metrics
        return float(np.mean([found[metric] for metric in metrics]))

    def _ranking(self, logits: np.ndarray) -> Ranking:
        """Candidates by their logits; those of -inf are none."""
        scores = np.full(self.labels.shape, -np.inf, np.float32)
        scores[self.labels != PAD] = logits
        return Ranking.of_candidates(np.where(scores > -np.inf, self.labels, PAD), scores, self.labels.shape[1])

    def _documents(self) -> np.ndarray:
        """The document of each candidate."""
        return np.nonzero(self.labels != PAD)[0]

    def _logits(self, joint: Joint) -> np.ndarray:
        return self.columns @ joint.weights + joint.bias

    def _importance(self, share: float) -> np.ndarray:
        """What a true label counts, (candidates,), 1 on average: a share of it by propensity."""
        inverse = inverse_propensity(self.frequencies, A, B)[self.labels[self.labels != PAD]]
        mean = inverse[self.true].mean() if self.true.any() else 1.0
        return 1 - share + share * inverse / mean


def logistic(columns: np.ndarray, true: np.ndarray, importance: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression with a ridge, by Newton's method on columns of variance 1."""
    problem = Regression.of(columns, true, importance)
    weights = np.zeros(columns.shape[1] + 1)
    weights[-1] = np.log((true.sum() + 1) / (len(true) - true.sum() + 1))
    now = problem.loss(weights)
    for _ in range(MOST_STEPS):
        before, (weights, now) = now, problem.stepped(weights, now)
        if before - now <= ENOUGH * abs(now):
            break
    own = weights[:-1] / problem.spread
    return own, float(weights[-1] - own @ problem.means)


ENOUGH = 1e-7  # a step that lowers the loss by a smaller share is the last
ROWS_AT_ONCE = 1 << 16  # rows in float64 at a time: bounds memory


@dataclass(frozen=True)
class Regression:
    """Rows of variance 1 with a last column of ones, whether each is true, and what it counts."""

    columns: np.ndarray
    true: np.ndarray
    importance: np.ndarray
    means: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray, true: np.ndarray, importance: np.ndarray) -> Regression:
        """A column without variance has weight 0."""
        means, spread = columns.mean(axis=0, dtype=np.float64), columns.std(axis=0, dtype=np.float64)
        return cls(columns, true.astype(np.float64), importance, means, np.where(spread > 1e-6, spread, np.inf))

    @property
    def ridge(self) -> np.ndarray:
        """What squared weights count; that of the bias only keeps equations solvable."""
        return np.append(np.full(len(self.means), RIDGE), 1e-6)

    def loss(self, weights: np.ndarray) -> float:
        """The logistic loss and the ridge."""
        total = float(self.ridge @ weights**2 / 2)
        for inputs, true, importance in self._blocks():
            logits = inputs @ weights
            total += float(importance @ (np.logaddexp(0, logits) - true * logits))
        return total

    def stepped(self, weights: np.ndarray, now: float) -> tuple[np.ndarray, float]:
        """Weights after a step, halved until it lowers the loss, and their loss; the same weights where none does."""
        slope, curve = self.ridge * weights, np.diag(self.ridge)
        for inputs, true, importance in self._blocks():
            believed = 1 / (1 + np.exp(-np.clip(inputs @ weights, -500, 500)))
            slope += inputs.T @ (importance * (believed - true))
            curve += (inputs * (importance * believed * (1 - believed))[:, None]).T @ inputs
        step = np.linalg.solve(curve, slope)
        for halvings in range(20):
            there = weights - step / 2**halvings
            if (value := self.loss(there)) < now:
                return there, value
        return weights, now

    def _blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for start in range(0, len(self.columns), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            scaled = (self.columns[rows] - self.means) / self.spread
            yield np.hstack([scaled, np.ones((len(scaled), 1))]), self.true[rows], self.importance[rows]
