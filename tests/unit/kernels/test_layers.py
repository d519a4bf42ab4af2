"""The small functions of a layer, each against its plain twin; whole layers are compared with torch in test_forward."""

from __future__ import annotations

import math

import numpy as np

from longtail.kernels.compiled import compiled
from longtail.kernels.layers import Norm, _coded, _erf, _exp, _gelu, _normalise, _softmax

WIDE = np.concatenate([np.linspace(-12, 12, 4001), [0, 1e-20, -1e-20, 1e30, -1e30]]).astype(np.float32)


@compiled
def _each_erf(numbers, found):  # type: ignore[no-untyped-def]
    for at in range(len(numbers)):
        found[at] = _erf(numbers[at])


@compiled
def _each_exp(numbers, found):  # type: ignore[no-untyped-def]
    for at in range(len(numbers)):
        found[at] = _exp(numbers[at])


def test_the_error_function_is_that_of_the_standard_library():
    found = np.empty_like(WIDE)
    _each_erf(WIDE, found)
    np.testing.assert_allclose(found, [math.erf(x) for x in WIDE], atol=4e-7)
    assert not found[WIDE == 0].any()


def test_powers_of_e_are_those_of_the_standard_library():
    below = -np.abs(WIDE[np.abs(WIDE) < 80]) * 7
    found = np.empty_like(below)
    _each_exp(below, found)
    np.testing.assert_allclose(found[below > -86], np.exp(below[below > -86].astype(np.float64)), rtol=3e-7)
    assert (found[below <= -87] < 2e-38).all() and (found[below == 0] == 1).all()


def test_gelu_by_hand():
    numbers = np.array([[0, 1, -1], [3, -30, 30]], np.float32)
    _gelu(numbers)
    # x Φ(x): Φ(1) = 0.841345, Φ(3) = 0.998650
    np.testing.assert_allclose(numbers, [[0, 0.841345, -0.158655], [2.995950, 0, 30]], atol=1e-5)


def test_softmax_adds_up_to_one_and_takes_large_numbers():
    numbers = np.array([1000, 1000, 999, -1000], np.float32)
    _softmax(numbers)
    np.testing.assert_allclose(numbers, np.array([math.e, math.e, 1, 0]) / (2 * math.e + 1), rtol=1e-6, atol=1e-30)


def test_a_normalised_vector_has_the_mean_and_spread_it_is_given():
    rng = np.random.default_rng(0)
    weight, bias = (rng.standard_normal(50).astype(np.float32) for _ in range(2))
    state = (5 + 3 * rng.standard_normal(50)).astype(np.float32)
    expected = (state - state.mean()) / np.sqrt(state.var() + 1e-5) * weight + bias
    _normalise(Norm(weight, bias, 1e-5), state)
    np.testing.assert_allclose(state, expected, atol=1e-5)


def test_a_vector_of_one_number_is_normalised_to_the_bias():
    state = np.full(8, 7, np.float32)
    _normalise(Norm(np.ones(8, np.float32), np.full(8, 2, np.float32), 1e-12), state)
    assert state.tolist() == [2] * 8


def test_codes_are_whole_numbers_of_the_largest():
    vector, codes = np.array([0.5, -1, 0.2501, 0], np.float32), np.empty(4, np.int16)
    assert _coded(vector, 100, codes) == np.float32(0.01)
    assert codes.tolist() == [50, -100, 25, 0]
    assert _coded(np.zeros(4, np.float32), 100, codes) == 0 and codes.tolist() == [0] * 4


def test_floats_are_their_own_codes():
    vector, codes = np.array([0.5, -1], np.float32), np.empty(2, np.float32)
    assert _coded(vector, 0, codes) == 1 and codes.tolist() == [0.5, -1]
