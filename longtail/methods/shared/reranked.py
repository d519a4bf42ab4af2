"""The second half of ELIAS++ behind any method that learns vectors: sparse classifiers rank what it proposes.

Gupta et al., NeurIPS 2022, section 3.5.  Where we differ on purpose, docs/methods/eliaspp.md says why.

    text ──a method──► 100 labels ──sparse ranker on TF-IDF, or [φ ; TF-IDF]──► scores ──tree, by frequency──► score

    score = share · tree(ranker, proposer, frequency) + (1 − share) · ranker^w · proposer^(1 − w)

The ranker learns from the documents for which a label is proposed, the tree from documents that neither has seen.
eliaspp.py, decafpp.py, lightxmlpp.py and gudnpp.py name the proposer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from longtail.config import setting
from longtail.corpus import PAD, Corpus, Documents
from longtail.encoders.cost import expected
from longtail.encoders.encoder import Encoding
from longtail.errors import ConfigError
from longtail.features.bags import Bags, beside_dense, features_expected
from longtail.features.described import Described
from longtail.features.tfidf import TfidfOptions
from longtail.invariants import Array, Number, Unsound, agree
from longtail.judge.calibration import Tuning
from longtail.kernels.reranking import FAINT, Classifiers, Reranker, no_tree
from longtail.methods.shared.choice import choose
from longtail.methods.shared.preparation import held_out
from longtail.rankers import sparse_linear
from longtail.rankers.score_tree import ScoreTree, fit_tree
from longtail.rankers.sparse_linear import SparseLinear
from longtail.ranking import Ranking
from longtail.reasons import Contributions, Reasons, mixed
from longtail.shortlist import Shortlist
from longtail.sparse import Rows, rows_of, sp
from longtail.train.need import Need

if TYPE_CHECKING:
    from longtail.train.run import Run


@dataclass(frozen=True)
class Reranking:
    """Settings that all of them share; defaults are the authors', where ours did not prove better."""

    candidates: int = setting(100, "labels that are proposed, and ranked by the ranker", "100")
    reads: Literal["words", "both"] = setting(
        "words", "ranker: reads words alone, or the proposer's vectors too, which know the training documents", "both"
    )
    ranker_weight: float | None = setting(
        None,
        "w, what the ranker weighs: score = ranker^w · proposer^(1 − w); none: chosen on held-out documents",
        "authors' earlier code: 0.5",
    )
    cost: float = setting(1.0, "weight of the loss against the squared weights: of the ranker", "PECOS")
    tolerance: float = setting(
        0.1, "how exactly classifiers are solved: those of the ranker; smaller is slower", "PECOS"
    )
    smallest_weight: float = setting(0.1, "smaller weights are dropped: those of the ranker", "PECOS")
    tree_depth: int = setting(5, "questions that the tree asks about a label", "authors' code: 5, earlier 6")
    tree_share: float = setting(0.3, "share of the tree in a score; 0: no tree", "authors' code")
    valid_documents: int = setting(
        1000, "documents of the validation split, or held out of train: for choosing w and the tree", "5000"
    )
    seed: int = setting(0, "random seed; members of an ensemble differ in it")

    def __post_init__(self) -> None:
        if min(self.candidates, self.tree_depth) < 1:
            raise ConfigError("candidates and tree_depth are at least 1")
        if not (self.cost > 0 and self.tolerance > 0 and self.smallest_weight >= 0):
            raise ConfigError("cost and tolerance are more than 0, smallest_weight is 0 or more")
        for name in ("tree_share", "ranker_weight"):
            if not 0 <= (getattr(self, name) or 0) <= 1:
                raise ConfigError(f"{name} = {getattr(self, name)}: it is a share, from 0 to 1")


# -- the model ---------------------------------------------------------------------------------------------------------


class Proposer(Protocol):
    """A trained method that ranks labels by vectors of its own."""

    @property
    def n_labels(self) -> int:
        """How many labels there are."""

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Vectors of some documents at a time, and which documents they are."""

    def rank_vectors(self, vectors: np.ndarray, k: int) -> Ranking:
        """The k best labels of each, given such vectors."""

    def rank(self, documents: Documents, k: int) -> Ranking:
        """Rank the proposer's candidates by both scores."""

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What words add to labels' logits."""

    def vector_explained(self, documents: Documents, rows: np.ndarray) -> Contributions:
        """What words add to ⟨row, vector of length 1⟩."""


