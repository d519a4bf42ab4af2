"""Cross-validation and a search over settings: resumed, never mixed up, never by test documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longtail.auto.fit import fit
from longtail.corpus import Corpus, Splits
from longtail.data.hashes import content_hashes
from longtail.errors import ConfigError, CorpusError, RunError
from longtail.judge.trials import Bench, as_toml, choices, combinations, cross_validate, folds, search
from longtail.report.trials import folds_json


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(fit, "centroid", tmp_path / "trials", lambda line: None)


def test_every_document_judges_once_and_equal_texts_stay_together():
    texts = [f"text {at % 40}" for at in range(100)]
    corpus = Corpus.of(texts, [["a"]] * 100)
    parts = list(folds(corpus, 4))
    assert sorted(len(judge) for _, judge in parts)[0] >= 20
    assert sum(len(judge) for _, judge in parts) == 100
    for learn, judge in parts:
        assert len(learn) + len(judge) == 100
        assert not np.isin(content_hashes(judge.documents), content_hashes(learn.documents)).any()


@pytest.mark.parametrize("number", [1, 41])
def test_more_folds_than_documents_are_refused(number: int):
    corpus = Corpus.of([f"text {at % 40}" for at in range(100)], [["a"]] * 100)
    with pytest.raises(ConfigError, match="from 2 to the 40 different documents"):
        next(folds(corpus, number))


def test_folds_are_measured_once_and_their_runs_deleted(bench: Bench, planted: Splits, monkeypatch: pytest.MonkeyPatch):
    trials = cross_validate(bench, planted.train, 3, {})
    assert all(trial.metrics["P@1"] > 80 for trial in trials) and sum(trial.documents for trial in trials) == 600
    assert len(list((bench.place / "results").iterdir())) == 3 and not any((bench.place / "runs").iterdir())
    told = folds_json(trials)
    assert told["mean"]["P@1"] == pytest.approx(np.mean([trial.metrics["P@1"] for trial in trials]), abs=1e-4)
    again = Bench(refusing, "centroid", bench.place, bench.say)
    assert cross_validate(again, planted.train, 3, {}) == trials


def refusing(*args: Any, **options: Any) -> Any:
    raise AssertionError("it was trained again")


def test_numbers_of_another_training_are_not_taken(bench: Bench, planted: Splits):
    cross_validate(bench, planted.train, 2, {})
    with pytest.raises(RunError, match="another settings"):
        cross_validate(bench, planted.train, 2, {"words.ngrams": "2"})
    with pytest.raises(RunError, match="another train"):
        cross_validate(bench, planted.train, 3, {})


def test_a_run_is_no_place_for_trials(bench: Bench, planted: Splits):
    fit("centroid", planted.train, bench.place)
    with pytest.raises(RunError, match="a directory of their own"):
        cross_validate(bench, planted.train, 2, {})


def test_test_documents_never_take_part(bench: Bench, planted: Splits):
    with pytest.raises(CorpusError, match="test split"):
        cross_validate(bench, planted.test, 2, {})
    seen: list[str] = []

    def watched(name: str, corpus: Corpus, run: Path, **options: Any) -> Any:
        seen.append(corpus.fingerprint)
        return fit(name, corpus, run, **options)

    trials = search(Bench(watched, "centroid", bench.place, bench.say), planted, [{}], {}, "nDCG@5", 5)
    assert seen == [planted.without_valid.fingerprint] and trials[0].documents == len(planted.valid)


def test_a_search_finds_the_better_setting_and_goes_on_where_it_was(bench: Bench, planted: Splits):
    """With the words of noise alone the centroid method can tell little apart."""
    asked = choices(["words.min_df=50,1"])
    assert asked == {"words.min_df": ["50", "1"]}
    trials = search(bench, planted, combinations(asked, 50), {}, "P@1", 1)
    assert len(trials) == 3 and trials[-1].settings == {"words.min_df": "50"}
    assert trials[0].metrics["P@1"] > trials[-1].metrics["P@1"] + 20
    assert search(Bench(refusing, "centroid", bench.place, bench.say), planted, combinations(asked, 50), {}, "P@1", 1)


def test_combinations_are_all_or_so_many_at_random():
    asked = {"a": ["1", "2", "3"], "b": ["x", "y"]}
    assert len(combinations(asked, 50)) == 7 and combinations(asked, 50)[0] == {}
    few = combinations(asked, 2, seed=1)
    assert len(few) == 3 and few == combinations(asked, 2, seed=1)
    assert all(one in combinations(asked, 50) for one in few)
    with pytest.raises(ConfigError, match="name the values"):
        combinations({"a": []}, 5)


def test_values_with_commas_are_in_quotes_or_brackets():
    assert choices(["a=[1,2],3", 'b="x,y",z']) == {"a": ["1,2", "3"], "b": ["x,y", "z"]}
    assert as_toml({"a": "1,2", "b": "0.5", "c": "1e-3"}) == 'a = "1,2"\nb = 0.5\nc = 1e-3\n'
