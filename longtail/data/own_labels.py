"""Documents that are labels themselves, as products related to products or pages that point to pages.

Such a document's own label is like no other: it has the very same text, and is never right.  Where a training corpus is
of this kind, the trained model does not suggest a text's own label, and evaluation leaves the pair out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from longtail.corpus import PAD, Corpus, Documents, Label, Texts
from longtail.data.hashes import content_hashes, hash_of
from longtail.invariants import Array, agree
from longtail.sparse import either, sp

NONE = np.array([PAD], np.int32)
COMMON = 0.2  # share of the documents that must be labels themselves
CARRIED = 0.01  # share of these that may have their own label among their true ones


@dataclass(frozen=True)
class OwnLabels:
    """Hashes of label names and texts, and the label of each hash."""

    hashes: Annotated[np.ndarray, Array("texts", np.uint64, rising=True)]
    labels: Annotated[np.ndarray, Array("texts", np.int32)]

    def check(self) -> None:
        """Every text is that of a label."""
        agree("texts and labels", len(self.hashes), len(self.labels))

    @classmethod
    def of(cls, labels: Iterable[Label], first: int = 0) -> OwnLabels:
        """Hash names, texts and both joined; a hash of two labels is dropped.  Labels are numbered from `first`."""
        said = [(text, at) for at, label in enumerate(labels, first) for text in {label.name, label.text, label.words}]
        texts, owners = Texts.of(text for text, _ in said), np.array([at for _, at in said], np.int32)
        hashes, places, counts = np.unique(hashes_of(texts), return_index=True, return_counts=True)
        known = (counts == 1) & (hashes != hashes_of(Texts.of([""]))[0])
        return cls(hashes[known], owners[places[known]])

    def find(self, texts: Texts) -> np.ndarray:
        """The label that each text is, (texts,) int32, or PAD."""
        if len(self.hashes) == 0:
            return np.full(len(texts), PAD, np.int32)
        if len(texts) == 1:
            return self._find_one(texts)
        asked = hashes_of(texts)
        places = np.minimum(np.searchsorted(self.hashes, asked), len(self.hashes) - 1)
        return np.where(self.hashes[places] == asked, self.labels[places], PAD).astype(np.int32)

    def _find_one(self, texts: Texts) -> np.ndarray:
        """The own label of one text, without the overhead of arrays."""
        asked = hash_of(texts.data[texts.starts[0] : texts.stops[0]])
        place = int(self.hashes.searchsorted(asked))
        found = place < len(self.hashes) and self.hashes[place] == asked
        return self.labels[place : place + 1] if found else NONE

    def joined(self, others: OwnLabels) -> OwnLabels:
        """With further labels; a hash that both have is dropped."""
        hashes, labels = np.append(self.hashes, others.hashes), np.append(self.labels, others.labels)
        unique, places, counts = np.unique(hashes, return_index=True, return_counts=True)
        return OwnLabels(unique[counts == 1], labels[places[counts == 1]])


def hashes_of(texts: Texts) -> np.ndarray:
    """64-bit hash of each text, (texts,) uint64."""
    return content_hashes(Documents(texts)) if len(texts) else np.empty(0, np.uint64)


def related(corpus: Corpus) -> OwnLabels | None:
    """The texts of labels, where documents are labels themselves and their own label is never right."""
    if corpus.documents.texts is None or len(corpus) == 0:
        return None
    own = OwnLabels.of(corpus.label_set)
    found = own.find(corpus.documents.texts)
    pairs = _pairs(found, corpus.n_labels)
    carried = pairs.multiply(corpus.labels).nnz
    if pairs.nnz < COMMON * len(corpus) or carried > CARRIED * pairs.nnz:
        return None
    return own


def without_own(corpus: Corpus) -> Corpus:
    """The corpus with its own pairs filtered: documents and labels with the same text, or the same id."""
    texts, shape = corpus.documents.texts, corpus.n_labels
    pairs = None if texts is None else _pairs(OwnLabels.of(corpus.label_set).find(texts), shape)
    if corpus.ids is not None:
        pairs = either(pairs, _pairs(_by_id(corpus.ids, corpus.label_set), shape))
    return corpus if pairs is None else replace(corpus, filtered=either(corpus.filtered, pairs))


def _by_id(ids: Texts, labels: Sequence[Label]) -> np.ndarray:
    known = {label.id: at for at, label in enumerate(labels)}
    return np.array([known.get(id, PAD) if id else PAD for id in ids], np.int32)


def _pairs(own: np.ndarray, n_labels: int) -> sp.csr_array:
    """(documents, labels), 1 where a label is the document itself."""
    has = own != PAD
    entries = np.ones(int(has.sum()), np.float32), own[has], np.append(0, np.cumsum(has))
    return sp.csr_array(entries, shape=(len(own), n_labels))
