"""Two vectors mixed by gates."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.encoders.learn.bag import Gates


@settings(deadline=None, max_examples=20)
@given(rows=st.integers(0, 9), dim=st.integers(1, 20), seed=st.integers(0, 99))
def test_compiled_gates_and_torchs_agree_in_value_and_gradient(rows: int, dim: int, seed: int):
    torch.manual_seed(seed)
    gates, way = Gates(dim), torch.randn(rows, dim)
    with torch.no_grad():
        gates.alpha.normal_()
        gates.beta.normal_()
    one, other = (torch.randn(rows, dim, requires_grad=True) for _ in range(2))
    parts = (one, other, gates.alpha, gates.beta)
    plain = gates.alpha.sigmoid() * one + gates.beta.sigmoid() * other
    expected = torch.autograd.grad((plain * way).sum(), parts)
    mixture = gates(one, other)
    torch.testing.assert_close(mixture, plain)
    for compiled, gradient in zip(torch.autograd.grad((mixture * way).sum(), parts), expected):
        torch.testing.assert_close(compiled, gradient, rtol=1e-4, atol=1e-5)
