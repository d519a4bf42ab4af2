"""F1 and metrics of single labels, against a plain twin and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score, precision_score, recall_score

from longtail.corpus import PAD
from longtail.errors import ConfigError
from longtail.judge.per_label import f1_metrics, label_counts, metric_cut_off
from longtail.ranking import Ranking


@pytest.fixture(scope="module", params=range(3))
def judged(request: pytest.FixtureRequest) -> tuple[Ranking, sp.csr_array]:
    """Rankings of 40 documents, some of them short, and truth of which one label is never true."""
    rng = np.random.default_rng(request.param)
    labels = np.array([rng.permutation(12)[:6] for _ in range(40)], np.int32)
    labels[rng.random(40) < 0.3, 3:] = PAD
    scores = np.where(labels == PAD, 0, np.sort(rng.random((40, 6)))[:, ::-1]).astype(np.float32)
    truth = (rng.random((40, 12)) < 0.25).astype(np.float32)
    truth[:, 5] = 0
    return Ranking(labels, scores), sp.csr_array(truth)


def first(ranking: Ranking, k: int, n_labels: int) -> np.ndarray:
    chosen = np.zeros((len(ranking), n_labels), int)
    for row, labels in enumerate(ranking.labels[:, :k]):
        chosen[row, labels[labels != PAD]] = 1
    return chosen


@pytest.mark.parametrize("k", [1, 3, 5])
def test_f1_is_that_of_scikit_learn(judged: tuple[Ranking, sp.csr_array], k: int):
    ranking, truth = judged
    true, chosen = truth.toarray().astype(int), first(ranking, k, 12)
    met = f1_metrics(ranking, truth, [k])
    assert met[f"F1@{k}"] == pytest.approx(100 * f1_score(true, chosen, average="micro"))
    present = np.flatnonzero(true.any(axis=0))
    macro = f1_score(true, chosen, labels=present, average="macro", zero_division=0)
    assert met[f"macroF1@{k}"] == pytest.approx(100 * macro)


def test_every_label_has_its_precision_and_recall(judged: tuple[Ranking, sp.csr_array]):
    ranking, truth = judged
    true, chosen = truth.toarray().astype(int), first(ranking, 3, 12)
    counts = label_counts(ranking, truth, 3)
    for ours, theirs in ((counts.precision, precision_score), (counts.recall, recall_score), (counts.f1, f1_score)):
        expected = theirs(true, chosen, average=None, zero_division=np.nan)
        np.testing.assert_allclose(ours, 100 * np.asarray(expected, float))
    assert np.isnan(counts.recall[5])


def test_nothing_true_is_zero():
    ranking = Ranking(np.array([[0]], np.int32), np.array([[0.5]], np.float32))
    assert f1_metrics(ranking, sp.csr_array((1, 2)), [1]) == {"F1@1": 0.0, "macroF1@1": 0.0}


@pytest.mark.parametrize("metric", ["F1", "F1@0", "F2@3", "macroF1@x", ""])
def test_a_metric_that_is_not_there_is_refused(metric: str):
    with pytest.raises(ConfigError, match="NAME@k"):
        metric_cut_off(metric)
    with pytest.raises(ConfigError, match=r"P, nDCG, .*, F1, macroF1, as in"):
        metric_cut_off("F2@3")
