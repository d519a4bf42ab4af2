"""What answers of DECAF: clusters that a document opens, and the labels inside them.  NumPy and numba alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.corpus import Documents
from longtail.encoders.bag import BagEncoder
from longtail.features.reading import Reader
from longtail.index.clusters import Clusters
from longtail.invariants import Array, Number, Unsound, agree
from longtail.judge.ensemble import average
from longtail.kernels.csr import Rows
from longtail.kernels.label_rows import likeliest, rank_members
from longtail.ranking import Ranking


@dataclass(frozen=True)
class Scorer:
    """Rows and biases on document vectors: one for every cluster, or one for every label in cluster order."""

    encoder: BagEncoder
    rows: Annotated[np.ndarray, Array("outputs dim", np.float32)]
    biases: Annotated[np.ndarray, Array("outputs", np.float32)]

    def check(self) -> None:
        """Rows are as long as document vectors."""
        agree("rows and document vectors", self.rows.shape[1], self.encoder.vectors.shape[1])


@dataclass(frozen=True)
class Instance:
    """Clusters that a document opens, and the labels inside them."""

    clusters: Clusters
    shortlister: Scorer
    ranker: Scorer
    beam: Annotated[int, Number(1)]
    cluster_weight: Annotated[float, Number(0)]

    def check(self) -> None:
        """Every cluster and every label has a row."""
        agree("clusters and their rows", len(self.clusters), len(self.shortlister.rows))
        agree("labels and their rows", len(self.clusters.labels), len(self.ranker.rows))

    def rank(self, bags: Rows, k: int) -> Ranking:
        """The k best labels of each document by s_l = σ(⟨w_l, x̂⟩) · σ(⟨h_m, x̂⟩), the cluster weighed."""
        clusters, belief = open_clusters(self.shortlister, bags, self.beam)
        x, runs = self.ranker.encoder.documents(bags), (self.clusters.starts, self.clusters.labels)
        return Ranking(
            *rank_members(x, self.ranker.rows, self.ranker.biases, *runs, clusters, belief**self.cluster_weight, k)
        )


@dataclass(frozen=True)
class Decaf:
    """Instances over the same words; a label's score is its mean score."""

    reader: Reader
    instances: list[Instance]

    def check(self) -> None:
        """Every instance has a vector for each token, and all have the same labels."""
        if not self.instances:
            raise Unsound("there is no instance")
        agree("labels", *(len(instance.clusters.labels) for instance in self.instances))
        for instance in self.instances:
            vectors = (len(scorer.encoder.vectors) for scorer in (instance.shortlister, instance.ranker))
            agree("tokens and their vectors", self.reader.n_tokens, *vectors)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.instances[0].clusters.labels)

    def rank(self, documents: Documents, k: int) -> Ranking:
        """The k best labels of each document."""
        bags = self.reader.rows(documents)
        if len(self.instances) == 1:
            return self.instances[0].rank(bags, k)
        return average([instance.rank(bags, max(k, POOL)) for instance in self.instances], k=k)


POOL = 100  # every instance is asked for so many labels: one just below its k may lead in the mean


def open_clusters(shortlister: Scorer, bags: Rows, beam: int) -> tuple[np.ndarray, np.ndarray]:
    """S(x̂): the clusters each document believes in most and how much, (documents, beam) each."""
    return likeliest(shortlister.encoder.documents(bags), shortlister.rows, shortlister.biases, beam)
