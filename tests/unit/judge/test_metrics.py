"""Metrics against a worked example, hand-made edge cases, a plain twin and another implementation."""

from __future__ import annotations

import dataclasses
import json
import lzma
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.errors import ConfigError, CorpusError, RankingError
from longtail.judge import metrics
from longtail.judge.frequencies import N_DECILES, Frequencies, inverse_propensity
from longtail.judge.gains import METRICS
from longtail.judge.metrics import evaluate_ranking
from longtail.ranking import Ranking


def matrix(rows: list[str]) -> sp.csr_array:
    """["101", "000"] as a label matrix."""
    return sp.csr_array(np.array([[int(digit) for digit in row] for row in rows]))


def ranking_of(rows: list[list[int]], k: int) -> Ranking:
    labels = np.array([[*row[:k], *[PAD] * (k - len(row))] for row in rows], np.int32)
    return Ranking(labels, np.zeros(labels.shape, np.float32))


def counted(counts: list[int], documents: int) -> Frequencies:
    return Frequencies(np.array(counts), documents)


# -- the worked example -------------------------------------------------------------------------------------------

TRAIN = matrix(["11000", "10100", "10010", "11000", "10000", "01000"])
TRUTH = matrix(["10100", "01001", "00000", "11110"])
RANKING = ranking_of([[0, 1, 2], [2, 1, 0], [0, 1, 2], [3]], 3)
EXPECTED = {
    "P": (0.5, 0.375, 0.333333),
    "nDCG": (0.5, 0.403287, 0.443963),
    "R": (0.1875, 0.3125, 0.4375),
    "PSP": (0.578802, 0.461816, 0.55031),
    "PSnDCG": (0.578802, 0.489827, 0.549897),
    "PSR": (0.499130, 0.453928, 0.605594),
    "coverage": (2 / 5, 3 / 5, 4 / 5),
}


def test_inverse_propensities_of_the_worked_example():
    weights = inverse_propensity(Frequencies.of(TRAIN), a=0.55, b=1.5)
    np.testing.assert_allclose(weights, [1.468121, 1.573051, 1.791759, 1.791759, 2.048601], atol=1e-6)


@pytest.mark.parametrize("name", METRICS)
def test_the_worked_example(name: str):
    found = evaluate_ranking(RANKING, TRUTH, train=Frequencies.of(TRAIN), a=0.55, b=1.5, ks=(1, 2, 3)).metrics
    assert [found[f"{name}@{k}"] for k in (1, 2, 3)] == pytest.approx([100 * x for x in EXPECTED[name]], abs=1e-4)


# -- edges, worked by hand ----------------------------------------------------------------------------------------


def test_a_document_without_true_labels_counts_zero_in_every_mean_over_documents():
    found = evaluate_ranking(ranking_of([[0], [0]], 1), matrix(["10", "00"]), ks=[1]).metrics
    assert found == {"P@1": 50.0, "nDCG@1": 50.0, "R@1": 50.0, "coverage@1": 100.0}


def test_a_document_without_true_labels_leaves_ratios_of_means_alone():
    found = evaluate_ranking(ranking_of([[0], [0]], 1), matrix(["10", "00"]), train=counted([3, 1], 9), ks=[1])
    assert (found.metrics["PSP@1"], found.metrics["PSnDCG@1"], found.metrics["PSR@1"]) == (100.0, 100.0, 100.0)


def test_precision_divides_by_k_even_when_fewer_labels_are_ranked_or_true():
    found = evaluate_ranking(ranking_of([[1]], 2), matrix(["010"]), ks=[1, 5]).metrics
    assert (found["P@1"], found["P@5"]) == (100.0, 20.0)
    assert (found["nDCG@5"], found["R@5"]) == (100.0, 100.0)


def test_a_true_label_that_is_not_ranked_is_missed_at_every_k():
    found = evaluate_ranking(ranking_of([[0]], 1), matrix(["01"]), ks=[1, 5, 1000]).metrics
    assert set(found.values()) == {0.0}


def test_rows_of_nothing_but_pad_score_zero():
    found = evaluate_ranking(ranking_of([[], []], 4), matrix(["10", "11"]), train=counted([1, 1], 5))
    assert set(found.metrics.values()) == {0.0}
    assert found.recall_curve.tolist() == [0.0] * 4


def test_where_there_is_nothing_to_find_the_score_is_zero_and_not_nan():
    found = evaluate_ranking(ranking_of([[1]], 1), matrix(["00"]), train=counted([1, 1], 5))
    assert set(found.metrics.values()) == {0.0}
    assert {value for decile in found.by_decile for value in decile.within.values()} == {0.0}


