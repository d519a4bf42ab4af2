"""Rules beside fields: what holds passes, what does not is named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pytest

from longtail.errors import ModelError
from longtail.invariants import (
    Array,
    Number,
    Tables,
    Unsound,
    agree,
    all_finite,
    check,
    check_each_once,
    check_rising_in_runs,
)  # fmt: skip


@dataclass(frozen=True)
class Runs:
    """Runs of columns, each with a weight; rows of vectors beside them."""

    starts: Annotated[np.ndarray, Array("rows+1", np.int64, starts="entries")]
    columns: Annotated[np.ndarray, Array("entries", np.int32, below="width", pad=True)]
    weights: Annotated[np.ndarray, Array("rows width", np.float32, between=(0, 1))]
    levels: Annotated[np.ndarray, Array("levels", np.float64, rising=True)]
    more: Annotated[list[np.ndarray], Array("width", np.float32)]
    absent: Annotated[np.ndarray | None, Array("width", np.float32)]
    beam: Annotated[int, Number(1, 9)]

    def check(self) -> None:
        agree("rows and beam", len(self.weights), self.beam)


def sound() -> Runs:
    weights = np.array([[0, 0.5, 1], [0, 0, 0]], np.float32)
    starts, columns = np.array([0, 2, 3]), np.array([2, -1, 0], np.int32)
    return Runs(starts, columns, weights, np.array([0.5, 0.5, 2]), [np.ones(3, np.float32)] * 2, None, 2)


def test_a_value_that_keeps_its_rules_passes():
    check(sound(), "runs")


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("starts", np.array([0, 2, 3], np.int32), "starts holds int32, and must hold int64"),
        ("starts", np.array([0, 2, 4]), "starts must rise from 0 to 3"),
        ("starts", np.array([1, 2, 3]), "starts must rise from 0 to 3"),
        ("starts", np.array([0, 4, 3]), "starts must rise from 0 to 3"),
        ("starts", np.array([], np.int64), r"starts has the shape \(0,\)"),
        ("starts", np.array([0, 1, 2, 3]), r"weights has the shape \(2, 3\), and must have \(rows, width\), rows = 3"),
        ("columns", np.array([2, -2, 0], np.int32), "columns holds numbers from -2 to 2, and must stay within -1 to 2"),
        ("columns", np.array([3, -1, 0], np.int32), "columns holds numbers from -1 to 3"),
        ("columns", np.array([[2], [1], [0]], np.int32), r"columns has the shape \(3, 1\), and must have \(entries\)"),
        ("weights", np.array([[0, 0.5, 1.5], [0, 0, 0]], np.float32), "weights holds numbers from 0.0 to 1.5"),
        ("weights", np.array([[0, np.nan, 1], [0, 0, 0]], np.float32), "weights holds a number that is not finite"),
        ("levels", np.array([0.5, 0.4]), "levels must rise, and falls"),
        ("more", [np.ones(3, np.float32), np.ones(2, np.float32)], r"more has the shape \(2,\)"),
        ("absent", np.ones(4, np.float32), r"absent has the shape \(4,\)"),
        ("beam", 0, "beam is 0, and must be from 1 to 9"),
        ("beam", 3, "rows and beam do not agree: 2, 3"),
    ],
)
def test_a_value_that_breaks_one_is_refused_by_name(field: str, value: object, sentence: str):
    with pytest.raises(Unsound, match=f"runs: {sentence}"):
        check(replace(sound(), **{field: value}), "runs")


def test_a_broken_rule_is_a_model_error():
    assert issubclass(Unsound, ModelError)


def test_large_numbers_are_finite_though_their_sum_is_not():
    largest = np.full(10, np.finfo(np.float32).max)
    assert all_finite(largest) and not all_finite(np.append(largest, np.float32(np.inf)))
    assert all_finite(np.zeros(0, np.float32)) and all_finite(np.array([2**62]))


def test_entries_rise_within_runs_and_may_fall_between_them():
    starts = np.array([0, 2, 2, 4])  # the second run is empty
    check_rising_in_runs("nodes", np.array([1, 5, 0, 3]), starts)
    check_rising_in_runs("nodes", np.array([], int), np.array([0, 0]))
    for fallen in ([5, 1, 0, 3], [1, 5, 3, 3]):
        with pytest.raises(Unsound, match="nodes must rise within each run"):
            check_rising_in_runs("nodes", np.array(fallen), starts)


def test_an_index_stands_once():
    check_each_once("labels", np.array([2, 0, 1]))
    with pytest.raises(Unsound, match="labels must hold no index twice"):
        check_each_once("labels", np.array([2, 0, 2]))


@dataclass(frozen=True)
class Named:
    weights: Annotated[dict[str, np.ndarray], Tables(scales="scales")]
    scales: dict[str, np.ndarray]


FLOATS, CODES, ROW = np.ones((2, 3), np.float32), np.ones((2, 3), np.int8), np.ones(3, np.float32)


@pytest.mark.parametrize(("weights", "scales"), [
    ({}, {}), ({"a": FLOATS, "row": ROW}, {}), ({"a": FLOATS.astype(np.float16)}, {}),
    ({"a": CODES, "row": ROW}, {"a": np.ones(2, np.float32)}),
])  # fmt: skip
def test_tables_by_name_are_of_one_precision(weights: dict, scales: dict):
    check(Named(weights, scales), "layers")


@pytest.mark.parametrize(("weights", "scales", "sentence"), [
    ({"a": FLOATS, "b": CODES}, {"b": np.ones(2, np.float32)}, "tables of weights hold float32, int8"),
    ({"a": FLOATS.astype(np.float64)}, {}, "tables of weights hold float64"),
    ({"a": FLOATS, "row": ROW.astype(np.float16)}, {}, "weights.row must hold finite float32"),
    ({"a": FLOATS * np.nan}, {}, "weights.a must hold finite float32"),
    ({"a": CODES}, {}, "need a scale a row"),
    ({"a": FLOATS}, {"a": np.ones(2, np.float32)}, "nothing else has any"),
    ({"a": CODES}, {"a": np.ones(3, np.float32)}, "need a scale a row"),
    ({"a": CODES}, {"a": -np.ones(2, np.float32)}, "scales of weights.a must hold finite float32 numbers, 0 or more"),
    ({"a": CODES}, {"a": np.ones(2)}, "scales of weights.a must hold finite float32"),
])  # fmt: skip
def test_tables_by_name_that_do_not_fit_their_scales_are_refused(weights: dict, scales: dict, sentence: str):
    with pytest.raises(Unsound, match=f"layers: .*{sentence}"):
        check(Named(weights, scales), "layers")
