"""Rows in fewer bits: what is stored, what it stands for, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longtail.errors import LongtailError
from longtail.precision import all_stored_as, as_floats, precision_of, stored_as

ROWS = np.array([[0.5, -1, 0.25], [0, 0, 0], [2.54, 0, 1.28]], np.float32)


def test_a_row_is_whole_numbers_of_its_largest_by_127():
    codes, scales = stored_as("int8", ROWS)
    assert codes.tolist() == [[64, -127, 32], [0, 0, 0], [127, 0, 64]]
    assert scales is not None and scales.tolist() == pytest.approx([1 / 127, 0, 0.02])


@given(st.integers(0, 99))
def test_no_number_moves_by_more_than_half_a_step(seed: int):
    rows = np.random.default_rng(seed).standard_normal((5, 9)).astype(np.float32) * 10.0 ** (seed % 7 - 3)
    codes, scales = stored_as("int8", rows)
    assert scales is not None
    assert (np.abs(as_floats(codes, scales) - rows) <= 0.5001 * scales[:, None]).all()


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_precisions_are_known_by_their_names(precision: str):
    stored, scales = stored_as(precision, ROWS)
    assert precision_of(stored) == precision
    np.testing.assert_allclose(as_floats(stored, scales), ROWS, atol=0.011)


def test_what_is_small_already_stays_as_it_is():
    codes, scales = stored_as("int8", ROWS)
    again, same = stored_as("fp16", codes, scales)
    assert again is codes and same is scales


def test_numbers_that_sixteen_bits_cannot_hold_are_refused():
    with pytest.raises(LongtailError, match="65,504"):
        stored_as("fp16", np.array([[1e5]], np.float32))


def test_an_unknown_precision_is_named():
    with pytest.raises(LongtailError, match="'int4': one of fp32, fp16, int8"):
        stored_as("int4", ROWS)


def test_numbers_too_small_for_a_scale_are_zero():
    codes, scales = stored_as("int8", np.array([[1e-45, 0]], np.float32))
    assert codes.tolist() == [[0, 0]] and as_floats(codes, scales).tolist() == [[0, 0]]


def test_tables_by_name_keep_their_names_and_have_scales_where_they_are_codes():
    arrays = {"up": ROWS, "bias": ROWS[0]}
    codes, scales = all_stored_as("int8", arrays, {})
    assert codes["up"].dtype == np.int8 and codes["bias"] is arrays["bias"] and scales.keys() == {"up"}
    again, same = all_stored_as("fp16", codes, scales)
    assert again["up"] is codes["up"] and same["up"] is scales["up"]
    assert all_stored_as("fp16", arrays, {})[1] == {}
