"""Tables and plots say what the numbers say."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

from longtail import methods, report
from longtail.config import build, explain, parse_assignment, setting
from longtail.corpus import PAD, Splits
from longtail.data.describe import describe
from longtail.errors import ConfigError, MissingExtraError
from longtail.index.graph import Graph, GraphIndex
from longtail.judge.calibration import Bin, Reliability, Threshold
from longtail.judge.metrics import Evaluation, Frequencies, evaluate_ranking
from longtail.predict.predictor import About, Predictor
from longtail.rankers.label_rows import LabelRows
from longtail.ranking import Ranking

N, N_LABELS = 60, 40


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    rng = np.random.default_rng(0)
    labels = np.array([rng.permutation(N_LABELS)[:20] for _ in range(N)], np.int32)
    truth = sp.random_array((N, N_LABELS), density=0.1, format="lil", rng=rng)
    truth[:, 36:] = 0  # the rarest decile has no true pair
    scored = evaluate_ranking(
        Ranking(labels, np.zeros(labels.shape, np.float32)), truth.tocsr(),
        train=Frequencies(np.arange(12_000, 12_000 - 300 * N_LABELS, -300), 12_000),
    )  # fmt: skip
    judged = Reliability(5, 300, 12.345, [Bin(200, 0.0, 0.25, 0.125, 0.25), Bin(100, 0.25, 1.0, 0.5, 0.75)])
    return dataclasses.replace(scored, reliability=judged, corpus={"name": "toy"}, model={"method": "guess"})


@dataclasses.dataclass(frozen=True)
class Holder:
    """A model that has a graph somewhere inside, or none."""

    index: GraphIndex | None


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Figures by file name, instead of files."""
    kept: dict[str, object] = {}
    monkeypatch.setattr(report, "_save", lambda figure, path: kept.update({path.name: figure}) or path)
    return kept


def shown(renderable: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


def cells(text: str, first: str) -> list[str]:
    """The words of the line that starts with `first`."""
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [first])


# -- tables -------------------------------------------------------------------------------------------------------


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


def test_a_decile_without_true_pairs_has_nothing_to_find(evaluation: Evaluation):
    assert evaluation.by_decile[9].pairs == 0
    assert cells(shown(report.decile_table(evaluation.by_decile)), "10") == ["10", "300–1,200", "0", "0.00", "0.00"]


def test_the_reliability_table_has_a_line_for_each_bin(evaluation: Evaluation):
    text = shown(report.scores_report(evaluation))
    assert "Scores as probabilities: ECE@5 12.35 %" in text or "ECE@5 12.34 %" in text
    assert cells(text, "0.0000–0.2500") == ["0.0000–0.2500", "200", "12.50", "25.00"]
    assert cells(text, "0.2500–1.0000") == ["0.2500–1.0000", "100", "50.00", "75.00"]


def test_a_threshold_is_told_with_what_it_is_worth(evaluation: Evaluation):
    own = Threshold(0.25, 100, "f1", 80.0, 60.0, 68.57, 1.5)
    text = shown(report.scores_report(dataclasses.replace(evaluation, threshold=own)), width=120)
    assert "threshold 0.25 for f1: precision 80.00, recall 60.00, F1 68.57 %, 1.50 labels a document" in text


def test_calibrating_tells_the_error_before_and_after(evaluation: Evaluation):
    after = dataclasses.replace(evaluation.reliability, ece=1.0)
    text = shown(report.calibration_table(evaluation.reliability, after, "guess on toy"), width=120)
    assert "12.35 % before, 1.00 % after" in text or "12.34 % before, 1.00 % after" in text


def test_tables_fit_a_terminal_of_eighty_columns(evaluation: Evaluation):
    assert "…" not in shown(report.table(evaluation, "guess on toy, %"))


def test_without_frequencies_there_is_one_table(evaluation: Evaluation):
    assert "decile" not in shown(report.table(dataclasses.replace(evaluation, by_decile=[]), "guess"))


def test_methods_are_listed_with_their_first_sentence_and_not_imported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(methods.METHODS, "odd", "antigravity")
    monkeypatch.setitem(methods.METHODS, "known", "longtail.ranking")
    text = shown(report.methods_table(), width=120)
    assert "The answer: the best labels of each document, best first." in text
    assert "odd" in text and "antigravity" not in sys.modules


