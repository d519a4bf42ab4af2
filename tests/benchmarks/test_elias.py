"""The ablation of ELIAS: rows that are not lost, differ in one thing, and say what they cost only where it is known."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import elias, machine
from longtail.corpus import Splits
from longtail.index.graph import Graph, GraphIndex
from longtail.methods.elias.model import Elias
from longtail.methods.eliaspp import EliasPlusPlus
from longtail.rankers.graphed import Graphed
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.score_tree import ScoreTree


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


# -- rows -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Model:
    """A Predictor's place."""

    model: object


def test_every_row_has_its_training():
    assert sorted(row for rows in elias.TRAININGS.values() for row in rows) == sorted(elias.ROWS)


def test_parts_of_the_calibrated_model_differ_in_one_thing_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    tree = ScoreTree(*(np.zeros(1, int),) * 4, np.ones(1, np.float32), depth=0)
    whole = EliasPlusPlus("ELIAS", None, None, np.ones(2), tree, 0.3, 100, "words", ranker_weight=0.8)
    monkeypatch.setattr(elias, "trained", lambda *given: (Model(whole), 99.0))
    rows = {row: (model.model, seconds) for row, model, seconds in elias.calibrated(None, tmp_path, {})}
    assert tuple(rows) == elias.TRAININGS[elias.calibrated]
    half, chosen, last = (model for model, _ in rows.values())
    assert last is whole
    assert (half.tree, half.ranker_weight) == (None, 0.5) and (chosen.tree, chosen.ranker_weight) == (None, 0.8)
    assert [seconds for _, seconds in rows.values()] == [None, None, 198.0]  # ELIAS's, and what is on top


def test_a_wider_beam_changes_how_a_graph_is_asked_and_nothing_else():
    graph = Graph(np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float32))
    index = GraphIndex(graph, LabelRows(np.zeros((1, 2)), np.zeros(1)), 100, 10.0, 10.0, 1000, 5000, add=True)
    wider = elias.with_wider_beam(Model(Elias(None, Graphed(index, None)))).model.graphed.index
    assert (wider.beam, wider.shortlist) == (200, 2000)
    assert dataclasses.replace(wider, beam=100, shortlist=1000) == index


def test_only_the_trainings_of_missing_rows_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def stub(row: str) -> elias.Training:
        return lambda train, runs, settings: iter([(row, None, None)])

    rows = {"a": ("a", "b"), "c": ("c",)}
    monkeypatch.setattr(elias, "TRAININGS", {stub(name): made for name, made in rows.items()})
    assert [row for row, *_ in elias.models("planted", None, {"b"}, tmp_path)] == ["a"]


def test_what_was_judged_before_stays_as_it_was(results: Path, planted: Splits, monkeypatch: pytest.MonkeyPatch):
    before = {"+ calibration": {"metrics": dict.fromkeys(elias.SHOWN, 1.0), "cpu seconds": 369}}
    machine.save("elias", {"planted": before})
    run_main(monkeypatch, planted, [("+ calibration", None, None), ("+ sparse ranker", None, None)])
    found = machine.earlier("elias")["planted"]
    assert found["+ calibration"] == before["+ calibration"] and found["+ sparse ranker"]["metrics"]["P@1"] == 50


def test_a_table_has_rows_in_order_older_ones_last_and_dashes_for_what_is_not_known():
    known = {"metrics": dict.fromkeys(elias.SHOWN, 1.0), "cpu seconds": 5}
    unknown = {"metrics": {"P@1": 2.0}, "cpu seconds": None}
    lines = elias.table({"toy": {"of old": known, "+ stage 2": unknown, "stage 1": known}}).splitlines()[-3:]
    assert [line.split(" | ")[0] for line in lines] == ["| stage 1", "| + stage 2", "| of old"]
    assert lines[1] == "| + stage 2 | 2.00 | " + " | ".join("–" * len(elias.SHOWN)) + " |"
    assert lines[0].endswith("| 1.00 | 5 |")


def test_the_results_that_are_there_can_be_shown():
    results = machine.earlier("elias")
    table = elias.table(results)
    assert all(f"| {row} |" in table for rows in results.values() for row in rows)
