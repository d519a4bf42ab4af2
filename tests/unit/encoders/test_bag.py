from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from longtail.encoders.bag import BLOCKS, GatedBlock, ResidualBlock, TokenBag
from longtail.encoders.learn.bag import Block, LearningBag, Residual, bag, bag_plainly
from longtail.encoders.learn.batches import BagTexts
from longtail.features.bags import Bags, Reader
from longtail.sparse import rows_of


def drawn(seed: int, n_texts: int = 6, n_tokens: int = 10) -> sp.csr_array:
    return sp.csr_array(sp.random_array((n_texts, n_tokens), density=0.4, rng=seed, dtype=np.float32))


def as_tensors(bags: sp.csr_array) -> list[torch.Tensor]:
    return [torch.tensor(array) for array in rows_of(bags)]


def some_bag(dim: int, kind: str = "gated", seed: int = 0) -> TokenBag:
    """Ten features, each with a vector."""
    vectors = np.random.default_rng(seed).standard_normal((10, dim)).astype(np.float32)
    return TokenBag(Reader(Bags(10, None), None), vectors, BLOCKS[kind].first(dim))


def learned(seed: int, dim: int, kind: str = "gated", words_dropped: float = 0.0) -> LearningBag:
    """A bag whose block is some steps away from where it starts."""
    torch.manual_seed(seed)
    encoder = LearningBag(some_bag(dim, kind, seed), dropout=0.0, words_dropped=words_dropped)
    with torch.no_grad():
        for parameter in encoder.block.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    for _ in range(50):
        encoder.block.documents(torch.randn(4, dim))  # the spectral norm is found step by step
    return encoder


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


KINDS = list(BLOCKS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_bag_reads_as_the_one_that_learns(kind: str):
    bags = rows_of(drawn(1))
    learning = learned(1, 12, kind)
    exported = learning.export()
    assert learning.training, "exporting leaves it as it was"
    documents = learning.eval()(BagTexts(bags).batch(np.arange(6)))
    np.testing.assert_allclose(exported.encode(bags), documents.detach(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(exported.before_block(bags), bag(learning.vectors, *as_tensors(drawn(1))).detach())


@pytest.mark.parametrize(("kind", "expected"), [("gated", [2.0, 0.0]), ("residual", [4.0, 0.0])])
def test_a_new_block_makes_of_a_bag(kind: str, expected: list[float]):
    """(2, −4): ReLU(½ (2, −4) + ½ ReLU(2, −4)) = (2, 0); h + ReLU(h) with h = ReLU(2, −4) is (4, 0)."""
    sums = np.array([[2, -4]], np.float32)
    np.testing.assert_allclose(through(BLOCKS[kind].first(2), sums), [expected], rtol=1e-6)
    block = LearningBag(some_bag(2, kind), dropout=0.0).block.eval()
    np.testing.assert_allclose(block.documents(torch.from_numpy(sums)).detach(), [expected], atol=1e-6)
    np.testing.assert_allclose(through(block.export(), sums), [expected], atol=1e-6)


def through(block: GatedBlock | ResidualBlock, sums: np.ndarray) -> np.ndarray:
    """What a block makes of sums: of bags with one token each, whose vectors they are."""
    reader, each = Reader(Bags(len(sums), None), None), np.arange(len(sums), dtype=np.int32)
    bags = np.arange(len(sums) + 1), each, np.ones(len(sums), np.float32)
    return TokenBag(reader, sums, block).encode(bags)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_read_to_the_same_bits_alone_and_among_others(kind: str):
    bags = drawn(2, n_texts=20)
    encoder = learned(2, 33, kind).export()
    together = encoder.encode(rows_of(bags))
    for row in (0, 7, 19):
        assert np.array_equal(encoder.encode(rows_of(bags[row : row + 1]))[0], together[row])


def test_a_text_without_known_tokens_has_a_vector_too():
    encoder = learned(3, 4).export()
    empty = sp.csr_array((1, 10), dtype=np.float32)
    np.testing.assert_allclose(encoder.encode(rows_of(empty))[0], np.maximum(encoder.block.offset, 0))


def test_label_texts_behind_the_documents_go_without_block_and_lose_no_word():
    """E z, the same however much of the documents is dropped."""
    names, learning = rows_of(drawn(5)), learned(5, 4, words_dropped=0.9)
    batch = BagTexts(rows_of(drawn(1)), names).batch(np.arange(3), labels=np.array([4, 0]))
    documents, texts = learning.with_labels(batch)
    assert documents.shape == (3, 4)
    np.testing.assert_allclose(texts.detach(), learning.export().before_block(names)[[4, 0]], rtol=1e-5)
    whole = learning.eval()(BagTexts(rows_of(drawn(1))).batch(np.arange(3)))
    assert not torch.allclose(documents, whole)


def test_words_are_dropped_from_documents_and_not_from_label_texts():
    """Three quarters of the documents' weights of 2 become 0, and what is left 8."""
    bags, names = (rows_of(sp.csr_array(np.full((n, 50), 2, np.float32))) for n in (3, 6))
    start = TokenBag(Reader(Bags(50, None), None), np.ones((50, 1), np.float32), BLOCKS["gated"].first(1))
    learning = LearningBag(start, dropout=0.0, words_dropped=0.75)
    batch = BagTexts(bags, names).batch(np.array([2, 0]), labels=np.arange(4))
    weights = learning._words_dropped(batch)
    own = weights[:100]
    assert set(own.tolist()) == {0.0, 8.0} and 5 < (own > 0).sum() < 50
    assert (weights[100:] == 2).all() and len(weights) == len(batch.weights)
    assert torch.equal(learning.eval()._words_dropped(batch), batch.weights)


def test_label_texts_are_looked_up_by_their_numbers():
    names = rows_of(drawn(5))
    learning = LearningBag(some_bag(4), dropout=0.0, label_texts=names)
    found = learning.of_labels(torch.tensor([4, 0])).detach()
    np.testing.assert_allclose(found, some_bag(4).before_block(names)[[4, 0]], rtol=1e-5)


def test_a_bag_that_starts_another_training_has_vectors_of_length_root_two():
    """Lengths 3 and 1, mean 2: times √2 / 2."""
    start = TokenBag(Reader(Bags(2, None), None), np.array([[0, 3], [1, 0]], np.float32), BLOCKS["gated"].first(2))
    np.testing.assert_allclose(start.as_start().vectors, [[0, 3 * 2**-0.5], [2**-0.5, 0]], rtol=1e-6)
    nothing = TokenBag(start.reader, np.zeros((2, 2), np.float32), start.block)
    assert not nothing.as_start().vectors.any()


def test_what_learns_is_in_one_group_each_and_rates_are_a_tenth_for_the_block():
    learning = learned(0, 4)
    assert [each.shape for each in learning.tables] == [(10, 4)]
    assert len(learning.tables) + len(learning.dense) == len(list(learning.parameters()))
    assert learning.rates(None, 0.02) == (pytest.approx(0.002), 0.02) and learning.rates(0.5, 0.02) == (0.5, 0.02)
    learning.vectors.requires_grad_(False)
    assert learning.tables == []


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


@pytest.mark.parametrize("block", [Block, Residual])
def test_what_was_learned_on_another_device_is_exported_to_the_cpu(block: type):
    learning = LearningBag(some_bag(5), dropout=0.0)
    learning.block = block(5, 0.0)
    here = learning.export()
    learning.vectors = nn.Parameter(learning.vectors.detach().as_subclass(Elsewhere))
    there = learning.export()
    np.testing.assert_array_equal(here.vectors, there.vectors)