def test_ndcg_compares_with_as_many_labels_as_are_true():
    # One of two true labels, at the second place: (1 / log2 3) / (1 + 1 / log2 3).
    found = evaluate_ranking(ranking_of([[2, 0, 3]], 3), matrix(["1100"]), ks=[3]).metrics
    assert found["nDCG@3"] == pytest.approx(100 * (1 / math.log2(3)) / (1 + 1 / math.log2(3)))


def test_propensity_precision_is_a_ratio_of_means_and_not_a_mean_of_ratios():
    train = counted([50, 0], 100)
    common, rare = inverse_propensity(train, 0.55, 1.5)
    # The document with the common label is right, the one with the rare label is wrong.
    found = evaluate_ranking(ranking_of([[0], [0]], 1), matrix(["10", "01"]), train=train, ks=[1]).metrics
    assert found["PSP@1"] == pytest.approx(100 * common / (common + rare))
    assert found["PSP@1"] < 50


@pytest.mark.parametrize("documents", [1, 2])
def test_with_fewer_than_e_training_documents_weights_fall_below_one(documents: int):
    c = (math.log(documents) - 1) * 2.5**0.55
    assert c < 0
    train = counted([1, 0], documents)
    assert inverse_propensity(train, 0.55, 1.5) == pytest.approx([1 + c * 2.5**-0.55, 1 + c * 1.5**-0.55])
    found = evaluate_ranking(ranking_of([[0], [1]], 1), matrix(["10", "01"]), train=train, ks=[1]).metrics
    assert found["PSP@1"] == pytest.approx(100.0)


@pytest.mark.parametrize("kind", [float, np.int8, bool])
def test_truth_and_training_labels_are_read_as_zero_or_not(kind: type):
    # A count, a stored zero, an entry twice.
    values, columns = np.array([3, 0, 1, 1]).astype(kind), np.array([0, 1, 2, 2])
    ragged = sp.csr_array((values, columns, np.array([0, 2, 4])), shape=(2, 3))
    clean = matrix(["100", "001"])
    rows = ranking_of([[1, 0], [2, 1]], 2)
    assert Frequencies.of(ragged).counts.tolist() == [1, 0, 1]
    train = Frequencies.of(clean)
    assert evaluate_ranking(rows, ragged, train=train).metrics == evaluate_ranking(rows, clean, train=train).metrics
    assert ragged.nnz == 4, "the caller's matrix is left as it was"


def test_a_filtered_pair_leaves_truth_and_ranking_and_later_labels_move_up():
    rows, truth = ranking_of([[0, 1, 2]], 3), matrix(["1010"])
    assert evaluate_ranking(rows, truth, ks=[1, 2]).metrics["P@2"] == 50.0
    found = evaluate_ranking(rows, truth, ks=[1, 2], filtered=matrix(["1000"])).metrics
    assert (found["P@1"], found["P@2"], found["R@2"], found["coverage@2"]) == (0.0, 50.0, 100.0, 100.0)
    found = evaluate_ranking(rows, truth, ks=[1, 2], filtered=matrix(["1100"])).metrics
    assert (found["P@1"], found["R@1"]) == (100.0, 100.0)


def test_recall_is_told_at_a_hundred_when_the_ranking_reaches_so_far():
    truth = sp.csr_array((np.ones(1), np.array([99]), np.array([0, 1])), shape=(1, 200))
    deep = evaluate_ranking(ranking_of([list(range(100))], 100), truth).metrics
    assert (deep["R@50"], deep["R@100"]) == (0.0, 100.0)
    assert "R@100" not in evaluate_ranking(ranking_of([list(range(99))], 99), truth).metrics


def test_without_training_frequencies_there_are_neither_propensities_nor_deciles():
    found = evaluate_ranking(RANKING, TRUTH)
    assert {name.split("@")[0] for name in found.metrics} == {"P", "nDCG", "R", "coverage"}
    assert found.by_decile == []


# -- deciles --------------------------------------------------------------------------------------------------------


