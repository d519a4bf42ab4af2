"""Evaluate a model on a corpus: rank its documents, align the labels, compute metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, Label, one_split
from longtail.data.labelling import renumbered
from longtail.data.own_labels import without_own
from longtail.errors import ConfigError, CorpusError
from longtail.judge.calibration import reached, reliability
from longtail.judge.frequencies import Frequencies
from longtail.judge.metrics import Evaluation, evaluate_ranking
from longtail.judge.per_label import f1_metrics
from longtail.predict.labels import label_digest
from longtail.predict.predictor import Predictor, model_of, refuse_huge
from longtail.progress import is_watched, steps
from longtail.ranking import Ranking, check_k

DEPTH = 100  # labels ranked per document, enough for R@100


def evaluate(
    model: Predictor, corpus: Corpus, *, ks: Sequence[int] = (1, 3, 5), a: float = 0.55, b: float = 1.5
) -> Evaluation:
    """Every metric of a model on a corpus, in percent; a and b are the propensity constants of the data.

    Propensities and deciles come from the label counts in the model's training data.  Labels are matched by id,
    so a corpus loaded separately may number them differently; true labels unknown to the model count as missed.
    """
    return score(answer(model, corpus, ks), a, b)


@dataclasses.dataclass(frozen=True)
class Answered:
    """What a model answered to the documents of a corpus, beside the truth; columns are in the model's label order."""

    model: Predictor
    corpus: Corpus
    ks: list[int]
    ranking: Ranking
    truth: sp.csr_array
    filtered: sp.csr_array | None

    def counted(self) -> tuple[Ranking, sp.csr_array]:
        """Ranking and truth without the pairs that do not count."""
        return without_filtered(self.ranking, self.truth, self.filtered)

    def label(self, at: int) -> Label:
        """The label of a column: those of the model, then those that only the corpus has."""
        return self.model.labels[at] if at < len(self.model.labels) else self._unknown[at - len(self.model.labels)]

    @cached_property
    def _unknown(self) -> list[Label]:
        known = {label.id for label in self.model.labels}
        return [label for label in self.corpus.label_set if label.id not in known]

    @property
    def seen(self) -> Frequencies:
        """Training documents of each column's label."""
        unknown = self.truth.shape[1] - len(self.model.labels)
        return Frequencies(np.pad(self.model.counts, (0, unknown)), self.model.about.corpus["documents"])


def answer(model: Predictor, corpus: Corpus, ks: Sequence[int] = (1, 3, 5)) -> Answered:
    """Rank the documents of a corpus as deep as their evaluation needs."""
    model, corpus, ks = model_of(model), one_split(corpus, "test"), _cut_offs(ks)
    if len(corpus) == 0:
        raise CorpusError(f"{corpus.name}: the {corpus.role} split has no documents to evaluate on")
    truth, filtered = in_model_order(model, corpus if model.own is None else without_own(corpus))
    own = model.calibration.threshold if model.calibration else None
    ranking = _ranked(model, corpus.documents, max(DEPTH, own.k if own else 0, *ks) + spare(filtered))
    return Answered(model, corpus, ks, ranking, truth, filtered)


def _ranked(model: Predictor, documents: Documents, k: int) -> Ranking:
    """The k best labels of each document; where somebody watches, in parts, so that a bar moves."""
    size = max(len(documents) // PARTS, FEWEST)
    if not is_watched() or len(documents) <= size:
        return model.rank(documents, k)
    refuse_huge(len(documents), min(k, len(model.labels)))  # of all together; a part alone would fit
    starts = steps(range(0, len(documents), size), "ranking documents")
    return Ranking.joined([model.rank(documents[np.arange(at, min(at + size, len(documents)))], k) for at in starts])


PARTS, FEWEST = 64, 64  # that documents are ranked in, and documents of one at least


def score(answered: Answered, a: float = 0.55, b: float = 1.5) -> Evaluation:
    """Every metric of the answers."""
    model, corpus, ks = answered.model, answered.corpus, answered.ks
    constants: dict[str, Any] = {"train": answered.seen, "a": a, "b": b, "ks": ks, "filtered": answered.filtered}
    scored = evaluate_ranking(answered.ranking, answered.truth, **constants)
    kept, true = answered.counted()
    own = model.calibration.threshold if model.calibration else None
    about: dict[str, Any] = {"name": corpus.name, "fingerprint": corpus.fingerprint, "split": corpus.role}
    about |= {"documents": len(corpus), "labels": corpus.n_labels, "propensity": {"a": a, "b": b}}
    return dataclasses.replace(
        scored,
        metrics=scored.metrics | f1_metrics(kept, true, ks),
        reliability=reliability(kept, true, max(ks)),
        threshold=None if own is None else reached(kept, true, own),
        corpus=about,
        model=dataclasses.asdict(model.about),
    )


def _cut_offs(ks: object) -> list[int]:
    if isinstance(ks, (str, bytes)) or not isinstance(ks, Iterable) or not (given := list(ks)):
        raise ConfigError(f"ks = {ks!r:.60}: write the cut-offs as a list, as in [1, 3, 5]")
    return [check_k(k) for k in given]


def spare(filtered: sp.csr_array | None) -> int:
    """Number of extra labels to rank, since filtered ones are removed."""
    return 0 if filtered is None else int(np.diff(filtered.indptr).max(initial=0))


def without_filtered(
    ranking: Ranking, truth: sp.csr_array, filtered: sp.csr_array | None
) -> tuple[Ranking, sp.csr_array]:
    """Ranking and truth without the filtered pairs."""
    if filtered is None:
        return ranking, truth
    kept = sp.csr_array(truth - truth.multiply(filtered != 0))
    kept.eliminate_zeros()
    return ranking.without(filtered), kept


def in_model_order(model: Predictor, corpus: Corpus) -> tuple[sp.csr_array, sp.csr_array | None]:
    """The corpus's truth and filtered pairs, with columns in the model's label order."""
    if label_digest(model.labels) == label_digest(corpus.label_set):
        return corpus.labels, corpus.filtered
    columns = _places(corpus.label_set, model.labels)
    width = max(int(columns.max(initial=-1)) + 1, len(model.labels))
    filtered = None if corpus.filtered is None else renumbered(corpus.filtered, columns, width)
    return renumbered(corpus.labels, columns, width), filtered


def _places(labels: Sequence[Label], known: Sequence[Label]) -> np.ndarray:
    """Index of each label in `known`; unknown labels are numbered after its last."""
    places = {label.id: at for at, label in enumerate(known)}
    for label in labels:
        places.setdefault(label.id, len(places))
    return np.array([places[label.id] for label in labels], np.int64)
