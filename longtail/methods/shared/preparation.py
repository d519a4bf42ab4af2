"""What most methods do before they learn: hold documents out, learn words, cluster labels by words."""

from __future__ import annotations

from itertools import chain

from longtail.corpus import Corpus, Documents, LabelSet, Texts
from longtail.errors import CorpusError
from longtail.features.labels import label_centroids, label_features
from longtail.features.reading import Reader
from longtail.features.tfidf import TfidfOptions
from longtail.index.clusters import Clusters, balanced_clusters
from longtail.sparse import sp


def refuse_unlabelled(corpus: Corpus) -> None:
    """Raise CorpusError where no document carries a label."""
    if corpus.labels.nnz == 0:
        raise CorpusError(f"{corpus.name}: no document carries a label; there is nothing to learn")


def held_out(corpus: Corpus, documents: int, seed: int) -> tuple[Corpus, Corpus]:
    """What to learn from, and at most this many documents to choose weights by."""
    train, valid = corpus.hold_out(documents, seed)
    return train, valid.subset(valid.drawn(documents, seed), "valid")


def with_label_texts(documents: Documents, label_set: LabelSet) -> Documents:
    """The documents, then one more for the text of each label; documents without text stay as they are."""
    if documents.texts is None:
        return documents
    return Documents(Texts.of(chain(documents.texts, label_set.words())))


def learn_words(documents: Documents, label_set: LabelSet, options: TfidfOptions, subwords: int) -> Reader:
    """The tokens of documents and label texts, and their weights."""
    return Reader.fit(with_label_texts(documents, label_set), options, subwords)


def cluster_labels(
    features: sp.csr_array, labels: sp.csr_array, label_texts: sp.csr_array | None, size: int, seed: int | list[int]
) -> Clusters:
    """Balanced clusters of at most `size` labels, by the sums of their documents' features.

    A label without documents lies where its text puts it; `label_texts` has the columns of `features`.
    """
    points = label_centroids(features, labels)
    if label_texts is not None:
        points = label_features(points, label_texts)
    return balanced_clusters(points, size, seed)