@dataclass(frozen=True)
class Reranked:
    """A proposer, and a ranker of what it proposes; each method names the class of its proposer, to be read again."""

    proposer: Any
    words: Bags
    ranker: SparseLinear
    counts: Annotated[np.ndarray, Array("labels", np.float32, between=(0, np.inf))]  # training documents of each label
    tree: ScoreTree | None
    tree_share: Annotated[float, Number(0, 1)]
    candidates: Annotated[int, Number(1)]
    reads: str = "words"
    ranker_weight: Annotated[float, Number(0, 1)] = 0.5
    tuning: Tuning | None = None  # where a validation split chose w and the tree

    def check(self) -> None:
        """Proposer and ranker have the same labels."""
        agree("labels", self.n_labels, self.proposer.n_labels, len(self.ranker.biases))
        if self.reads not in ("words", "both"):
            raise Unsound(f"reads is {self.reads!r:.20}, and must be words or both")

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.counts)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document; behind the re-ranked candidates they stand as they were proposed."""
        batches = self.proposer.batches(documents)
        if len(documents) == 1:
            [(_, vectors)] = batches
            return self._rank(documents, vectors, k)
        parts = ((rows, self._rank(documents[rows], vectors, k)) for rows, vectors in batches)
        return Ranking.gathered(parts, len(documents), k)

    def _rank(self, documents: Documents, vectors: np.ndarray, k: int) -> Ranking:
        known = self.proposer.rank_vectors(vectors, max(k, self.candidates))
        proposed = known.top(self.candidates)
        features = self._features(documents, vectors)
        best = Ranking(*self._reranker.rank(features, proposed.labels, proposed.scores, min(k, self.candidates)))
        return best if k <= self.candidates else best.followed_by(known.after(self.candidates))

    @cached_property
    def _reranker(self) -> Reranker:
        """Classifiers, tree and weights as compiled loops take them; never stored."""
        starts, columns, weights = rows_of(self.ranker.weights)
        classifiers = Classifiers(starts, columns, weights, self.ranker.biases, self.counts)
        tree = no_tree() if self.tree is None else self.tree.compiled
        return Reranker(classifiers, self.ranker.weights.shape[1], tree, self.tree_share, self.ranker_weight)

    def _features(self, documents: Documents, vectors: np.ndarray) -> Rows:
        """What the ranker reads; words alone need no matrix, which takes longer to make than to read one text."""
        if self.reads == "words":
            return self.words.plain_rows(documents)
        return rows_of(beside_dense(vectors, self.words.rows(documents)))

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What words add to w · margin of the ranker + (1 − w) · logit of the proposer, and who proposed the label."""
        proposed = self.proposer.reasons(documents, labels)
        parts, weights = [proposed.words], [1 - self.ranker_weight]
        first = 0
        if self.reads == "both":
            first = self.ranker.weights.shape[1] - self.words.n_features
            parts.append(self.proposer.vector_explained(documents, self._dense_rows(labels, first)))
            weights.append(self.ranker_weight)
        parts.append(self.ranker.explained(self.words, documents, labels, first))
        return Reasons(mixed(parts, [*weights, self.ranker_weight]), proposed.proposals)

    def _dense_rows(self, labels: np.ndarray, dim: int) -> np.ndarray:
        """The ranker's weights for the proposer's vector, (labels, dim)."""
        return self.ranker.weights[labels][:, :dim].toarray()

    def with_labels(self, new: Described) -> Self:
        """With new labels, proposed as the proposer does it, and classifiers of the features of their texts."""
        features = ranker_features(self.proposer, self.words, new.documents, self.reads)
        return replace(
            self,
            proposer=self.proposer.with_labels(new),
            ranker=self.ranker.with_more(new.directions(features)),
            # The tree has seen no true label without documents.
            counts=np.append(self.counts, np.maximum(new.examples, 1).astype(np.float32)),
        )

    def without_labels(self, labels: np.ndarray) -> Self:
        """With labels that are proposed behind all others, if at all."""
        proposer, ranker = self.proposer.without_labels(labels), self.ranker.silenced(labels)
        return replace(self, proposer=proposer, ranker=ranker)


def hinge_beliefs(ranker: SparseLinear, features: sp.csr_array | Rows, proposed: Ranking) -> np.ndarray:
    """exp(−max(0, 1 − margin)³) of each proposed label, (documents, candidates) float32: PECOS's l3-hinge."""
    margins = ranker.margins(features, Shortlist(proposed.labels, proposed.scores))
    hinge = np.maximum(0, 1 - margins) ** 3
    # A margin of −3.7 is already 0 in float32, and labels that tie stand by their numbers: the faintest fade slower.
    # kernels/reranking.py has the same for labels that are ranked.
    return np.exp(-np.minimum(hinge, FAINT) - np.log1p(np.maximum(hinge - FAINT, 0)))


# -- the algorithm -----------------------------------------------------------------------------------------------------


Made = TypeVar("Made", bound=Reranked)
Learn: TypeAlias = "Callable[[Corpus, Run], Proposer]"