def test_what_a_decile_says_of_its_labels():
    truth = sp.csr_array(np.eye(20, dtype=int)[[0, 0, 19]])
    rows = ranking_of([[0], [5], [19]], 1)
    first, *_, last = evaluate_ranking(rows, truth, train=counted([20 - at for at in range(20)], 99), ks=[1]).by_decile
    assert (first.decile, first.labels, first.most_frequent, first.least_frequent) == (1, 2, 20, 19)
    assert (first.documents, first.pairs) == (2, 2) and (last.decile, last.documents, last.pairs) == (10, 1, 1)
    assert (first.within["R@1"], last.within["R@1"]) == (50.0, 100.0)
    assert (first.contribution["P@1"], last.contribution["P@1"]) == pytest.approx((100 / 3, 100 / 3))
    assert (first.within["coverage@1"], first.contribution["coverage@1"]) == (100.0, 50.0)


# -- a plain twin -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Case:
    rows: list[list[int]]  # ranked labels
    k: int  # width of the ranking
    truth: list[set[int]]
    filtered: list[set[int]]
    counts: list[int]
    documents: int  # in training

    def matrix(self, sets: list[set[int]]) -> sp.csr_array:
        dense = np.zeros((len(sets), len(self.counts)))
        for row, labels in enumerate(sets):
            dense[row, list(labels)] = 1
        return sp.csr_array(dense)

    def evaluation(self) -> metrics.Evaluation:
        return evaluate_ranking(
            ranking_of(self.rows, self.k), self.matrix(self.truth), train=counted(self.counts, self.documents),
            ks=(1, 2, 4, 7), filtered=self.matrix(self.filtered),
        )  # fmt: skip

    def scored(self) -> tuple[list[list[int]], list[set[int]]]:
        rows = [[label for label in row if label not in gone] for row, gone in zip(self.rows, self.filtered)]
        return rows, [labels - gone for labels, gone in zip(self.truth, self.filtered)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n_labels, k, n = draw(st.integers(1, 13)), draw(st.integers(1, 6)), draw(st.integers(1, 6))
    some = st.sets(st.integers(0, n_labels - 1))
    ranked = st.lists(st.integers(0, n_labels - 1), unique=True, max_size=k)
    counts = draw(st.lists(st.integers(0, 9), min_size=n_labels, max_size=n_labels))
    rows, truth, filtered = (draw(st.lists(kind, min_size=n, max_size=n)) for kind in (ranked, some, some))
    return Case(rows, k, truth, filtered, counts, draw(st.integers(10, 1000)))


def ratio(earned: float, possible: float) -> float:
    return 100 * earned / possible if possible else 0.0


def dcg(gains: list[float], size: int, k: int) -> float:
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, size) + 1))
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], 1)) / ideal if ideal else 0.0


def row_scores(gains: list[float], size: int, k: int) -> tuple[float, float, float]:
    """P, nDCG and R of one document with these gains, best-placed first."""
    return sum(gains[:k]) / k, dcg(gains, size, k), sum(gains[:k]) / max(size, 1)


def plain(rows: list[list[int]], truth: list[set[int]], weights: np.ndarray, k: int, credit: set[int]) -> dict:
    """Every metric at k, straight from its definition; only labels in `credit` earn anything."""
    hits = [[float(label in true and label in credit) for label in row] for row, true in zip(rows, truth)]
    heavy = [[weights[label] * hit for label, hit in zip(row, found)] for row, found in zip(rows, hits)]
    best = [sorted((weights[label] for label in true), reverse=True) for true in truth]
    sums = {
        kind: np.sum([row_scores(gains, len(true), k) for gains, true in zip(rows_of_gains, truth)], axis=0)
        for kind, rows_of_gains in {"hits": hits, "heavy": heavy, "best": best}.items()
    }
    found = {label for row, true in zip(rows, truth) for label in row[:k] if label in true and label in credit}
    present = set().union(*truth)
    names = ("P", "nDCG", "R")
    result = {f"{name}@{k}": ratio(sums["hits"][at], len(rows)) for at, name in enumerate(names)}
    result |= {f"PS{name}@{k}": ratio(sums["heavy"][at], sums["best"][at]) for at, name in enumerate(names)}
    return result | {f"coverage@{k}": ratio(len(found), len(present))}


@given(cases())
@settings(deadline=None, max_examples=150)
def test_metrics_agree_with_the_plain_definitions(case: Case):
    rows, truth = case.scored()
    weights, found = inverse_propensity(counted(case.counts, case.documents), 0.55, 1.5), case.evaluation()
    for k in (1, 2, 4, 7):
        expected = plain(rows, truth, weights, k, credit=set(range(len(weights))))
        assert {name: found.metrics[name] for name in expected} == pytest.approx(expected)


