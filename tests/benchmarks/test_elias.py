"""The ablation of ELIAS: rows that are not lost, differ in one thing, and say what they cost only where it is known."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import elias, machine
from longtail.corpus import Splits


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of this test alone."""
    for module in (elias, machine):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    return tmp_path


def run_main(monkeypatch: pytest.MonkeyPatch, splits: Splits, rows: list[tuple], *words: str) -> None:
    """The command, with these rows for models, none of which is really trained or judged."""
    monkeypatch.setattr(sys, "argv", ["elias", "planted", *words])
    monkeypatch.setattr(elias, "models", lambda name, train, missing, runs: iter(rows))
    monkeypatch.setattr(elias.longtail, "load", lambda path: splits)
    judged = SimpleNamespace(metrics=dict.fromkeys(elias.SHOWN, 50.0))
    monkeypatch.setattr(elias.longtail, "evaluate", lambda model, corpus: judged)
    elias.main()


def test_a_row_that_another_process_adds_meanwhile_stays(
    results: Path, planted: Splits, monkeypatch: pytest.MonkeyPatch
):
    def rows() -> Iterator[tuple]:
        yield "stage 1", None, 7.4
        theirs = {"one-vs-all": {"metrics": dict.fromkeys(elias.SHOWN, 1.0), "cpu seconds": 1}}
        machine.save("elias", machine.earlier("elias") | {"other": theirs})
        yield "+ stage 2", None, None

    run_main(monkeypatch, planted, rows())
    found = machine.earlier("elias")
    assert found["planted"].keys() == {"stage 1", "+ stage 2"} and found["other"].keys() == {"one-vs-all"}
    assert [row["cpu seconds"] for row in found["planted"].values()] == [7, None]


# -- what a row cost ------------------------------------------------------------------------------------------------


def test_a_training_that_was_finished_before_costs_what_it_cost_then(planted: Splits, tmp_path: Path):
    _, first = elias.trained("centroid", planted.train, tmp_path / "run", {})
    _, again = elias.trained("centroid", planted.train, tmp_path / "run", {})
    assert first is not None and again == first


def test_a_training_of_which_part_is_not_written_down_says_no_seconds(planted: Splits, tmp_path: Path):
    elias.longtail.fit("centroid", planted.train, run=tmp_path / "run")  # by somebody else, or killed half way
    assert elias.trained("centroid", planted.train, tmp_path / "run", {})[1] is None
    assert elias.together(3.0, None, 4.0) is None and elias.together(3.0, 4.0) == 7


def test_stages_found_again_are_told(tmp_path: Path):
    (tmp_path / "both" / "stages" / "words").mkdir(parents=True)
    assert elias.found_again(tmp_path / "both", tmp_path / "best", "stages", "training/stage-1")
    assert not elias.found_again(tmp_path / "none", tmp_path / "best", "stages")
