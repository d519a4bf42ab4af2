"""Tuning on validation documents after training: calibration, thresholds, and ensemble weights.

Neither test nor training documents may be used here; on training documents a model is overconfident.  An official
validation split can be used, except for documents that already tuned the model during training; of other corpora,
documents must be held out of training (`longtail train --hold-out`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Corpus, Splits, one_split
from longtail.errors import CorpusError
from longtail.judge.calibration import (
    Calibration,
    Reliability,
    Target,
    Tuning,
    choose_threshold,
    cut_offs,
    fit_curve,
    reliability,
)
from longtail.judge.ensemble import choose_weights
from longtail.judge.evaluation import DEPTH, in_model_order, spare, without_filtered
from longtail.judge.frequencies import Frequencies
from longtail.judge.gains import cut_off
from longtail.judge.metrics import evaluate_ranking
from longtail.predict.ensemble import Ensemble, combine, models_of
from longtail.predict.predictor import Predictor, model_of
from longtail.ranking import Ranking, check_k

FEW = 100  # documents below which a calibration is reported as uncertain
SHOWN = 5  # labels per document in the reported calibration error, as many as users usually see


@dataclasses.dataclass(frozen=True)
class Calibrated:
    """A calibrated model, and the calibration error before and after."""

    model: Predictor
    before: Reliability
    after: Reliability  # cross-fitted: each half of the documents with the curve of the other


def calibrate(model: Predictor, corpus: Corpus, *, threshold: str | None = None, k: int = DEPTH) -> Calibrated:
    """Calibrate a model's scores on these documents; with a target, also choose a threshold.

    Targets are "f1", "precision=0.9" and "recall=0.8"; only the k best labels of each document count.
    """
    model, corpus, k = model_of(model), one_split(corpus, "valid"), check_k(k)
    target = None if threshold is None else Target.of(threshold)
    refuse(corpus, [model])
    raw, left = dataclasses.replace(model, calibration=None), unspent(corpus, [model])
    ranking, truth = _ranked(raw, left, k)
    curve = fit_curve(ranking, truth)
    # As the curve has them: steps that only keep an order depend on how many labels are asked for.
    probable = Ranking(ranking.labels, curve.probability(ranking.scores).astype(np.float32))
    chosen = None if target is None else choose_threshold(probable, truth, target)
    learned = Calibration(curve, chosen, cut_offs(probable, truth))
    about = dataclasses.replace(model.about, chosen=model.about.chosen | {"calibration": chosen_on(corpus, len(left))})
    calibrated = dataclasses.replace(raw, calibration=learned, about=about)
    return Calibrated(
        calibrated,
        reliability(ranking, truth, min(k, SHOWN)),
        reliability(_cross_fitted(ranking, truth), truth, min(k, SHOWN)),
    )


def _cross_fitted(ranking: Ranking, truth: sp.csr_array) -> Ranking:
    """Each half of the documents calibrated by the curve of the other: a curve fits its own documents too well."""
    halves = [np.arange(start, len(ranking), 2) for start in (0, 1)]
    parts = []
    for mine, other in (halves, halves[::-1]):
        learned = Ranking(ranking.labels[other], ranking.scores[other])
        asked = Ranking(ranking.labels[mine], ranking.scores[mine])
        parts.append((mine, fit_curve(learned, truth[other]).calibrated(asked) if len(other) else asked))
    return Ranking.gathered(parts, len(ranking), ranking.k)


def weigh(members: Sequence[Predictor], corpus: Corpus, metric: str = "nDCG@5") -> tuple[Predictor, float]:
    """An ensemble with the weights that are best on these documents, and its metric in percent."""
    members, corpus, k = models_of(members), one_split(corpus, "valid"), cut_off(metric)
    refuse(corpus, members)
    combine(members)  # raises for incompatible members before any of them ranks
    left = unspent(corpus, members)
    truth, filtered = in_model_order(members[0], left)
    rankings = [member.rank(left.documents, max(k, Ensemble.POOL) + spare(filtered)) for member in members]
    counts = np.pad(members[0].counts, (0, truth.shape[1] - len(members[0].labels)))
    seen = Frequencies(counts, members[0].about.corpus["documents"])

    def worth(ranking: Ranking) -> float:
        return evaluate_ranking(ranking, truth, train=seen, ks=[k], filtered=filtered).metrics[metric]

    weights, value = choose_weights(rankings, worth, min(k + spare(filtered), rankings[0].k))
    both = combine(members, weights)
    chosen = chosen_on(corpus, len(left)) | {"metric": metric, "value": round(value, 4)}
    return dataclasses.replace(both, about=dataclasses.replace(both.about, chosen={"weights": chosen})), value


def _ranked(model: Predictor, corpus: Corpus, k: int) -> tuple[Ranking, sp.csr_array]:
    if len(corpus) == 0:
        raise CorpusError(f"{corpus.name}: the {corpus.role} split has no documents to choose by")
    truth, filtered = in_model_order(model, corpus)
    ranking, truth = without_filtered(model.rank(corpus.documents, k + spare(filtered)), truth, filtered)
    return ranking.top(k), truth


def chosen_on(corpus: Corpus, documents: int) -> dict[str, Any]:
    """Name, split, fingerprint of the whole split, and the number of documents used."""
    about = {"name": corpus.name, "fingerprint": corpus.fingerprint}
    return about | {"split": corpus.role, "documents": documents}


# -- which documents may be used ------------------------------------------------------------------------------------


def validation_split(splits: Splits, name: str, models: Sequence[Predictor]) -> Corpus:
    """The documents of a split; raises if these models may not be tuned on them."""
    corpus = splits.split(name)
    refuse(corpus, models)
    if any(learned_documents(model, corpus, splits) for model in models):
        raise CorpusError(f"{corpus.name}: the model learned from the trn split; choose by val, which it never saw")
    return corpus


def refuse(corpus: Corpus, models: Sequence[Predictor]) -> None:
    """Raise if these are test documents or training documents of a model."""
    if corpus.role == "test":
        raise CorpusError(
            f"{corpus.name}: this is the test split, and what is chosen by it cannot be judged by it; choose by val"
        )
    if corpus.fingerprint and corpus.fingerprint in _learned_from(models):
        raise CorpusError(f"{corpus.name}: the model learned from these documents; choose by some that it never saw")
    if _learned_from(models).intersection(corpus.part_of) - {""}:
        raise CorpusError(
            f"{corpus.name} has no validation split of its own, and the model was trained on all of its documents; "
            "train it with --hold-out (in Python on splits.without_valid), which leaves those of the val split out"
        )


def unspent(corpus: Corpus, models: Sequence[Predictor]) -> Corpus:
    """The documents that tuned nothing during the training of these models."""
    spent = [tuning.rows for tuning in _tunings(models, corpus)]
    if not spent:
        return corpus
    left = np.setdiff1d(np.arange(len(corpus)), np.concatenate(spent))
    if len(left) == 0:
        raise CorpusError(
            f"{corpus.name}: all {len(corpus):,} documents of the {corpus.role} split chose settings of the model when "
            "it was trained; choose by others, or train it with fewer valid_documents"
        )
    return corpus.subset(left, corpus.role)


def _tunings(models: Sequence[Predictor], corpus: Corpus) -> list[Tuning]:
    """Tuning records of the models for this split."""
    found = [getattr(one.model, "tuning", None) for one in _all_of(models)]
    return [tuning for tuning in found if tuning is not None and tuning.split and tuning.split == corpus.fingerprint]


def _learned_from(models: Sequence[Predictor]) -> set[str]:
    return {model.about.corpus.get("fingerprint", "") for model in _all_of(models)}


def cautions(model: Predictor, corpus: Corpus, splits: Splits) -> list[str]:
    """Reasons, one sentence each, why metrics on these documents, a split of `splits`, are too optimistic."""
    told = []
    if learned := learned_documents(model, corpus, splits):
        who = "a member of the ensemble" if isinstance(model.model, Ensemble) else "the model"
        which = "these very documents" if learned == len(corpus) else f"{learned:,} of these {len(corpus):,} documents"
        told.append(f"{who} learned from {which}; the numbers flatter it and say nothing about new documents")
    if chosen := chosen_by(model, corpus):
        told.append(f"these very documents chose the model's {' and '.join(chosen)}; the numbers flatter it")
    return told


def learned_documents(model: Predictor, corpus: Corpus, splits: Splits) -> int:
    """Number of documents of a split that a model or one of its members was trained on."""
    learned = _learned_from([model]) - {""}
    if learned.intersection((corpus.fingerprint, *corpus.part_of)):
        return len(corpus)
    if corpus.role == "train" and splits.without_valid.fingerprint in learned:
        return len(splits.without_valid)
    return 0


def chosen_by(model: Predictor, corpus: Corpus) -> list[str]:
    """Parts of a model that were tuned on exactly these documents."""
    whose = [(what, about) for one in _all_of([model]) for what, about in one.about.chosen.items()]
    later = {what for what, about in whose if about["fingerprint"] == corpus.fingerprint}
    return sorted(later | ({"settings"} if _tunings([model], corpus) else set()))


def _all_of(models: Sequence[Predictor]) -> Iterator[Predictor]:
    for model in models:
        yield model
        if isinstance(model.model, Ensemble):
            yield from _all_of(model.model.members)