def test_settings_are_listed_with_default_meaning_and_source(monkeypatch: pytest.MonkeyPatch):
    @dataclasses.dataclass(frozen=True)
    class Config:
        beam: int = setting(10, "clusters opened per document", "PECOS")
        cap: int | None = setting(None, "at most this many")
        lite: bool = setting(True, "less of it")
        halve_at: tuple[float, ...] = setting((0.5, 0.75), "when")

    module = ModuleType("toy_method")
    module.Config = Config  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_method", module)
    monkeypatch.setitem(methods.METHODS, "toy", "toy_method")
    assert report.settings_list("toy").splitlines() == [
        "Settings of toy",
        "", "beam = 10", "    clusters opened per document", "    source: PECOS",
        "", "cap = none", "    at most this many",
        "", "lite = true", "    less of it",
        "", "halve_at = 0.5,0.75", "    when",
    ]  # fmt: skip


@pytest.mark.parametrize("name", methods.METHODS)
def test_names_of_settings_are_whole_at_any_width_and_the_rest_fits(name: str):
    names = [line.name for line in explain(methods.method(name).Config())]
    for width in (80, 30):
        lines = report.settings_list(name, width).splitlines()
        assert [line.split(" = ")[0] for line in lines if " = " in line and not line.startswith(" ")] == names
        assert all(len(line) <= width for line in lines if line.startswith(" "))


@pytest.mark.parametrize("name", methods.METHODS)
def test_defaults_as_shown_are_what_set_takes(name: str):
    lines = [line for line in report.settings_list(name).splitlines() if " = " in line and not line.startswith(" ")]
    given = dict(map(parse_assignment, lines))
    config = methods.method(name).Config
    assert given and build(config, given) == config()


@pytest.mark.parametrize("name", methods.METHODS)
def test_settings_as_json_are_those_of_the_list(name: str):
    told = json.loads(json.dumps(report.settings_json(name), allow_nan=False))
    assert told["name"] == name and told["summary"]
    assert [set(line) for line in told["settings"]] == [{"name", "default", "meaning", "source"}] * len(
        told["settings"]
    )
    assert [line["name"] for line in told["settings"]] == [line.name for line in explain(methods.method(name).Config())]


def test_names_of_methods_are_whole_on_a_narrow_terminal():
    text = shown(report.methods_table(), width=40)
    assert all(name in text for name in methods.METHODS) and "…" not in text


# -- plots --------------------------------------------------------------------------------------------------------


def test_plots_are_png_files(evaluation: Evaluation, tmp_path: Path):
    paths = report.plots(evaluation, tmp_path / "new" / "plots")
    assert {path.name for path in paths} == {
        "precision-by-decile.png", "recall-by-decile.png", "recall-parts-by-decile.png", "recall-curve.png",
        "reliability.png",
    }  # fmt: skip
    for path in paths:
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_bars_of_precision_are_the_contributions(evaluation: Evaluation, figures: dict):
    report.plots(evaluation, Path("unused"))
    axes = figures["precision-by-decile.png"].axes[0]
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    names = ("P@1", "P@3", "P@5")
    assert heights == [[decile.contribution[name] for decile in evaluation.by_decile] for name in names]
    assert [bars.get_label() for bars in axes.containers] == [f"{n} = {evaluation.metrics[n]:.1f}" for n in names]
    assert "%" in axes.get_ylabel() and "guess on toy" in [text.get_text() for text in axes.texts]


def test_the_bars_of_recall_are_within_the_deciles_and_absent_where_nothing_is_true(
    evaluation: Evaluation, figures: dict
):
    report.plots(evaluation, Path("unused"))
    axes = figures["recall-by-decile.png"].axes[0]
    assert [bars.get_label() for bars in axes.containers] == ["R@1", "R@5", "R@20"]
    deepest = [bar.get_height() for bar in axes.containers[-1]]
    assert deepest[:9] == [decile.within["R@20"] for decile in evaluation.by_decile[:9]] and np.isnan(deepest[9])


def test_the_curve_is_recall_at_every_depth(evaluation: Evaluation, figures: dict):
    report.plots(evaluation, Path("unused"))
    axes = figures["recall-curve.png"].axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), evaluation.recall_curve)
    assert f"{evaluation.metrics['R@20']:.1f}" in [text.get_text() for text in axes.texts]


def test_the_bars_of_recall_parts_add_up_to_recall(evaluation: Evaluation, figures: dict):
    report.plots(evaluation, Path("unused"))
    (bars,) = figures["recall-parts-by-decile.png"].axes[0].containers
    heights = [bar.get_height() for bar in bars]
    assert heights == [decile.contribution["R@20"] for decile in evaluation.by_decile]
    assert sum(heights) == pytest.approx(evaluation.metrics["R@20"])


