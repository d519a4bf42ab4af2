"""Detection of silent training failures: collapsed vectors, and identical predictions for all documents.

Training stops with an error if numbers are not finite or no label can be found.  It ends with a warning if the model
ranks no better than chance: one ranking for all documents, the most frequent labels of the evaluated documents.
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

    `meant` (any,) bool marks the vectors that should be nonzero.
    """
    # By extremes and row by row, to allocate no memory: document vectors may be large.
    if vectors.size and not (np.isfinite(vectors.min()) and np.isfinite(vectors.max())):
        raise RunError(f"{what} are no longer finite numbers. {advice}")
    living, count = np.flatnonzero(vectors.any(axis=1) & meant), int(meant.sum())
    if count and not len(living):
        raise RunError(f"{what} have all become zero, so no label can be found by them. {advice}")
    if len(living) < count / 2:
        run.warn(f"{count - len(living):,} of {count:,} {what} have become zero. {advice}")
    elif len(living) > 1 and all(np.array_equal(vectors[row], vectors[living[0]]) for row in living[1:]):
        run.warn(f"{what} have all become the same, so none can be told from another. {advice}")


# -- predictions ---------------------------------------------------------------------------------------------------

JUDGED, FEWEST = 200, 20  # most and fewest documents for the check
METRIC, K, PERFECT = "nDCG@5", 5, 99.99

Rank = Callable[[Documents, int], Ranking]  # the k best labels of each document


def check_answers(rank: Rank, corpus: Corpus, run: Run, changed: Sequence[str]) -> None:
    """Stop if a model's scores are not finite; warn if it ranks training documents no better than chance.

    `changed` lists the settings that differ from the defaults, as phrases: likely causes.
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
    if learned <= chance < PERFECT:  # a perfect constant ranking cannot be beaten
        run.warn(
            f"the model ranks {len(sample)} of its training documents no better than one answer for all of them would: "
            f"{METRIC} is {learned:.2f}, and always naming the most frequent labels gives {chance:.2f}. "
            f"It has learned nothing of use. {suspects(changed)}"
        )


def labelled_sample(corpus: Corpus) -> Corpus:
    """A small fixed sample of documents with labels."""
    labelled = np.flatnonzero(np.diff(corpus.labels.indptr))
    rows = np.random.default_rng(0).permutation(labelled)[:JUDGED]
    return corpus.subset(np.sort(rows), corpus.role)


def same_for_all(sample: Corpus, k: int) -> Ranking:
    """The most frequent labels of these documents as the ranking of each."""
    counts = np.bincount(sample.labels.indices, minlength=sample.n_labels)
    best = np.argsort(-counts, kind="stable")[:k]
    row = np.pad(best, (0, k - len(best)), constant_values=PAD).astype(np.int32)
    labels = np.tile(row, (len(sample), 1))
    return Ranking(labels, np.where(labels == PAD, 0, np.linspace(1, 0.5, k, dtype=np.float32)).astype(np.float32))


def judged(ranking: Ranking, sample: Corpus) -> float:
    """Metric of a ranking of the sample, in percent."""
    return evaluate_ranking(ranking, sample.labels, ks=(K,), filtered=sample.filtered).metrics[METRIC]


MOST_NAMED = 6  # settings named in one message


def suspects(changed: Sequence[str]) -> str:
    """Advice, given the settings that differ from the defaults.

    >>> suspects(["lr was 0.1, now 10"])
    'Try the defaults again, for one setting after another: lr was 0.1, now 10.'
    """
    if not changed:
        return "Look at the losses in log.jsonl, and with `longtail describe` whether the texts tell the labels apart."
    rates_first = sorted(changed, key=lambda phrase: "lr was" not in phrase)
    named = rates_first[:MOST_NAMED] + ["…"] * (len(changed) > MOST_NAMED)
    return f"Try the defaults again, for one setting after another: {'; '.join(named)}."
