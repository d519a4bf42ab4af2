"""Smaller models: what becomes of their tables, what they take on disk, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from longtail import combine, fit
from longtail import open as open_model
from longtail.corpus import Documents, Splits
from longtail.errors import LongtailError
from longtail.invariants import Array, Tables
from longtail.precision import STORED
from longtail.predict.export import everywhere, expected_size, found_of, in_precision, in_two_levels, smaller
from longtail.predict.predictor import Predictor
from longtail.rankers import coarse
from longtail.rankers.label_rows import LabelRows
from longtail.train.machine import size_on_disk


@dataclass(frozen=True)
class Tokens:
    vectors: Annotated[np.ndarray, Array("tokens dim", STORED, scales="scales")]
    scales: Annotated[np.ndarray | None, Array("tokens", np.float32)] = None


@dataclass(frozen=True)
class Layers:
    weights: Annotated[dict[str, np.ndarray], Tables(scales="scales")]
    scales: dict[str, np.ndarray]


@dataclass(frozen=True)
class Model:
    parts: list[Tokens]
    pair: tuple[LabelRows, int]
    name: str


def made() -> Model:
    rng = np.random.default_rng(0)
    rows = LabelRows(rng.standard_normal((3, 5), np.float32), np.zeros(3, np.float32))
    return Model([Tokens(rng.standard_normal((4, 5), np.float32))], (rows, 7), "x")


@pytest.fixture(scope="module")
def decaf(planted: Splits) -> Predictor:
    return fit("decaf", planted.train, labels_per_cluster=4)


@pytest.fixture(scope="module")
def lightxml(planted: Splits, tiny_encoder: Path) -> Predictor:
    settings = {"optim.epochs": 1, "transformer.max_tokens": 16, "valid_documents": 0}
    return fit("lightxml", planted.train.subset(np.arange(40), "train"), encoder=str(tiny_encoder), **settings)


def precisions(model: Predictor) -> set[str]:
    found: set[str] = set()
    everywhere(model, lambda part: found.add(part.precision) or part if isinstance(part, LabelRows) else part)
    return found


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_layers_become_halves_even_where_rows_become_bytes_and_what_has_one_axis_stays(precision: str):
    weights = {"up": np.array([[1, -2], [0, 4]], np.float32), "bias": np.ones(2, np.float32)}
    small = in_precision([Layers(weights, {})], precision)[0]
    assert small.weights["up"].dtype == np.float16 and small.weights["bias"] is weights["bias"] and small.scales == {}
    assert in_precision([small], "fp32")[0].weights["up"] is small.weights["up"]


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_the_size_of_a_transformer_is_known_before_it_is_written(lightxml: Predictor, tmp_path: Path, precision: str):
    in_precision(lightxml, precision).save(tmp_path / precision)
    assert expected_size(lightxml, precision) == pytest.approx(size_on_disk(tmp_path / precision), rel=0.02)


def test_a_transformer_in_fewer_bits_answers_without_torch(lightxml: Predictor, planted: Splits, tmp_path: Path):
    text = planted.test.texts[0]
    lightxml.export(tmp_path / "small", "int8")
    code = (
        f"import sys, longtail; found = longtail.open({str(tmp_path / 'small')!r}).predict([{text!r}], 1);"
        "print(found[0][0].id, 'torch' in sys.modules, 'transformers' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert told == [open_model(tmp_path / "small").predict([text], 1)[0][0].id, "False", "False"]


def test_every_table_becomes_smaller_wherever_it_is():
    small = in_precision(made(), "int8")
    assert small.parts[0].vectors.dtype == np.int8 and small.parts[0].scales.shape == (4,)
    assert small.pair[0].precision == "int8" and small.pair[1] == 7 and small.name == "x"


def test_what_has_nothing_to_change_stays_the_same_value():
    one = made()
    assert everywhere(one, lambda part: part) is one
    assert in_precision(one, "fp32") is not None and in_precision(one, "fp32").pair[0].rows is one.pair[0].rows


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_the_size_told_is_the_size_written(decaf: Predictor, tmp_path: Path, precision: str):
    made = smaller(decaf, precision)
    made.model.save(tmp_path / "model")
    written = size_on_disk(tmp_path / "model")
    assert abs(made.after - written) < 2000, "but for the manifest and headers"
    assert precisions(open_model(tmp_path / "model")) == {precision}


def test_the_most_bits_that_fit_are_used(decaf: Predictor):
    sizes = {precision: expected_size(decaf, precision) for precision in ("fp32", "fp16", "int8")}
    assert sizes["fp32"] > sizes["fp16"] > sizes["int8"]
    for precision, limit in sizes.items():
        assert smaller(decaf, max_size=limit).precision == precision
    with pytest.raises(LongtailError, match=r"the smallest it can be is .* as int8"):
        smaller(decaf, max_size=1000)
    with pytest.raises(LongtailError, match=r"takes .* as fp16, and .* are allowed; the smallest .* as int8"):
        smaller(decaf, "fp16", max_size=sizes["int8"])


def test_an_unknown_precision_is_refused(decaf: Predictor):
    with pytest.raises(LongtailError, match="one of fp32, fp16, int8"):
        smaller(decaf, "int4")


@pytest.mark.parametrize("recall", [0, -1, 1.5, float("nan")])
def test_a_recall_that_is_no_share_is_refused(recall: float, decaf: Predictor):
    with pytest.raises(LongtailError, match="a share of the labels"):
        smaller(decaf, "int8", recall=recall)


def test_an_ensemble_exports_its_members(decaf: Predictor, planted: Splits, tmp_path: Path):
    combine([decaf, decaf]).export(tmp_path / "model")
    assert precisions(open_model(tmp_path / "model")) == {"int8"}


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """With as few rows as here two levels never pay, so the limits are set to where they must."""
    monkeypatch.setattr("longtail.predict.export.FROM", 8)
    monkeypatch.setattr(coarse, "WORTH", 9)
    monkeypatch.setattr(coarse, "rows_a_cluster", lambda n_rows: 2)


def probes_of(model: Predictor) -> list[int | None]:
    """Of all rows of a model, how many clusters are opened, and nothing for one level."""
    levels: list[LabelRows] = []
    everywhere(model, lambda part: levels.append(part) or part if isinstance(part, LabelRows) else part)
    return [None if rows.coarse is None else rows.coarse.probes for rows in levels]


@pytest.mark.usefixtures("few_are_many")
def test_many_rows_are_found_in_two_levels(decaf: Predictor, planted: Splits, tmp_path: Path):
    in_two_levels(decaf, planted.train.documents, recall=0.99).save(tmp_path / "model")
    opened = open_model(tmp_path / "model")
    exact, found = (one.rank(planted.test.documents, 10).labels for one in (decaf, opened))
    assert [probes is not None for probes in probes_of(opened)] == [True, False] and found_of(exact, found) > 0.97


@pytest.mark.usefixtures("few_are_many")
def test_no_more_clusters_are_opened_than_the_recall_needs(decaf: Predictor, planted: Splits):
    two = {recall: in_two_levels(decaf, planted.train.documents, recall) for recall in (0.01, 0.8, 1.0)}
    assert two[1.0] is decaf
    chosen = [probes_of(model)[0] or 99 for model in two.values()]  # 99: all rows are compared
    assert chosen == sorted(chosen) and chosen[0] == 1 < chosen[-1]
    judges = planted.train.documents[np.arange(1, len(planted.train), 2)]
    exact = decaf.rank(judges, 10).labels
    assert all(found_of(exact, model.rank(judges, 10).labels) >= recall for recall, model in two.items())


def test_where_two_levels_do_not_pay_rows_stay_as_they_are(
    decaf: Predictor, planted: Splits, monkeypatch: pytest.MonkeyPatch
):
    assert in_two_levels(decaf, planted.train.documents) is decaf  # few rows
    monkeypatch.setattr("longtail.predict.export.FROM", 8)
    monkeypatch.setattr(coarse, "WORTH", 0.01)
    assert probes_of(in_two_levels(decaf, planted.train.documents)) == [None, None]


def test_texts_of_labels_stand_in_for_a_sample(decaf: Predictor):
    from longtail.predict.export import _some

    assert len(_some(decaf, None)) == len(decaf.labels)
    assert len(_some(decaf, Documents.of(["a"] * 9000))) == 8000


def test_coarse_rows_predict_the_largest_logit():
    """Rows in 64 tight groups: opening the best eight clusters finds nearly all of the exact top."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((64, 16)).astype(np.float32)
    rows = np.repeat(centers, 32, axis=0) + 0.1 * rng.standard_normal((2048, 16)).astype(np.float32)
    flat = LabelRows(rows, np.zeros(2048, np.float32))
    vectors = centers[rng.integers(0, 64, 600)] + 0.3 * rng.standard_normal((600, 16)).astype(np.float32)
    two = coarse.coarsened(flat, vectors)
    assert two.coarse is not None
    assert len(two.coarse.rows) == 256 and coarse.compared(two, 8) == 256 + 8 * 8
    two = replace(two, coarse=replace(two.coarse, probes=24))
    asked = centers[rng.integers(0, 64, 200)] + 0.3 * rng.standard_normal((200, 16)).astype(np.float32)
    assert found_of(flat.top(asked, 10).labels, two.top(asked, 10).labels) > 0.97


def test_numbers_of_probes_to_choose_from_end_where_two_levels_do_not_pay():
    flat = LabelRows(np.eye(512, dtype=np.float32), np.zeros(512, np.float32))
    two = coarse.coarsened(flat, np.eye(512, dtype=np.float32)[:9])  # 128 clusters of 4
    steps = coarse.ladder(two)
    assert steps[:10] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert coarse.compared(two, steps[-1]) <= 512 / 3 < coarse.compared(two, steps[-1] + 2)