@given(cases())
@settings(deadline=None, max_examples=100)
def test_deciles_agree_with_the_plain_definitions(case: Case):
    rows, truth = case.scored()
    train = counted(case.counts, case.documents)
    weights = inverse_propensity(train, 0.55, 1.5)
    for at, decile in enumerate(case.evaluation().by_decile):
        members = set(np.flatnonzero(train.deciles() == at).tolist())
        inside = [(row, labels & members) for row, labels in zip(rows, truth) if labels & members]
        assert (decile.documents, decile.pairs) == (len(inside), sum(len(labels) for _, labels in inside))
        for k in (1, 4):
            expected = plain(rows, truth, weights, k, credit=members)
            assert {name: decile.contribution[name] for name in expected} == pytest.approx(expected)
            expected = plain([row for row, _ in inside], [t for _, t in inside], weights, k, members) if inside else {}
            assert {name: decile.within[name] for name in expected} == pytest.approx(expected)


@given(cases())
@settings(deadline=None, max_examples=50)
def test_contributions_of_the_ten_deciles_sum_to_the_metric(case: Case):
    found = case.evaluation()
    assert len(found.by_decile) == N_DECILES
    for name, value in found.metrics.items():
        assert sum(decile.contribution[name] for decile in found.by_decile) == pytest.approx(value)


@given(cases())
@settings(deadline=None, max_examples=50)
def test_the_recall_curve_goes_through_recall_at_every_k(case: Case):
    found = case.evaluation()
    assert len(found.recall_curve) == case.k
    for k in (1, 2, 4, 7):
        assert found.recall_curve[min(k, case.k) - 1] == pytest.approx(found.metrics[f"R@{k}"])


def random_case(rng: np.random.Generator, n: int, n_labels: int, k: int) -> Case:
    rows = [rng.permutation(n_labels)[: rng.integers(0, k + 1)].tolist() for _ in range(n)]
    popular = np.minimum(rng.zipf(1.5, (n, 4)) - 1, n_labels - 1)
    truth = [set(row[: rng.integers(0, 5)].tolist()) | set(ranked[1:3]) for row, ranked in zip(popular, rows)]
    return Case(rows, k, truth, [set() for _ in rows], rng.integers(0, 50, n_labels).tolist(), 60)


def test_it_does_not_matter_how_many_documents_are_scored_at_once(monkeypatch: pytest.MonkeyPatch):
    case = random_case(np.random.default_rng(0), 50, 30, 8)
    at_once = case.evaluation()
    monkeypatch.setattr(metrics, "ROWS_AT_ONCE", 7)
    in_parts = case.evaluation()
    assert in_parts.metrics == pytest.approx(at_once.metrics)
    assert in_parts.recall_curve == pytest.approx(at_once.recall_curve)
    for one, other in zip(in_parts.by_decile, at_once.by_decile):
        assert (one.documents, one.pairs) == (other.documents, other.pairs)
        assert one.within == pytest.approx(other.within) and one.contribution == pytest.approx(other.contribution)


# -- another implementation -----------------------------------------------------------------------------------------


