"""What answers of DECAF: clusters that a document opens, and the labels inside them.  NumPy and numba alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from longtail.corpus import Documents
from longtail.encoders.bag import BagEncoder
from longtail.features.reading import Reader
from longtail.invariants import Number, Unsound, agree
from longtail.judge.ensemble import average
from longtail.kernels.csr import Rows
from longtail.rankers.label_rows import LabelRows
from longtail.ranking import Ranking
from longtail.shortlist import Shortlist


@dataclass(frozen=True)
class Scorer:
    """Rows on document vectors: one for every cluster, or one for every label in the order of the clusters."""

    encoder: BagEncoder
    rows: LabelRows

    def check(self) -> None:
        """Rows are as long as document vectors."""
        agree("rows and document vectors", self.rows.dim, self.encoder.vectors.shape[1])


@dataclass(frozen=True)
class Instance:
    """Clusters that a document opens, and the labels inside them."""

    shortlister: Scorer
    ranker: Scorer
    beam: Annotated[int, Number(1)]
    cluster_weight: Annotated[float, Number(0)]

    def check(self) -> None:
        """Label rows lie in clusters, and every cluster has a row."""
        if self.ranker.rows.clusters is None:
            raise Unsound("label rows in no order of clusters")
        agree("clusters and their rows", len(self.ranker.rows.clusters), len(self.shortlister.rows))

    def rank(self, bags: Rows, k: int) -> Ranking:
        """The k best labels of each document by s_l = σ(⟨w_l, x̂⟩) · σ(⟨h_m, x̂⟩)^cluster_weight."""
        opened = open_clusters(self.shortlister, bags, self.beam)
        weighed = Shortlist(opened.labels, opened.belief**self.cluster_weight)
        return self.ranker.rows.top_inside(self.ranker.encoder.documents(bags), weighed, k)


@dataclass(frozen=True)
class Decaf:
    """Instances over the same words; a label's score is its mean score."""

    reader: Reader
    instances: list[Instance]

    def check(self) -> None:
        """Every instance has a vector for each token, and all have the same labels."""
        if not self.instances:
            raise Unsound("there is no instance")
        agree("labels", *(len(instance.ranker.rows) for instance in self.instances))
        for instance in self.instances:
            vectors = (len(scorer.encoder.vectors) for scorer in (instance.shortlister, instance.ranker))
            agree("tokens and their vectors", self.reader.n_tokens, *vectors)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.instances[0].ranker.rows)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""
        bags = self.reader.rows(documents)
        if len(self.instances) == 1:
            return self.instances[0].rank(bags, k)
        return average([instance.rank(bags, max(k, POOL)) for instance in self.instances], k=k)


POOL = 100  # every instance is asked for so many labels: one just below its k may lead in the mean


def open_clusters(shortlister: Scorer, bags: Rows, beam: int) -> Shortlist:
    """S(x̂): the clusters with the largest scores, (documents, beam)."""
    return shortlister.rows.top(shortlister.encoder.documents(bags), beam)
