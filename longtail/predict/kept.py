"""Training documents that a model keeps, so that an explanation can show those of a label that are most like a text.

Kept are the beginnings of texts, and their heaviest TF-IDF words in eight bits each.  Every label gets a document
before any gets a second one, so that rare labels have theirs; a label's list is cut, so that asking takes the same
time whatever the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from longtail.corpus import Corpus, Texts
from longtail.features.tfidf import Tfidf, TfidfOptions
from longtail.invariants import Array, Unsound, agree, check_indices
from longtail.kernels.cosines import cosines
from longtail.sparse import sp

MOST = 100_000  # documents
OF_A_LABEL = 300  # documents that are compared with a text
CHARACTERS = 200  # of a text
WORDS = 32  # of a document, the heaviest
SHOWN = 3  # documents of a label in an explanation
STEPS = 255  # that a weight is stored in


@dataclass(frozen=True)
class KeptDocuments:
    """Beginnings of documents, their words, and which of them each label has."""

    texts: Texts
    tfidf: Tfidf
    # Document d has words[starts[d] : starts[d + 1]].
    starts: Annotated[np.ndarray, Array("documents+1", np.int64, starts="words")]
    words: Annotated[np.ndarray, Array("words", np.int32)]
    weights: Annotated[np.ndarray, Array("words", np.uint8)]  # in steps of 1/255
    # Label l has documents[label_starts[l] : label_starts[l + 1]].
    label_starts: Annotated[np.ndarray, Array("labels+1", np.int64, starts="pairs")]
    documents: Annotated[np.ndarray, Array("pairs", np.int32, below="documents")]

    def check(self) -> None:
        """Every document has a text, and its words are those of the vocabulary."""
        agree("documents and their texts", len(self.starts) - 1, len(self.texts))
        check_indices("words", self.words, len(self.tfidf.vocabulary))
        if np.diff(self.starts).max(initial=0) > WORDS or np.diff(self.label_starts).max(initial=0) > OF_A_LABEL:
            raise Unsound(f"a document has more than {WORDS} words, or a label more than {OF_A_LABEL} documents")

    def nearest(self, text: str, labels: np.ndarray) -> list[list[tuple[str, float]]]:
        """The documents of each label that are most like a text, and their cosines with it."""
        _, columns, values = self.tfidf.rows(Texts.of([text]))
        each = [self._of(label) for label in labels.tolist()]
        together = np.concatenate([self.documents[:0], *each])
        alike = cosines((self.starts, self.words, self.weights), together, columns, values)
        ends = np.cumsum([len(documents) for documents in each])[:-1]
        return [self._best(*pair) for pair in zip(each, np.split(alike, ends))] if each else []

    def _of(self, label: int) -> np.ndarray:
        """The documents of a label; a label that was added later has none."""
        if label + 1 >= len(self.label_starts):
            return self.documents[:0]
        return self.documents[self.label_starts[label] : self.label_starts[label + 1]]

    def _best(self, documents: np.ndarray, alike: np.ndarray) -> list[tuple[str, float]]:
        best = np.argsort(-alike, kind="stable")[:SHOWN]
        return [(self._text(int(documents[at])), min(float(alike[at]), 1.0)) for at in best]

    def _text(self, document: int) -> str:
        """As it was written; bytes that are no UTF-8, in a file that somebody changed, become question marks."""
        begin, end = self.texts.starts[document], self.texts.stops[document]
        return self.texts.data[begin:end].tobytes().decode("utf-8", "replace")


def keep(corpus: Corpus) -> KeptDocuments:
    """Select the training documents to keep."""
    rows = chosen(corpus.labels, MOST)
    texts, labels = corpus.texts[rows], corpus.labels[rows]
    tfidf = Tfidf.suited(texts, TfidfOptions(sublinear=True))
    starts, words, weights = heaviest(tfidf.transform(texts), WORDS)
    by_label = sp.csr_array(labels.T)
    _, inside = first_of_runs(by_label.indptr, OF_A_LABEL)
    label_starts = np.append(0, np.cumsum(np.minimum(np.diff(by_label.indptr), OF_A_LABEL))).astype(np.int64)
    begins = Texts.of(beginning(text) for text in texts)
    steps = np.round(weights * STEPS).astype(np.uint8)
    return KeptDocuments(begins, tfidf, starts, words, steps, label_starts, by_label.indices[inside].astype(np.int32))


def beginning(text: str) -> str:
    """The first characters of a text in one line, and an ellipsis where it goes on.

    >>> beginning("a fox\\nin  a box"), len(beginning("word " * 100))
    ('a fox in a box', 200)
    """
    line = " ".join(text[: 4 * CHARACTERS].split())
    return line if len(line) <= CHARACTERS else f"{line[: CHARACTERS - 1]}…"


def chosen(labels: sp.csr_array, most: int) -> np.ndarray:
    """At most so many documents, in order: the first of every label, then the second of every label, and so on."""
    if labels.shape[0] <= most:
        return np.arange(labels.shape[0])
    by_label = sp.csr_array(labels.T)
    turn = np.arange(by_label.nnz) - np.repeat(by_label.indptr[:-1], np.diff(by_label.indptr))
    in_turn = by_label.indices[np.argsort(turn, kind="stable")]
    _, first = np.unique(in_turn, return_index=True)
    return np.sort(in_turn[np.sort(first)[:most]])


def first_of_runs(starts: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The first so many places of each run, starts[i] to starts[i + 1]: the run of each, and the places."""
    lengths = np.minimum(np.diff(starts), most)
    of = np.repeat(np.arange(len(lengths)), lengths)
    before = np.cumsum(lengths) - lengths
    return of, np.arange(lengths.sum()) + np.repeat(starts[:-1] - before, lengths)


def heaviest(rows: sp.csr_array, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The so many largest entries of each row, in the order of their columns: starts, columns, values."""
    of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, of))
    kept = np.sort(order[first_of_runs(rows.indptr, most)[1]])
    starts = np.append(0, np.cumsum(np.minimum(np.diff(rows.indptr), most))).astype(np.int64)
    return starts, rows.indices[kept].astype(np.int32), rows.data[kept]
