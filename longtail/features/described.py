"""Labels that a trained model does not have yet, and the texts that describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longtail.corpus import Documents, Texts
from longtail.features.bags import of_unit_length
from longtail.new_label import NewLabel
from longtail.sparse import sp


@dataclass(frozen=True)
class Summary:
    """Encoded texts of new labels, and of some known ones."""

    means: np.ndarray  # (labels, dim) float32: the mean vector of each label's texts
    counts: np.ndarray  # (labels,) how many texts these are
    known: np.ndarray  # (known, dim) float32: the vectors of texts of labels that the model knows
    known_labels: np.ndarray  # (known,) and which labels these are
    nothing: np.ndarray  # (dim,) float32: the vector of a text without known words


@dataclass(frozen=True)
class Described:
    """Texts of new labels, read as documents: of every label its own words, then its examples."""

    labels: Sequence[NewLabel]
    documents: Documents
    counts: np.ndarray  # (labels,) how many of the documents are about each label
    with_known: (
        Documents  # the same documents, and behind them the words of some labels that the model knows; last, none
    )
    known_labels: np.ndarray  # which labels these are

    @classmethod
    def of(cls, labels: Sequence[NewLabel], known: Mapping[int, str]) -> Described:
        """All texts of these labels, one label after the other, and the words of some `known` ones by index."""
        texts = [label.texts() for label in labels]
        counts = np.array([len(each) for each in texts], np.int64)
        both = Texts.of([text for each in texts for text in each] + [*known.values(), ""])
        return cls(
            labels, Documents(both[: int(counts.sum())]), counts, Documents(both), np.array(list(known), np.int64)
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def examples(self) -> np.ndarray:
        """Examples of each new label, (labels,)."""
        return self.counts - 1

    def summary(self, vectors: np.ndarray) -> Summary:
        """Summarise the vectors (documents, dim) of `with_known`."""
        own, known, nothing = np.split(vectors, [len(self.documents), len(vectors) - 1])
        means = np.asarray(self._members() @ own / self.counts[:, None], np.float32)
        return Summary(means, self.counts, known, self.known_labels, nothing[0])

    def directions(self, rows: sp.csr_array) -> sp.csr_array:
        """The sum of each label's rows, of length 1, (labels, features); a label without known words has none."""
        return of_unit_length(sp.csr_array(self._members() @ rows))

    def _members(self) -> sp.csr_array:
        places = np.arange(len(self.documents))
        entries = np.ones(len(places), np.float32), places, np.append(0, np.cumsum(self.counts))
        return sp.csr_array(entries, shape=(len(self), len(places)))
