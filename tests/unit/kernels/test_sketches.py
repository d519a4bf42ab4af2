"""The best rows by a sketch are to the last bit those that all rows give, also where the sketch tells little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.kernels import tables
from longtail.kernels.compiled import compiled
from longtail.kernels.sketches import Sketch, find_possible, sketch_of
from longtail.kernels.tables import Table, likeliest_of


def drawn(seed: int, n_documents: int, n_rows: int, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    documents, rows = (rng.standard_normal((n, dim)).astype(np.float32) for n in (n_documents, n_rows))
    return documents, rows, rng.standard_normal(n_rows).astype(np.float32)


def same(documents: np.ndarray, rows: np.ndarray, biases: np.ndarray, k: int) -> bool:
    plain, sketched = Table(rows, biases), Table(rows, biases)
    plain.is_sketched_for = lambda k: False  # type: ignore[method-assign]
    assert sketched.is_sketched_for(k)
    pairs = zip(likeliest_of(plain, documents, k), likeliest_of(sketched, documents, k))
    return all(np.array_equal(one, other) for one, other in pairs)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tables, "MANY", 1)
    monkeypatch.setattr(tables, "SHARE", 1)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 999), n_documents=st.integers(1, 20), n_rows=st.integers(1, 300), k=st.integers(1, 40),
    dim=st.sampled_from([1, 7, 16, 33, 64]), size=st.sampled_from([1e-20, 1e-3, 1.0, 1e6]),
)  # fmt: skip
def test_a_sketch_changes_no_bit(seed: int, n_documents: int, n_rows: int, k: int, dim: int, size: float):
    documents, rows, biases = drawn(seed, n_documents, max(n_rows, k), dim)
    assert same(documents, rows * np.float32(size), biases, k)


def test_rows_that_a_sketch_cannot_tell_apart():
    documents, rows, biases = drawn(0, 5, 400, 32)
    rng = np.random.default_rng(1)
    near = rows[:1] + rng.standard_normal((400, 32)).astype(np.float32) * np.float32(1e-6)
    assert same(documents, near, biases * 0, 10)  # closer to each other than a step of the integers
    assert same(documents, np.repeat(rows[:40], 10, axis=0), biases * 0, 10)  # ties stand by their numbers
    assert same(documents * 0, rows, biases * 0, 10)  # all logits are 0
    far = rows.copy()
    far[::7] *= np.float32(1e4)  # the error of these is larger than the logits of the others
    assert same(documents, far, biases, 10)
    assert same(documents, rows, biases * np.float32(1e5), 10)  # biases decide


def test_a_sketch_in_numbers():
    """127 stays; 1 becomes 1, 0.4 becomes 0: ‖r − r'‖ is 0.4, and ‖r'‖ = √(127² + 1)."""
    sketch = sketch_of(np.array([[127, 1, 0.4]], np.float32), np.array([-2], np.float32))
    assert sketch.codes.tolist() == [[127, 1, 0]]
    assert sketch.scales.tolist() == [1]
    np.testing.assert_allclose(sketch.offs, [0.4 + 1e-5 * 127.0], rtol=1e-4)
    np.testing.assert_allclose(sketch.worst, [0.4 + 1e-5 * 127.0, np.sqrt(127**2 + 1), 2e-6], rtol=1e-4)


@compiled
def _possible(logits, wanted, sketch, length, more, places, values):  # type: ignore[no-untyped-def]
    return find_possible(logits, wanted, sketch, length, more, places, values)


def possible(offs: list[float], length: float, more: float) -> list[int]:
    """The rows, of logits 1, 5, 4, 3.5 and 2, that may be among the two with the largest."""
    logits, places, values = np.array([1, 5, 4, 3.5, 2], np.float32), np.empty(5, np.int32), np.empty(5, np.float32)
    own = np.array(offs, np.float32)
    sketch = Sketch(np.zeros((5, 1), np.int8), np.ones(5, np.float32), own, np.array([own.max(), 0, 0], np.float32))
    count = _possible(logits, 2, sketch, np.float32(length), np.float32(more), places, values)
    return sorted(places[:count].tolist())


def test_rows_are_kept_that_twice_the_error_allows():
    assert possible([1, 1, 1, 1, 1], 0.2, 0.1) == [1, 2, 3]  # 4 − 0.3 is less than 3.5 + 0.3
    assert possible([1, 1, 1, 1, 1], 0.1, 0.1) == [1, 2]  # 4 − 0.2 is more than 3.5 + 0.2
    assert possible([1, 1, 1, 1, 1], np.nan, 0) == [0, 1, 2, 3, 4]


def test_every_row_has_an_error_of_its_own():
    assert possible([0, 0, 0, 0, 1], 2.5, 0) == [1, 2, 4]  # 2 may be 4.5, and 3.5 is 3.5
    assert possible([0, 0, 3, 0, 0], 1, 0) == [1, 2, 3]  # 4 may be 1: then 3.5 is the second
