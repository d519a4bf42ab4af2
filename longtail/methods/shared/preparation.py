"""Preparation shared by most methods: hold documents out, learn the vocabulary, cluster labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longtail.corpus import Corpus, Documents, LabelSet, Texts
from longtail.encoders.encoder import BAG, Encoding
from longtail.errors import CorpusError
from longtail.features.bags import Reader
from longtail.features.labels import MOST, label_centroids, label_features
from longtail.features.tfidf import TfidfOptions
from longtail.index.balanced import balanced_clusters
from longtail.index.clusters import Clusters
from longtail.sparse import sp

if TYPE_CHECKING:
    from longtail.train.run import Run


def refuse_unlabelled(corpus: Corpus) -> None:
    """Raise CorpusError if no document has a label."""
    if corpus.labels.nnz == 0:
        raise CorpusError(f"{corpus.name}: no document carries a label; there is nothing to learn")


def refuse_without_text(corpus: Corpus) -> None:
    """Raise CorpusError where documents have features alone: what learns from these reads no label texts."""
    assert corpus.texts is not None


def held_out(corpus: Corpus, documents: int, seed: int) -> tuple[Corpus, Corpus]:
    """Training documents, and at most `documents` validation documents."""
    train, valid = corpus.hold_out(documents, seed)
    return train, valid.subset(valid.drawn(documents, seed), "valid")


def with_label_texts(documents: Documents, label_set: LabelSet) -> Documents:
    """The documents followed by the text of each label; unchanged if documents have no text."""
    if documents.texts is None:
        return documents
    return Documents(Texts.joined([documents.texts, label_set.words()]))


def learn_words(documents: Documents, label_set: LabelSet, options: TfidfOptions, subwords: int) -> Reader:
    """Learn the vocabulary and token weights from documents and label texts."""
    return Reader.fit(with_label_texts(documents, label_set), options, subwords)


def reader_of(documents: Documents, label_set: LabelSet, encoding: Encoding, run: Run) -> Reader:
    """The vocabulary of documents and label texts, with word pieces for a bag; computed once per run."""
    pieces = encoding.bag.subwords if encoding.kind == BAG else 0
    return run.stage("words", learn_words, documents, label_set, encoding.words, pieces)


def cluster_labels(
    features: sp.csr_array, labels: sp.csr_array, label_texts: sp.csr_array | None, size: int, seed: int | list[int]
) -> Clusters:
    """Balanced clusters of at most `size` labels, by the sums of their documents' features.

    A label without documents is clustered by its text; `label_texts` has the columns of `features`.
    """
    points = label_centroids(features, labels, most=MOST)
    if label_texts is not None:
        points = label_features(points, label_texts)
    return balanced_clusters(points, size, seed)
