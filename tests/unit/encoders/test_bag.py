from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from longtail.encoders.learn.bag import Block, bag, bag_plainly, exported
from longtail.kernels.csr import rows_of


def drawn(seed: int, n_texts: int = 6, n_tokens: int = 10) -> sp.csr_array:
    return sp.csr_array(sp.random_array((n_texts, n_tokens), density=0.4, rng=seed, dtype=np.float32))


def as_tensors(bags: sp.csr_array) -> list[torch.Tensor]:
    return [torch.tensor(array) for array in rows_of(bags)]


def learned(seed: int, dim: int) -> tuple[nn.Parameter, Block]:
    """A block some steps away from where it starts."""
    torch.manual_seed(seed)
    block = Block(dim, dropout=0.0)
    with torch.no_grad():
        for parameter in block.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    for _ in range(50):
        block(torch.randn(4, dim))  # the spectral norm is found step by step
    return nn.Parameter(torch.randn(10, dim)), block


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 99), dim=st.integers(1, 20))
def test_the_compiled_bag_and_torchs_agree_in_value_and_gradient(seed: int, dim: int):
    torch.manual_seed(seed)
    one, other = nn.Parameter(torch.randn(10, dim)), nn.Parameter(torch.zeros(10, dim))
    other.data.copy_(one.data)
    bags, way = as_tensors(drawn(seed)), torch.randn(6, dim)
    sums, plain = bag(one, *bags), bag_plainly(other, *bags)
    torch.testing.assert_close(sums, plain, rtol=1e-4, atol=1e-5)
    (sums * way).sum().backward()
    (plain * way).sum().backward()
    torch.testing.assert_close(one.grad.to_dense(), other.grad.to_dense(), rtol=1e-4, atol=1e-5)


def test_frozen_vectors_get_no_gradient():
    vectors = nn.Parameter(torch.ones(10, 3), requires_grad=False)
    assert not bag(vectors, *as_tensors(drawn(0))).requires_grad


def test_what_a_block_has_come_to_reads_as_the_block_does():
    bags = drawn(1)
    vectors, block = learned(1, 12)
    encoder = exported(vectors, block.eval())
    sums = bag(vectors, *as_tensors(bags))
    np.testing.assert_allclose(encoder.labels(rows_of(bags)), block(sums).detach(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(encoder.documents(rows_of(bags)), block(sums).relu().detach(), rtol=1e-4, atol=1e-5)


def test_a_text_is_read_to_the_same_bits_alone_and_among_others():
    bags = drawn(2, n_texts=20)
    encoder = exported(*learned(2, 33))
    together = encoder.documents(rows_of(bags))
    for row in (0, 7, 19):
        assert np.array_equal(encoder.documents(rows_of(bags[row : row + 1]))[0], together[row])


def test_a_text_without_known_tokens_has_a_vector_too():
    encoder = exported(*learned(3, 4))
    empty = sp.csr_array((1, 10), dtype=np.float32)
    np.testing.assert_allclose(encoder.labels(rows_of(empty))[0], encoder.offset)


def test_a_block_learns_in_bfloat16_too():
    """Autocast hands on what its layer says in bfloat16, which NumPy does not know."""
    block, sums = Block(8, 0.1), torch.randn(4, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        read = block(sums)
        read.sum().backward()
    assert read.dtype == torch.float32 and sums.grad.isfinite().all()
    assert all(parameter.grad is not None for parameter in block.parameters())
    plain = block.eval()(sums)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(block(sums), plain, rtol=0.02, atol=0.02)


class Elsewhere(torch.Tensor):
    """A tensor on another device, of which NumPy sees nothing before it is brought here."""

    def numpy(self) -> np.ndarray:
        raise TypeError("bring it to the CPU first")

    def cpu(self) -> torch.Tensor:
        return self.as_subclass(torch.Tensor)


def test_what_was_learned_on_another_device_settles_on_the_cpu():
    vectors, block = learned(4, 5)
    here, there = exported(vectors, block), exported(vectors.detach().as_subclass(Elsewhere), block)
    np.testing.assert_array_equal(here.vectors, there.vectors)