def rerank(kind: type[Made], corpus: Corpus, config: Reranking, options: TfidfOptions, learn: Learn, run: Run) -> Made:
    """A proposer, what it proposes for documents it learned from, the ranker; w and the tree by what is left."""
    train, valid = held_out(corpus, config.valid_documents, config.seed)
    # The documents that choose the proposer's weights are those that the tree learns from: train is not halved again.
    model = learn(replace(train, official_valid=valid), run)
    words = run.stage("ranker-words", Bags.fit, train.documents, options)
    features = run.stage("ranker-features", ranker_features, model, words, train.documents, config.reads)
    proposed = run.stage("proposed", proposals, model, train.documents, config.candidates)
    ranker = run.stage("ranker", train_ranker, features, train.labels, proposed, config)
    counts = np.bincount(train.labels.indices, minlength=train.n_labels).astype(np.float32)
    found = kind(model, words, ranker, counts, None, config.tree_share, config.candidates, config.reads)
    weighed = run.stage("weighed", weigh, found, valid, config)
    return replace(found, tree=weighed.tree, ranker_weight=weighed.ranker_weight, tuning=tuned_by(corpus, config))


# -- stages ------------------------------------------------------------------------------------------------------------


def tuned_by(corpus: Corpus, config: Reranking) -> Tuning | None:
    """Which documents of an official validation split choose w and the tree; None where these come from train."""
    # Those carved from train need no list: whoever learned from train is refused all of it (validation.py).
    official = corpus.official_valid
    return (
        None if official is None else Tuning(official.fingerprint, official.drawn(config.valid_documents, config.seed))
    )


def ranker_features(model: Proposer, words: Bags, documents: Documents, reads: str) -> sp.csr_array:
    """TF-IDF of all documents, or [φ ; TF-IDF], each of the two of length 1."""
    if reads == "words":
        return words.rows(documents)
    batches = list(model.batches(documents))
    order = np.argsort(np.concatenate([rows for rows, _ in batches]))
    return beside_dense(np.concatenate([vectors for _, vectors in batches])[order], words.rows(documents))


def proposals(model: Proposer, documents: Documents, candidates: int) -> Ranking:
    """The proposer's best labels."""
    return model.rank(documents, candidates)


def train_ranker(features: sp.csr_array, labels: sp.csr_array, proposed: Ranking, config: Reranking) -> SparseLinear:
    """One sparse classifier a label, from the documents it is proposed for and those that carry it."""
    inside = proposed.labels != PAD
    starts = np.append(0, np.cumsum(inside.sum(axis=1)))
    shortlist = sp.csr_array((np.ones(starts[-1], np.float32), proposed.labels[inside], starts), shape=labels.shape)
    return sparse_linear.train(
        features, labels, shortlist, cost=config.cost, tolerance=config.tolerance, threshold=config.smallest_weight,
        seed=config.seed,
    )  # fmt: skip


@dataclass(frozen=True)
class Weighed:
    """Both scores on held-out documents."""

    ranker_weight: float
    tree: ScoreTree | None


def weigh(model: Reranked, valid: Corpus, config: Reranking) -> Weighed:
    """w, where it is not given, and the tree, where it has a share."""
    given = 0.5 if config.ranker_weight is None else config.ranker_weight
    if valid.labels.nnz == 0:
        return Weighed(given, None)
    features = ranker_features(model.proposer, model.words, valid.documents, model.reads)
    proposed = proposals(model.proposer, valid.documents, model.candidates)
    ranker = hinge_beliefs(model.ranker, features, proposed)
    weight = choose_weight(proposed, ranker, valid) if config.ranker_weight is None else given
    return Weighed(weight, grow_tree(model, proposed, ranker, valid, config.tree_depth) if config.tree_share else None)


def choose_weight(proposed: Ranking, ranker: np.ndarray, valid: Corpus) -> float:
    """The w that ranks these documents best, by nDCG@5."""

    def rank(weight: float, k: int) -> Ranking:
        return Ranking.of_candidates(proposed.labels, ranker**weight * proposed.scores ** (1 - weight), k)

    return choose([tenths / 10 for tenths in range(11)], rank, valid).value


def grow_tree(model: Reranked, proposed: Ranking, ranker: np.ndarray, valid: Corpus, depth: int) -> ScoreTree:
    """How likely a proposed label is true, by both scores and the label's frequency."""
    inside = proposed.labels != PAD
    if valid.filtered is not None:  # neither right nor wrong: evaluation leaves these pairs out
        inside &= ~proposed.among(valid.filtered)
    columns = ranker[inside], proposed.scores[inside], model.counts[proposed.labels[inside]]
    return fit_tree(columns, proposed.among(valid.labels)[inside], depth)


# -- what it takes -----------------------------------------------------------------------------------------------------


def need(own: Need, corpus: Corpus, config: Reranking, encoding: Encoding) -> Need:
    """Estimated memory and disk of the proposer and the ranker."""
    entries = features_expected(corpus.documents, encoding.words)
    if config.reads == "both":
        entries += len(corpus) * expected(corpus.documents, encoding, 1).dim
    weights = min(corpus.n_labels * 800, 2 * entries)
    memory = own.memory + 24 * entries + 20 * weights
    return Need(own.parameters + weights, memory, disk=own.disk + 12 * entries + 8 * weights)
