"""Tables of an evaluation say what its numbers say."""

from __future__ import annotations

import dataclasses

from longtail.judge.calibration import Threshold
from longtail.judge.metrics import Evaluation
from longtail.report import evaluation as report
from tests.unit.report.terminal import cells, shown


def test_the_table_has_a_line_for_each_metric_and_a_column_for_each_k(evaluation: Evaluation):
    text = shown(report.table(evaluation, "guess on toy, %"))
    assert text.startswith("guess on toy, %")
    assert cells(text, "@1") == ["@1", "@3", "@5", "@10", "@20"]
    for name in ("P", "nDCG", "PSP", "PSnDCG", "PSR", "coverage"):
        assert cells(text, name) == [name, *(f"{evaluation.metrics[f'{name}@{k}']:.2f}" for k in (1, 3, 5))]
    assert cells(text, "R") == ["R", *(f"{evaluation.metrics[f'R@{k}']:.2f}" for k in (1, 3, 5, 10, 20))]


def test_the_decile_table_has_parts_that_add_up_and_what_is_found_within(evaluation: Evaluation):
    text = shown(report.decile_table(evaluation.by_decile))
    first = evaluation.by_decile[0]
    assert "4 labels a decile" in text
    expected = [first.contribution["P@1"], first.contribution["P@5"]]
    expected += [first.within["R@5"], first.within["R@20"], first.within["PSP@5"]]
    assert cells(text, "1") == ["1", "11,100–12,000", str(first.pairs), *(f"{value:.2f}" for value in expected)]


def test_the_reliability_table_has_a_line_for_each_bin(evaluation: Evaluation):
    text = shown(report.scores_report(evaluation))
    assert "Scores as probabilities: ECE@5 12.35 %" in text or "ECE@5 12.34 %" in text
    assert cells(text, "0.0000–0.2500") == ["0.0000–0.2500", "200", "12.50", "25.00"]
    assert cells(text, "0.2500–1.0000") == ["0.2500–1.0000", "100", "50.00", "75.00"]


def test_tables_fit_a_terminal_of_eighty_columns(evaluation: Evaluation):
    assert "…" not in shown(report.table(evaluation, "guess on toy, %"))


def test_without_frequencies_there_is_one_table(evaluation: Evaluation):
    assert "decile" not in shown(report.table(dataclasses.replace(evaluation, by_decile=[]), "guess"))


def test_a_decile_without_true_pairs_has_nothing_to_find(evaluation: Evaluation):
    assert evaluation.by_decile[9].pairs == 0
    assert cells(shown(report.decile_table(evaluation.by_decile)), "10") == ["10", "300–1,200", "0", "0.00", "0.00"]


def test_a_threshold_is_told_with_what_it_is_worth(evaluation: Evaluation):
    own = Threshold(0.25, 100, "f1", 80.0, 60.0, 68.57, 1.5)
    text = shown(report.scores_report(dataclasses.replace(evaluation, threshold=own)), width=120)
    assert "threshold 0.25 for f1: precision 80.00, recall 60.00, F1 68.57 %, 1.50 labels a document" in text


def test_calibrating_tells_the_error_before_and_after(evaluation: Evaluation):
    after = dataclasses.replace(evaluation.reliability, ece=1.0)
    text = shown(report.calibration_table(evaluation.reliability, after, "guess on toy"), width=120)
    assert "12.35 % before, 1.00 % after" in text or "12.34 % before, 1.00 % after" in text
