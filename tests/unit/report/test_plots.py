"""Plots show what the numbers say."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from longtail.corpus import PAD
from longtail.errors import ConfigError, MissingExtraError
from longtail.index.graph import Graph, GraphIndex
from longtail.judge.metrics import Evaluation
from longtail.predict.predictor import About, Predictor
from longtail.rankers.label_rows import LabelRows
from longtail.report import plots


@dataclasses.dataclass(frozen=True)
class Holder:
    """A model that has a graph somewhere inside, or none."""

    index: GraphIndex | None


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Figures by file name, instead of files."""
    kept: dict[str, object] = {}
    monkeypatch.setattr(plots, "_save", lambda figure, path: kept.update({path.name: figure}) or path)
    return kept


def test_plots_are_png_files(evaluation: Evaluation, tmp_path: Path):
    paths = plots.evaluation_plots(evaluation, tmp_path / "new" / "plots")
    assert {path.name for path in paths} == {
        "precision-by-decile.png", "recall-by-decile.png", "recall-parts-by-decile.png", "recall-curve.png",
        "reliability.png",
    }  # fmt: skip
    for path in paths:
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_bars_of_precision_are_the_contributions(evaluation: Evaluation, figures: dict):
    plots.evaluation_plots(evaluation, Path("unused"))
    axes = figures["precision-by-decile.png"].axes[0]
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    names = ("P@1", "P@3", "P@5")
    assert heights == [[decile.contribution[name] for decile in evaluation.by_decile] for name in names]
    assert [bars.get_label() for bars in axes.containers] == [f"{n} = {evaluation.metrics[n]:.1f}" for n in names]
    assert "%" in axes.get_ylabel() and "guess on toy" in [text.get_text() for text in axes.texts]


def test_the_bars_of_recall_are_within_the_deciles_and_absent_where_nothing_is_true(
    evaluation: Evaluation, figures: dict
):
    plots.evaluation_plots(evaluation, Path("unused"))
    axes = figures["recall-by-decile.png"].axes[0]
    assert [bars.get_label() for bars in axes.containers] == ["R@1", "R@5", "R@20"]
    deepest = [bar.get_height() for bar in axes.containers[-1]]
    assert deepest[:9] == [decile.within["R@20"] for decile in evaluation.by_decile[:9]] and np.isnan(deepest[9])


def test_the_curve_is_recall_at_every_depth(evaluation: Evaluation, figures: dict):
    plots.evaluation_plots(evaluation, Path("unused"))
    axes = figures["recall-curve.png"].axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), evaluation.recall_curve)
    assert f"{evaluation.metrics['R@20']:.1f}" in [text.get_text() for text in axes.texts]


def test_the_bars_of_recall_parts_add_up_to_recall(evaluation: Evaluation, figures: dict):
    plots.evaluation_plots(evaluation, Path("unused"))
    (bars,) = figures["recall-parts-by-decile.png"].axes[0].containers
    heights = [bar.get_height() for bar in bars]
    assert heights == [decile.contribution["R@20"] for decile in evaluation.by_decile]
    assert sum(heights) == pytest.approx(evaluation.metrics["R@20"])


def test_the_reliability_diagram_shows_every_bin_beside_the_diagonal(evaluation: Evaluation, figures: dict):
    plots.evaluation_plots(evaluation, Path("unused"))
    diagonal, bins = figures["reliability.png"].axes[0].lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [100, 100]]
    assert bins.get_xydata().tolist() == [[12.5, 25], [50, 75]]


def test_edge_weights_are_drawn_for_models_with_a_graph(figures: dict):
    graph = Graph(np.array([[0, 1], [2, PAD]], np.int32), np.array([[0, np.log(3)], [1, 0]], np.float32))
    index = GraphIndex(
        graph, LabelRows(*(np.zeros(2, np.float32),) * 2), beam=1, alpha=1.0, beta=4.0, shortlist=3, n_labels=3
    )
    about = About("elias", {}, {})
    paths = plots.edge_plots(Predictor(Holder(index), [], np.zeros(3), about), Path("unused"))
    assert [path.name for path in paths] == ["edge-weights.png"]
    curve, sure = figures["edge-weights.png"].axes[0].lines
    # Shares 3/4 and 1/4 in the first cluster, 1 in the second: heaviest first their means are 7/8 and 1/8.
    np.testing.assert_allclose(curve.get_xydata(), [[1, 0.875], [2, 0.125]], rtol=1e-6)
    assert sure.get_ydata() == [0.25, 0.25]
    assert plots.edge_plots(Predictor(Holder(None), [], np.zeros(3), about), Path("unused")) == []


def test_without_frequencies_only_the_curve_is_drawn(evaluation: Evaluation, figures: dict):
    plots.evaluation_plots(dataclasses.replace(evaluation, by_decile=[], reliability=None), Path("unused"))
    assert list(figures) == ["recall-curve.png"]


def test_without_matplotlib_the_extra_is_named(evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"longtail\[plots\]"):
        plots.evaluation_plots(evaluation, tmp_path)


def test_a_place_that_cannot_be_written_is_named(evaluation: Evaluation, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"recall-curve\.png: cannot be written"):
        plots.evaluation_plots(evaluation, tmp_path / "file")


def test_the_frequency_plot_shows_labels_with_documents_most_frequent_first(figures: dict):
    plots.frequency_plot(np.array([1, 0, 50, 7, 0]), Path("f.png"))
    axes = figures["f.png"].axes[0]
    assert axes.lines[0].get_xydata().tolist() == [[1, 50], [2, 7], [3, 1]]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "5 labels, 2 of them without a document" in [text.get_text() for text in axes.texts]


def test_the_frequency_plot_is_a_file_even_of_no_documents(tmp_path: Path):
    assert plots.frequency_plot(np.zeros(3, int), tmp_path / "f.png").stat().st_size > 1000
