"""What answers of LightDXML: nearest labels, and a classifier for each of them; of Astec, a re-ranker too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from longtail.corpus import Documents
from longtail.encoders.encoder import Encoder, vectors_of
from longtail.index.nearest import Nearest
from longtail.invariants import Number, agree, check_indices
from longtail.judge.ensemble import average
from longtail.rankers.fusion import Fusion
from longtail.rankers.label_rows import NEIGHBOURS, LabelRows
from longtail.ranking import Ranking
from longtail.reasons import Reasons, average_of, nothing_proposed
from longtail.shortlist import Shortlist

if TYPE_CHECKING:
    from longtail.features.described import Described

RERANKED = 100  # labels that a re-ranker looks at


@dataclass(frozen=True)
class Reranker:
    """Astec's: another encoder, and classifiers of its own."""

    encoder: Encoder
    labels: LabelRows

    def rank(self, documents: Documents, first: Ranking, k: int) -> Ranking:
        """The k best labels by the mean of the first scores and its own."""
        proposed = Shortlist(first.labels, first.scores)
        again = Fusion(self.labels, 1.0).rank(vectors_of(self.encoder, documents), proposed, first.k)
        return average([first, again], k=k)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What the words of one document add to its logits."""
        rows, biases = self.labels.of(labels)
        _, words = self.encoder.explained(documents, rows)
        return nothing_proposed(words.with_bias(biases))

    def with_labels(self, new: Described, near: np.ndarray) -> Reranker:
        """With new labels, each like those near it."""
        texts = new.summary(vectors_of(self.encoder, new.with_known))
        return replace(self, labels=self.labels.with_unseen(texts, near))


NEAREST = 8 * NEIGHBOURS  # labels among which the neighbours of a new one are looked for


@dataclass(frozen=True)
class LightDXML:
    """Nearest labels, and a classifier for each of them."""

    encoder: Encoder
    nearest: Nearest
    fusion: Fusion
    shortlist: Annotated[int, Number(1)]
    reranker: Reranker | None = None  # of the variant Astec

    def check(self) -> None:
        """Rows are of one length, and the index finds labels that have classifiers."""
        agree("lengths of vectors", self.nearest.directions.dim, self.fusion.labels.dim)
        check_indices("nearest.labels", self.nearest.labels, self.n_labels, pad=True)
        if self.reranker is not None:
            agree("labels", self.n_labels, len(self.reranker.labels))

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.fusion.labels)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document's shortlist."""
        vectors = vectors_of(self.encoder, documents)
        found = self.nearest.find(vectors, self.shortlist)
        if self.reranker is None:
            return self.fusion.rank(vectors, found, k)
        return self.reranker.rank(documents, self.fusion.rank(vectors, found, max(k, RERANKED)), k)

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What the words of one document add to ⟨w_l, x̂⟩ + b_l, and how near each label is, where it was proposed."""
        rows, biases = self.fusion.labels.of(labels)
        vectors, words = self.encoder.explained(documents, rows)
        own = Reasons(words.with_bias(biases), self.nearest.proposals(vectors, self.shortlist, labels))
        return own if self.reranker is None else average_of([own, self.reranker.reasons(documents, labels)], [0.5, 0.5])

    def with_labels(self, new: Described) -> LightDXML:
        """With new labels, found near the mean of their texts."""
        texts = new.summary(vectors_of(self.encoder, new.with_known))
        near = self.fusion.rank(texts.means, self.nearest.find(texts.means, NEAREST), NEIGHBOURS).labels
        rows = self.fusion.labels.with_unseen(texts, near)
        nearest = self.nearest.with_labels(self.n_labels, texts.means)
        reranker = None if self.reranker is None else self.reranker.with_labels(new, near)
        return replace(self, nearest=nearest, fusion=replace(self.fusion, labels=rows), reranker=reranker)

    def without_labels(self, labels: np.ndarray) -> LightDXML:
        """With labels that are not found."""
        fusion = replace(self.fusion, labels=self.fusion.labels.silenced(labels))
        again = None if self.reranker is None else replace(self.reranker, labels=self.reranker.labels.silenced(labels))
        return replace(self, nearest=self.nearest.without_labels(labels), fusion=fusion, reranker=again)
