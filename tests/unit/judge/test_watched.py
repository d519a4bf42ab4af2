"""An evaluation that is watched moves a bar, and answers as one that is not."""

from __future__ import annotations

import numpy as np
import pytest

import longtail
from longtail.corpus import Splits
from longtail.errors import RunError
from longtail.judge.evaluation import answer
from longtail.progress import watch
from tests.terminal import on_a_terminal


@pytest.mark.parametrize("method", ["centroid", "linear"])
def test_parts_give_the_same_ranking_and_a_bar(method: str, planted: Splits, monkeypatch: pytest.MonkeyPatch):
    model = longtail.fit(method, planted.train)
    expected = answer(model, planted.test).ranking
    monkeypatch.setattr("longtail.judge.evaluation.FEWEST", 7)
    monkeypatch.setattr("longtail.progress.MOMENT", 0.0)
    monkeypatch.setattr("longtail.progress.BAR_SECONDS", 0.0)
    with on_a_terminal() as terminal:
        watch(print)
        found = answer(model, planted.test).ranking
        watch(None)
        assert "ranking documents" in terminal.seen and terminal.is_as_before
    assert np.array_equal(found.labels, expected.labels) and np.array_equal(found.scores, expected.scores)


def test_what_does_not_fit_into_memory_is_refused_though_a_part_would(planted: Splits, monkeypatch: pytest.MonkeyPatch):
    model = longtail.fit("centroid", planted.train)
    monkeypatch.setattr("longtail.judge.evaluation.FEWEST", 7)
    monkeypatch.setattr("longtail.predict.predictor.UNASKED", 50_000)
    monkeypatch.setattr("longtail.predict.predictor.free_memory", lambda: 60_000)
    with on_a_terminal():
        watch(print)
        with pytest.raises(RunError, match="are free"):
            answer(model, planted.test)
        watch(None)
