"""Stages of ELIAS before and after training: vocabulary, clusters, the weight of the index.  No torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from longtail.corpus import Corpus
from longtail.features.bags import Reader, beside_dense
from longtail.features.labels import label_text_bags
from longtail.index.clusters import Clusters
from longtail.methods.elias.model import Elias
from longtail.methods.elias.settings import Config
from longtail.methods.shared.choice import choose
from longtail.methods.shared.preparation import cluster_labels, held_out, reader_of, refuse_unlabelled
from longtail.sparse import sp

if TYPE_CHECKING:
    from longtail.train.run import Run


@dataclass(frozen=True)
class Data:
    """Training data of all stages."""

    train: Corpus
    valid: Corpus
    reader: Reader
    words: sp.csr_array = field(repr=False)  # (training documents, words)

    def cluster(self, vectors: np.ndarray | None, size: int, seed: int) -> Clusters:
        """Balanced clusters by the words of the labels' documents, and by the documents' vectors if given.

        A label without documents is clustered by its text.
        """
        features = self.words if vectors is None else beside_dense(vectors, self.words)
        return cluster_labels(features, self.train.labels, self.label_texts(features.shape[1]), size, seed)

    def label_texts(self, width: int) -> sp.csr_array | None:
        """Label texts as rows of `width` columns, words in the last ones; None without texts."""
        if self.reader.words.tfidf is None:
            return None
        texts = label_text_bags(self.reader.words.tfidf, self.train.label_set)
        none = sp.csr_array((texts.shape[0], width - texts.shape[1]), dtype=np.float32)
        return sp.csr_array(sp.hstack([none, texts], format="csr"))


def prepare(corpus: Corpus, config: Config, run: Run) -> Data:
    """Prepare the data that does not depend on the encoder."""
    train, valid = held_out(corpus, config.valid_documents, config.seed)
    refuse_unlabelled(train)
    reader = reader_of(train.documents, train.label_set, config.encoding, run)
    return Data(train, valid, reader, run.stage("features", reader.words.rows, train.documents))


def weighed(model: Elias, valid: Corpus) -> Elias:
    """The model with the weight of ŷ that is best on these documents, by nDCG@5."""
    if valid.labels.nnz == 0 or model.graphed is None:
        return model
    chosen = choose(GRID, lambda weight, k: with_weight(model, weight).rank(valid.documents, k), valid)
    return with_weight(model, chosen.value)


def with_weight(model: Elias, weight: float) -> Elias:
    """The model with another weight of ŷ."""
    assert model.graphed is not None
    return replace(model, graphed=replace(model.graphed, belief_weight=weight))


GRID = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
