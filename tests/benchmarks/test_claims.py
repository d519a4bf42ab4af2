"""Rows of the papers' claims: every setting and every variant that they name is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import claims, claims_page, decaf_claims, elias, ensemble, lightdxml_claims
from benchmarks.claims_judge import Judge, interval, verdict
from benchmarks.claims_table import BEFORE, CLAIMS, PEER, VARIANTS, Variant
from benchmarks.side_by_side import PEERS
from longtail.config import build
from longtail.judge.metrics import evaluate_ranking
from longtail.methods import method
from longtail.ranking import Ranking
from longtail.sparse import sp
from tests.planted import N_LABELS, planted_corpus

ROWS = {
    **{f"decaf: {row}": (name, decaf_claims.SHORT | own) for row, (name, own) in decaf_claims.VARIANTS.items()},
    **{f"lightdxml: {row}": ("lightdxml", own) for row, own in lightdxml_claims.variants().items()},
    **{f"ensemble: {row}": each for row, each in ensemble.MEMBERS.items()},
    **{f"elias: {corpus}": ("elias", elias.settings_for(corpus)) for corpus in elias.CORPORA},
}


@pytest.mark.parametrize("row", ROWS)
def test_settings_of_every_row_are_there(row: str):
    name, settings = ROWS[row]
    build(method(name).Config, settings)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_of_a_claim_can_be_trained_and_asked(name: str):
    variant = VARIANTS[name]
    assert variant.way.partition("=")[0] in claims.WAYS
    if variant.method.startswith(PEER):
        assert variant.method.removeprefix(PEER) in PEERS
    else:
        build(method(variant.method).Config, claims.settings_of(variant))


def test_every_claim_compares_two_models_of_one_corpus_or_says_why_not():
    for claim in CLAIMS:
        sides = [VARIANTS[name] for name in (claim.a, claim.b) if name]
        assert bool(sides) != bool(claim.untestable), claim
        assert len({(side.corpus, side.documents) for side in sides}) <= 1, claim
        assert claim.b or claim.published is not None or claim.untestable, claim
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS)


def test_ways_to_ask_one_model_share_its_training_and_other_settings_do_not():
    plain, asked = Variant("c", "lightdxml"), Variant("c", "lightdxml", way="beta=1")
    assert claims.place_of(plain, 0) == claims.place_of(asked, 0)
    assert claims.ranking_of(plain, 0) != claims.ranking_of(asked, 0)
    others = [Variant("c", "lightdxml", {"beta": 1}), Variant("c", "lightdxml", documents=5), Variant("d", "lightdxml")]
    assert len({claims.place_of(each, 0) for each in (plain, *others)}) == 4


def test_shuffled_labels_have_other_names_and_the_same_documents():
    corpus = planted_corpus(200, 1, "train")
    other = claims.shuffled(corpus)
    names = [label_set[at].name for label_set in (corpus.label_set, other.label_set) for at in range(N_LABELS)]
    assert sorted(names[:N_LABELS]) == sorted(names[N_LABELS:]) and names[:N_LABELS] != names[N_LABELS:]
    assert (corpus.labels != other.labels).nnz == 0


def test_results_stay_while_their_settings_do(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(claims, "RUNS", tmp_path)  # nothing is trained here
    claim = next(claim for claim in CLAIMS if claim.b)
    result = {"verdict": "holds", "trained": claims.trained_for(claim)}
    assert claims.judge_all({claim.key: result}) == {claim.key: result}
    assert claims.judge_all({claim.key: result | {"trained": ["with other settings"]}}) == {}
    assert claims.judge_all({"no claim any more": result}) == {}


@pytest.fixture
def judge() -> Judge:
    """30 test documents of the planted corpus, some of whose true pairs are filtered."""
    filtered = sp.csr_array(np.random.default_rng(0).random((30, N_LABELS)) < 0.3)
    return Judge(planted_corpus(200, 1, "train"), replace(planted_corpus(30, 2, "test"), filtered=filtered))


def ranked(seed: int, documents: int = 30, labels: int = N_LABELS) -> Ranking:
    rng = np.random.default_rng(seed)
    order = np.stack([rng.permutation(labels) for _ in range(documents)]).astype(np.int32)
    return Ranking(order, np.tile(np.linspace(1, 0, labels, dtype=np.float32), (documents, 1)))


@pytest.mark.parametrize("metric", ["P@1", "P@5", "PSP@1", "PSP@3", "R@10"])
def test_metrics_by_document_add_up_to_the_metric(judge: Judge, metric: str):
    expected = evaluate_ranking(
        ranked(0), judge.test.labels, train=judge.frequencies, filtered=judge.test.filtered
    ).metrics  # fmt: skip
    assert judge.value(ranked(0), metric) == pytest.approx(expected[metric])
    parts = [judge.value(ranked(0), f"{metric}|{low}-{high}") for low, high in ((1, 4), (5, 10))]
    assert sum(parts) == pytest.approx(expected[metric])


def test_an_interval_holds_the_difference_and_that_of_equals_is_nothing(judge: Judge):
    a, b = [ranked(0), ranked(1)], [ranked(2), ranked(3)]
    low, high = interval(judge, a, b, "PSP@3 - P@5", 0)
    gap = np.mean([judge.value(each, "PSP@3 - P@5") for each in a])
    gap -= np.mean([judge.value(each, "PSP@3 - P@5") for each in b])
    assert low < gap < high
    assert interval(judge, a, a, "P@1", 0) == [0, 0]
    low, high = interval(judge, a, [], "P@1", 20.0)
    assert low < np.mean([judge.value(each, "P@1") for each in a]) - 20 < high


@pytest.mark.parametrize(
    ("expects", "ours", "theirs", "between", "said"),
    [
        (">", [3.0, 3.1], [2.0, 2.1], [0.5, 1.5], "holds"),
        (">", [3.0, 3.1], [2.0, 2.1], [-0.1, 1.5], "not shown"),
        (">", [3.0, 3.0], [2.0, 3.1], [0.1, 0.8], "not shown"),  # seeds disagree
        (">", [2.0, 2.1], [3.0, 3.1], [-1.5, -0.5], "does not hold"),
        ("≥", [2.9, 3.0], [3.0, 3.1], [-0.4, 0.2], "holds"),
        ("≥", [2.0, 2.1], [3.0, 3.1], [-1.5, -0.6], "does not hold"),
        ("≥", [2.5, 2.6], [3.0, 3.1], [-0.8, -0.2], "not shown"),
        ("≈", [82.0], [82.4], [-1.5, 0.7], "holds"),
        ("≈", [81.7], [82.4], [-1.5, 0.7], "does not hold"),
        ("<", [1.0, 1.1], [2.0], None, "holds"),
        ("<", [1.0, 2.1], [2.0], None, "not shown"),
        ("<", [3.0, 2.1], [2.0], None, "does not hold"),
        (">", [3.0, 2.1], [2.0], None, "holds"),
    ],
)
def test_verdicts(expects: str, ours: list, theirs: list, between: list | None, said: str):
    assert verdict(expects, ours, theirs, between) == said


def test_earlier_numbers_are_where_the_table_says():
    for name, places in BEFORE.items():
        assert name in VARIANTS
        assert all(row in claims.earlier(table)[corpus] for table, corpus, row in places)


def test_the_page_has_a_row_for_every_claim(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(claims_page, "PAGE", tmp_path / "claims.md")
    claim = next(claim for claim in CLAIMS if claim.a and claim.b)
    result = {"a": [1.0, 2.0], "b": [0.5], "difference": 1.0, "interval": [0.5, 1.5], "verdict": "holds"}
    claims_page.write({claim.key: result})
    page = (tmp_path / "claims.md").read_text("utf-8")
    assert page.count("**holds**") == 2  # the row, and what the word means
    assert "1.50 ± 0.71 | 0.50 | +1.00 (+0.50 … +1.50) | – |" in page
    assert all(claim.says in page for claim in CLAIMS)
