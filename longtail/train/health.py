"""Trainings that fail without an error: vectors that collapse, and models that answer every document alike.

A training whose numbers are no longer finite, or which can find no label at all, stops.  One whose model ranks no
better than chance ends with a warning.  Chance is one answer for all documents: the most frequent labels, counted in
the very documents that the model is judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from longtail.corpus import PAD, Corpus, Documents
from longtail.errors import RunError
from longtail.judge.metrics import evaluate_ranking
from longtail.ranking import Ranking

if TYPE_CHECKING:
    from longtail.train.run import Run


# -- vectors -------------------------------------------------------------------------------------------------------


def check_vectors(vectors: np.ndarray, meant: np.ndarray, what: str, advice: str, run: Run) -> None:
    """Stop if vectors (any, dim) are not finite or all zero; warn if most are zero, or all the same.

    `meant` (any,) bool says which of them stand for something; the others are zero by right.
    """
    # By the extremes and row by row, which takes no memory: documents may fill a good part of it.
    if vectors.size and not (np.isfinite(vectors.min()) and np.isfinite(vectors.max())):
        raise RunError(f"{what} are no longer finite numbers. {advice}")
    living, count = np.flatnonzero(vectors.any(axis=1) & meant), int(meant.sum())
    if count and not len(living):
        raise RunError(f"{what} have all become zero, so no label can be found by them. {advice}")
    if len(living) < count / 2:
        run.warn(f"{count - len(living):,} of {count:,} {what} have become zero. {advice}")
    elif len(living) > 1 and all(np.array_equal(vectors[row], vectors[living[0]]) for row in living[1:]):
        run.warn(f"{what} have all become the same, so none can be told from another. {advice}")


# -- answers -------------------------------------------------------------------------------------------------------

JUDGED, FEWEST = 200, 20  # documents that a model is judged by: at most, and for a judgement to mean anything
METRIC, K, PERFECT = "nDCG@5", 5, 99.99

Rank = Callable[[Documents, int], Ranking]  # the k best labels of each document


def check_answers(rank: Rank, corpus: Corpus, run: Run, changed: Sequence[str]) -> None:
    """Stop if a model's scores are not finite; warn if it ranks training documents no better than chance.

    `changed` are the settings that are not the defaults, as phrases: the first suspects.
    """
    sample = labelled_sample(corpus)
    if len(sample) < FEWEST:
        return
    depth = K + (0 if sample.filtered is None else int(np.diff(sample.filtered.indptr).max(initial=0)))
    ranking = rank(sample.documents, depth)
    if not np.isfinite(ranking.scores).all():
        raise RunError(f"the model's scores are not finite numbers. {suspects(changed)}")
    learned, chance = (judged(each, sample) for each in (ranking, same_for_all(sample, depth)))
    run.log("judged", documents=len(sample), metric=METRIC, model=learned, chance=chance)
    if learned <= chance < PERFECT:  # where one answer is right for all, nothing is better
        run.warn(
            f"the model ranks {len(sample)} of its training documents no better than one answer for all of them would: "
            f"{METRIC} is {learned:.2f}, and always naming the most frequent labels gives {chance:.2f}. "
            f"It has learned nothing of use. {suspects(changed)}"
        )


def labelled_sample(corpus: Corpus) -> Corpus:
    """A few documents that carry labels, the same ones every time."""
    labelled = np.flatnonzero(np.diff(corpus.labels.indptr))
    rows = np.random.default_rng(0).permutation(labelled)[:JUDGED]
    return corpus.subset(np.sort(rows), corpus.role)


def same_for_all(sample: Corpus, k: int) -> Ranking:
    """The most frequent labels of these documents, as the answer to each of them."""
    counts = np.bincount(sample.labels.indices, minlength=sample.n_labels)
    best = np.argsort(-counts, kind="stable")[:k]
    row = np.pad(best, (0, k - len(best)), constant_values=PAD).astype(np.int32)
    labels = np.tile(row, (len(sample), 1))
    return Ranking(labels, np.where(labels == PAD, 0, np.linspace(1, 0.5, k, dtype=np.float32)).astype(np.float32))


def judged(ranking: Ranking, sample: Corpus) -> float:
    """How well the true labels stand, in percent."""
    return evaluate_ranking(ranking, sample.labels, ks=(K,), filtered=sample.filtered).metrics[METRIC]


MOST_NAMED = 6  # settings in one sentence


def suspects(changed: Sequence[str]) -> str:
    """What to try, given the settings that are not the defaults.

    >>> suspects(["lr was 0.1, now 10"])
    'Try the defaults again, for one setting after another: lr was 0.1, now 10.'
    """
    if not changed:
        return "Look at the losses in log.jsonl, and with `longtail describe` whether the texts tell the labels apart."
    rates_first = sorted(changed, key=lambda phrase: "lr was" not in phrase)
    named = rates_first[:MOST_NAMED] + ["…"] * (len(changed) > MOST_NAMED)
    return f"Try the defaults again, for one setting after another: {'; '.join(named)}."