def test_the_reliability_diagram_shows_every_bin_beside_the_diagonal(evaluation: Evaluation, figures: dict):
    report.plots(evaluation, Path("unused"))
    diagonal, bins = figures["reliability.png"].axes[0].lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [100, 100]]
    assert bins.get_xydata().tolist() == [[12.5, 25], [50, 75]]


def test_edge_weights_are_drawn_for_models_with_a_graph(figures: dict):
    graph = Graph(np.array([[0, 1], [2, PAD]], np.int32), np.array([[0, np.log(3)], [1, 0]], np.float32))
    index = GraphIndex(
        graph, LabelRows(*(np.zeros(2, np.float32),) * 2), beam=1, alpha=1.0, beta=4.0, shortlist=3, n_labels=3
    )
    about = About("elias", {}, {})
    paths = report.edge_plots(Predictor(Holder(index), [], np.zeros(3), about), Path("unused"))
    assert [path.name for path in paths] == ["edge-weights.png"]
    curve, sure = figures["edge-weights.png"].axes[0].lines
    # Shares 3/4 and 1/4 in the first cluster, 1 in the second: heaviest first their means are 7/8 and 1/8.
    np.testing.assert_allclose(curve.get_xydata(), [[1, 0.875], [2, 0.125]], rtol=1e-6)
    assert sure.get_ydata() == [0.25, 0.25]
    assert report.edge_plots(Predictor(Holder(None), [], np.zeros(3), about), Path("unused")) == []


def test_without_frequencies_only_the_curve_is_drawn(evaluation: Evaluation, figures: dict):
    report.plots(dataclasses.replace(evaluation, by_decile=[], reliability=None), Path("unused"))
    assert list(figures) == ["recall-curve.png"]


def test_without_matplotlib_the_extra_is_named(evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"longtail\[plots\]"):
        report.plots(evaluation, tmp_path)


def test_a_place_that_cannot_be_written_is_named(evaluation: Evaluation, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"recall-curve\.png: cannot be written"):
        report.plots(evaluation, tmp_path / "file")


# -- label frequencies ------------------------------------------------------------------------------------------------


def test_the_frequency_plot_shows_labels_with_documents_most_frequent_first(figures: dict):
    report.frequency_plot(np.array([1, 0, 50, 7, 0]), Path("f.png"))
    axes = figures["f.png"].axes[0]
    assert axes.lines[0].get_xydata().tolist() == [[1, 50], [2, 7], [3, 1]]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "5 labels, 2 of them without a document" in [text.get_text() for text in axes.texts]


def test_the_frequency_plot_is_a_file_even_of_no_documents(tmp_path: Path):
    assert report.frequency_plot(np.zeros(3, int), tmp_path / "f.png").stat().st_size > 1000


def test_frequencies_as_blocks():
    # On a logarithmic scale 64 is three times as high as 4; one document just shows, none does not.
    assert report.frequency_blocks(np.array([0, 4, 64, 1]), width=4, height=3).splitlines() == [
        "64 ▕█   ",
        "   ▕█   ",
        " 1 ▕██▁ ",
        "    1  4",
    ]


def test_blocks_of_one_document_a_label_are_low_and_of_none_are_words():
    assert report.frequency_blocks(np.ones(5, int), width=5, height=2).splitlines() == [
        "1 ▕     ",
        "1 ▕▁▁▁▁▁",
        "   1   5",
    ]
    assert report.frequency_blocks(np.zeros(5, int)) == "no label has a document"


@pytest.mark.parametrize("n_labels", [1, 2, 59, 60, 5000])
def test_blocks_are_as_wide_and_high_as_asked(n_labels: int):
    lines = report.frequency_blocks(np.arange(n_labels) + 1, width=30, height=5).splitlines()
    assert len(lines) == 6 and len({line.index("▕") for line in lines[:5]}) == 1
    assert {len(line.partition("▕")[2]) for line in lines[:5]} == {30}


def test_a_description_tells_of_splits_deciles_and_the_curve(planted: Splits):
    found = describe(planted)
    splits, deciles, curve = (shown(part) for part in report.description_tables(found))
    train, test = found.splits["train"], found.splits["test"]
    assert cells(splits, "train") == ["train", "test"]
    assert cells(splits, "documents") == ["documents", str(train.documents), str(test.documents)]
    median, low, high = (train.words[share] for share in ("50%", "5%", "95%"))
    assert f"{median} ({low}–{high})" in splits
    assert "…" not in splits + deciles
    assert f"{found.labels} labels, 0 of them without a training document" in deciles
    first = found.deciles[0]
    assert cells(deciles, "1")[:3] == ["1", str(first.labels), f"{first.least}–{first.most}"]
    assert "█" in curve
