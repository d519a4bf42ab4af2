"""The logistic loss and its gradient in one pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.kernels.logistic import BLOCK, logistic


def table(rows: int, columns: int, seed: int, scale: float = 5.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, biases and targets."""
    rng = np.random.default_rng(seed)
    logits, biases = scale * rng.standard_normal((rows, columns)), rng.standard_normal(columns)
    return logits.astype(np.float32), biases.astype(np.float32), (rng.random((rows, columns)) < 0.2).astype(np.float32)


def plainly(logits: np.ndarray, biases: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The same in torch, in float64."""
    z, b = (torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (logits, biases))
    loss = F.binary_cross_entropy_with_logits(z + b, torch.tensor(targets, dtype=torch.float64), reduction="sum")
    loss.backward()
    assert z.grad is not None and b.grad is not None
    return float(loss.detach()), z.grad.numpy(), b.grad.numpy()


@settings(deadline=None, max_examples=30)
@given(rows=st.integers(0, 2 * BLOCK + 1), columns=st.integers(1, 70), seed=st.integers(0, 99))
def test_loss_and_gradients_are_those_of_torch(rows: int, columns: int, seed: int):
    arrays = table(rows, columns, seed)
    for ours, torchs in zip(logistic(*arrays), plainly(*arrays), strict=True):
        np.testing.assert_allclose(ours, torchs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("logit", [0.0, -1e-7, 30.0, -30.0, 100.0, -100.0, 1e30, -1e30])
@pytest.mark.parametrize("target", [0.0, 1.0])
def test_large_logits_have_a_finite_loss_and_the_right_gradient(logit: float, target: float):
    arrays = np.full((1, 20), logit, np.float32), np.zeros(20, np.float32), np.full((1, 20), target, np.float32)
    loss, gradient, of_biases = logistic(*arrays)
    expected = plainly(*arrays)
    np.testing.assert_allclose(loss, expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-6)
    np.testing.assert_allclose(of_biases, expected[2], atol=1e-6)


@pytest.mark.parametrize("logit", [np.nan, np.inf])
def test_a_logit_that_is_no_number_is_told_by_the_loss(logit: float):
    logits, biases, targets = table(3, 40, 0)
    logits[1, 7] = logit
    assert not np.isfinite(logistic(logits, biases, targets)[0])


def test_the_bits_of_bfloat16_give_the_gradient_as_bits_of_the_nearest_bfloat16():
    logits, biases, targets = table(40, 33, 1)
    short = torch.from_numpy(logits).bfloat16()
    loss, bits, of_biases = logistic(short.view(torch.uint16).numpy(), biases, targets)
    wide = logistic(short.float().numpy(), biases, targets)
    assert torch.equal(torch.from_numpy(bits).view(torch.bfloat16), torch.from_numpy(wide[1]).bfloat16())
    assert loss == wide[0] and np.array_equal(of_biases, wide[2])


def test_any_number_of_threads_gives_the_same_bits():
    arrays = table(5 * BLOCK + 3, 4000, 2)
    one = logistic(*arrays, threads=1)
    for threads in (2, 3):
        many = logistic(*arrays, threads=threads)
        assert many[0] == one[0] and np.array_equal(many[1], one[1]) and np.array_equal(many[2], one[2])