def assert_napkinxc_agrees(
    rows: list[list[int]], k: int, truth: list[list[int]], train: sp.csr_array, found: dict
) -> None:
    from napkinxc import metrics as other

    weights = other.Jain_et_al_inverse_propensity(sp.csr_matrix(train), A=0.55, B=1.5)
    np.testing.assert_allclose(inverse_propensity(Frequencies.of(train), 0.55, 1.5), weights)
    theirs = {
        "P": other.precision_at_k(truth, rows, k),
        "nDCG": other.ndcg_at_k(truth, rows, k),
        "R": other.recall_at_k(truth, rows, k),
        "PSP": other.psprecision_at_k(truth, rows, weights, k),
        "PSnDCG": other.psndcg_at_k(truth, rows, weights, k),
        "PSR": other.psrecall_at_k(truth, rows, weights, k),
        "coverage": other.coverage_at_k(truth, rows, k),
    }
    assert theirs.keys() == METRICS.keys()
    for name, values in theirs.items():
        np.testing.assert_allclose([found[f"{name}@{at}"] for at in range(1, k + 1)], 100 * values, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_napkinxc_agrees_on_random_rankings(seed: int):
    rng = np.random.default_rng(seed)
    case = random_case(rng, n=200, n_labels=40, k=8)
    train = sp.random_array((300, 40), density=0.05, format="csr", rng=rng).astype(bool).astype(float)
    found = evaluate_ranking(
        ranking_of(case.rows, 8), case.matrix(case.truth), train=Frequencies.of(train), ks=range(1, 9)
    )
    assert any(not labels for labels in case.truth) and any(len(row) < 8 for row in case.rows)
    assert_napkinxc_agrees(case.rows, 8, [sorted(labels) for labels in case.truth], train, found.metrics)


@pytest.mark.slow
def test_napkinxc_agrees_on_a_real_ranking(real_corpora: Path):
    train, test = (read_labels(real_corpora / "wordnet-glosses" / f"{split}.json.xz") for split in ("trn", "tst"))
    texts, truth = test
    ranking = nearest_centroids(train, texts, k=100)
    seen = label_matrix(train[1])
    found = evaluate_ranking(ranking, label_matrix(truth), train=Frequencies.of(seen), ks=range(1, 11)).metrics
    assert found["P@1"] > 30 and found["R@100"] > 60, "a ranking worth measuring"
    rows = [[label for label in row if label != PAD] for row in ranking.labels.tolist()]
    assert_napkinxc_agrees(rows, 10, truth, seen, found)


def read_labels(path: Path) -> tuple[list[str], list[list[int]]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    return [document["title"] for document in documents], [document["target_ind"] for document in documents]


def label_matrix(rows: list[list[int]], n_labels: int = 18_909) -> sp.csr_array:
    starts = np.cumsum([0, *map(len, rows)])
    return sp.csr_array((np.ones(starts[-1]), np.concatenate([*rows, []]).astype(int), starts), (len(rows), n_labels))


def nearest_centroids(train: tuple[list[str], list[list[int]]], texts: list[str], k: int) -> Ranking:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    words = TfidfVectorizer(sublinear_tf=True).fit(train[0])
    centroids = normalize(label_matrix(train[1]).T @ words.transform(train[0])).T.tocsr()
    parts = [sp.csr_array(words.transform(texts[at : at + 1000]) @ centroids) for at in range(0, len(texts), 1000)]
    return Ranking.joined(Ranking.of_scores(part, k) for part in parts)


# -- what users see ---------------------------------------------------------------------------------------------------


def test_the_json_has_four_parts_and_percentages():
    found = evaluate_ranking(RANKING, TRUTH, train=Frequencies.of(TRAIN))
    told = json.loads(json.dumps(dataclasses.replace(found, corpus={"name": "toy"}, model={"seed": 3}).to_json()))
    assert told.keys() == {"metrics", "by_decile", "corpus", "model"}
    assert (told["metrics"]["P@1"], told["metrics"]["P@3"]) == (50.0, 33.3333)
    assert (told["corpus"], told["model"]) == ({"name": "toy"}, {"seed": 3})
    assert [decile["decile"] for decile in told["by_decile"]] == list(range(1, 11))
    assert told["by_decile"][0]["contribution"].keys() == told["metrics"].keys()


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0, 5, 1], "row 1 of the ranking names label 5, but the labels are 0 to 4"),
        ([0, -2, 1], "names label -2"),
        ([3, 1, 3], "row 1 of the ranking names label 3 twice"),
        ([3, PAD, 1], "row 1 of the ranking has a label behind PAD"),
    ],
)
def test_a_malformed_row_is_named(row: list[int], message: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metrics, "ROWS_AT_ONCE", 1)
    with pytest.raises(RankingError, match=message):
        evaluate_ranking(ranking_of([[0, 1, 2], row], 3), matrix(["10000", "01000"]))


def test_shapes_that_do_not_fit_are_refused():
    rows, truth = ranking_of([[0], [1]], 1), matrix(["10", "01"])
    with pytest.raises(RankingError, match="2 rows, but the truth has 1 documents"):
        evaluate_ranking(rows, matrix(["10"]))
    with pytest.raises(CorpusError, match="training knew 3 labels, but the truth has 2"):
        evaluate_ranking(rows, truth, train=counted([1, 1, 1], 5))
    with pytest.raises(CorpusError, match="filter"):
        evaluate_ranking(rows, truth, filtered=matrix(["10"]))
    with pytest.raises(CorpusError, match="no documents"):
        evaluate_ranking(Ranking(np.empty((0, 1), np.int32), np.empty((0, 1), np.float32)), sp.csr_array((0, 2)))
    with pytest.raises(RankingError, match="float64"):
        evaluate_ranking(Ranking(np.zeros((2, 1)), np.zeros((2, 1))), truth)


@pytest.mark.parametrize("ks", [[], [0], [1, -3], [1.5]])
def test_cut_offs_are_whole_numbers_from_one(ks: list):
    with pytest.raises(ConfigError, match="ks"):
        evaluate_ranking(RANKING, TRUTH, ks=ks)
