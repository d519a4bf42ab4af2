"""What answers of DECAF: clusters that a document opens, and the labels inside them.  No torch but a transformer's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from longtail.corpus import Documents
from longtail.encoders.encoder import Encoder, unit_explained
from longtail.invariants import Number, Unsound, agree
from longtail.judge.ensemble import average
from longtail.kernels.opening import Opening
from longtail.rankers.label_rows import NEAR_CLUSTERS, LabelRows
from longtail.ranking import Ranking
from longtail.reasons import Contributions, Reasons, average_of
from longtail.shortlist import Shortlist

if TYPE_CHECKING:
    from longtail.features.described import Described


@dataclass(frozen=True)
class Scorer:
    """Rows on document vectors: one for every cluster, or one for every label in the order of the clusters."""

    encoder: Encoder
    rows: LabelRows

    def vectors(self, read: Any) -> np.ndarray:  # noqa: ANN401 - what the encoder reads
        """x̂ of documents as the encoder reads them."""
        return self.encoder.encode(read)


@dataclass(frozen=True)
class Instance:
    """Clusters that a document opens, and the labels inside them."""

    shortlister: Scorer
    ranker: Scorer
    beam: Annotated[int, Number(1)]
    belief_weight: Annotated[float, Number(0)]

    def check(self) -> None:
        """Label rows lie in clusters, and every cluster has a row."""
        if self.ranker.rows.clusters is None:
            raise Unsound("label rows in no order of clusters")
        agree("clusters and their rows", len(self.ranker.rows.clusters), len(self.shortlister.rows))

    def rank(self, read: Any, k: int) -> Ranking:  # noqa: ANN401 - what the encoder reads
        """The k best labels of each document by s_l = σ(⟨w_l, x̂⟩) · σ(⟨h_m, x̂⟩)^belief_weight."""
        finding = self.shortlister.vectors(read)
        # Clusters and labels may have one encoder, and then a document has one vector.
        alike = self.ranker.encoder is self.shortlister.encoder
        return self.rank_vectors(finding, finding if alike else self.ranker.vectors(read), k)

    def rank_vectors(self, finding: np.ndarray, ranking: np.ndarray, k: int) -> Ranking:
        """The same, given the vectors of documents that open clusters and those that rank labels."""
        if self._opening is not None:
            return Ranking(*self._opening.rank(finding, ranking, k))
        opened = self.shortlister.rows.top(finding, self.beam)
        weighed = Shortlist(opened.labels, opened.belief**self.belief_weight)
        return self.ranker.rows.top_inside(ranking, weighed, k)

    @cached_property
    def _opening(self) -> Opening | None:
        """Clusters and labels in one compiled call, where possible; never stored."""
        return self.ranker.rows.opening(self.shortlister.rows, self.beam, self.belief_weight)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What the words of one document add to ⟨w_l, x̂⟩, and the cluster of each label where it was opened."""
        read: Any = self.ranker.encoder.read(documents)
        opened = self._opened(read)
        rows, biases = self.ranker.rows.of(labels)
        _, words = self.ranker.encoder.explained(documents, rows, read)
        assert self.ranker.rows.clusters is not None
        return Reasons(words.with_bias(biases), self.ranker.rows.clusters.proposals(opened, labels))

    def _opened(self, read: Any) -> Shortlist:  # noqa: ANN401 - what the encoder reads
        """The clusters that one document opens, in any order."""
        if self._opening is None:
            return open_clusters(self.shortlister, read, self.beam)
        return Shortlist(*self._opening.opened(self.shortlister.vectors(read)))

    def with_labels(self, read: Any, new: Described) -> Instance:  # noqa: ANN401 - what the encoder reads
        """With new labels, each in the cluster that the mean of its texts opens first; `read` is of `with_known`."""
        placed, texts = (new.summary(scorer.vectors(read)) for scorer in (self.shortlister, self.ranker))
        opened = self.shortlister.rows.top(placed.means, min(NEAR_CLUSTERS, len(self.shortlister.rows))).labels
        return replace(self, ranker=replace(self.ranker, rows=self.ranker.rows.with_unseen_inside(texts, opened)))

    def without_labels(self, labels: np.ndarray) -> Instance:
        """With labels that score 0."""
        return replace(self, ranker=replace(self.ranker, rows=self.ranker.rows.silenced(labels)))


@dataclass(frozen=True)
class Decaf:
    """Instances that read texts alike; a label's score is its mean score."""

    instances: list[Instance]

    def check(self) -> None:
        """All instances have the same labels, and all encoders read a text as the same numbers."""
        if not self.instances:
            raise Unsound("there is no instance")
        agree("labels", *(len(instance.ranker.rows) for instance in self.instances))
        scorers = [scorer for instance in self.instances for scorer in (instance.shortlister, instance.ranker)]
        if len({type(scorer.encoder) for scorer in scorers}) > 1:
            raise Unsound("encoders must be of one kind")
        agree("tokens", *(scorer.encoder.n_tokens for scorer in scorers))

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.instances[0].ranker.rows)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""
        read = self.instances[0].ranker.encoder.read(documents)
        if len(self.instances) == 1:
            return self.instances[0].rank(read, k)
        return average([instance.rank(read, max(k, POOL)) for instance in self.instances], k=k)

    @property
    def _encoders(self) -> list[Encoder]:
        """Of every instance, the one that opens clusters and the one that ranks labels."""
        return [scorer.encoder for each in self.instances for scorer in (each.shortlister, each.ranker)]

    def batches(self, documents: Documents) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Vectors of some documents at a time, those of all encoders in line, and which documents they are."""
        for parts in zip(*(encoder.batches(documents) for encoder in self._encoders)):
            yield parts[0][0], np.concatenate([vectors for _, vectors in parts], axis=1)

    def rank_vectors(self, vectors: np.ndarray, k: int) -> Ranking:
        """The k best labels of documents with such vectors."""
        pairs = np.split(vectors, len(self.instances), axis=1)
        if len(pairs) == 1:
            return self.instances[0].rank_vectors(*_halves(vectors), k)
        each = zip(self.instances, map(_halves, pairs))
        return average([instance.rank_vectors(*both, max(k, POOL)) for instance, both in each], k=k)

    def vector_explained(self, documents: Documents, rows: np.ndarray) -> Contributions:
        """What the words of one document add to ⟨row, vector⟩ of some rows (rows, dim), its vector of length 1."""
        return unit_explained(self._encoders, documents, rows)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """The mean logit of the instances, by words, and the clusters of all."""
        each = [instance.reasons(documents, labels) for instance in self.instances]
        return average_of(each, [1 / len(each)] * len(each))

    def with_labels(self, new: Described) -> Decaf:
        """With new labels in every instance."""
        read = self.instances[0].ranker.encoder.read(new.with_known)
        return Decaf([instance.with_labels(read, new) for instance in self.instances])

    def without_labels(self, labels: np.ndarray) -> Decaf:
        """With labels that score 0."""
        return Decaf([instance.without_labels(labels) for instance in self.instances])


def _halves(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left and right half of the columns, each in one piece, as compiled loops read them."""
    left, right = np.split(vectors, 2, axis=1)
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


POOL = 100  # every instance is asked for so many labels: one just below its k may lead in the mean


def open_clusters(shortlister: Scorer, read: Any, beam: int) -> Shortlist:  # noqa: ANN401 - what the encoder reads
    """S(x̂): the clusters with the largest scores, (documents, beam)."""
    return shortlister.rows.top(shortlister.vectors(read), beam)
