"""What tokens add to the product of a row and a text's vector: exactly what the block, linear around it, says."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.kernels.bag import ON_DESK, Encoding
from longtail.precision import as_floats, stored_as
from longtail.sparse import Rows


def made(gated: bool, precision: str = "fp32", dim: int = 21) -> tuple[Encoding, tuple]:
    rng = np.random.default_rng(0)
    vectors, scales = stored_as(precision, rng.standard_normal((40, dim)).astype(np.float32))
    residual, offset = (rng.standard_normal(shape).astype(np.float32) for shape in ((dim, dim), dim))
    identity = rng.random(dim).astype(np.float32) if gated else None
    own = as_floats(vectors, scales).astype(np.float64)
    return Encoding(vectors, residual, offset, identity, scales), (own, residual, offset, identity)


def bag(*tokens: int) -> Rows:
    weights = np.linspace(0.2, 1, len(tokens)).astype(np.float32)
    return np.array([0, len(tokens)]), np.array(tokens, np.int32), weights


def plain(parts: tuple, given: Rows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (rows, tokens) and constants (rows,) by the block's derivative at the sum of the bag."""
    vectors, residual, offset, identity = parts
    total = given[2] @ vectors[given[1]]
    inner, positive = residual @ np.maximum(total, 0) + offset, total > 0
    if identity is None:
        kept = rows * (inner > 0)
        directions = (rows + kept @ residual) * positive
    else:
        kept = rows * (identity * total + inner > 0)
        directions = identity * kept + (kept @ residual) * positive
    return (directions @ vectors[given[1]].T) * given[2], kept @ offset


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_tokens_and_constant_add_up_to_the_product(gated: bool, precision: str):
    encoding, parts = made(gated, precision)
    rows = np.random.default_rng(1).standard_normal((3, 21)).astype(np.float32)
    for given in (bag(3, 7, 8, 39), bag(5), bag()):
        vector, values, constants, logits = encoding.explained(given, rows)
        np.testing.assert_array_equal(vector, encoding(given))
        np.testing.assert_allclose(values.sum(axis=1) + constants, rows @ vector[0], atol=1e-4)
        np.testing.assert_allclose(logits, rows @ vector[0], atol=1e-5)
        for one, other in zip((values, constants), plain(parts, given, rows)):
            np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_bag_is_read_the_same_alone_and_in_a_batch_however_long_it_is():
    encoding, _ = made(True)
    many = bag(*(np.arange(ON_DESK + 5) % 40).tolist())
    for given in (bag(3, 7, 8, 39), many):
        _, tokens, weights = given
        two = np.array([0, len(tokens), 2 * len(tokens)]), np.tile(tokens, 2), np.tile(weights, 2)
        np.testing.assert_array_equal(encoding(given)[0], encoding(two)[1])


def test_bags_that_are_mistaken_are_refused():
    encoding, _ = made(True)
    rows = np.ones((1, 21), np.float32)
    for mistaken in (bag(40), bag(-1), (np.array([0, 3]), *bag(1)[1:]), (np.array([-1, 1]), *bag(1)[1:])):
        with pytest.raises(ValueError, match="bag"):
            encoding(mistaken)
        with pytest.raises(ValueError, match="bag"):
            encoding.explained(mistaken, rows)
    with pytest.raises(ValueError, match="rows to explain"):
        encoding.explained(bag(1), rows[:, :3])
