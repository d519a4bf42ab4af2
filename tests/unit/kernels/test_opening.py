"""The best labels in open clusters are to the last bit those that all rows give, however few of them are compared."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.kernels import opening, tables
from longtail.kernels.opening import Opening
from longtail.kernels.tables import Members, Table, likeliest_of, rank_members
from longtail.precision import stored_as

Rows = tuple[np.ndarray, np.ndarray]


def drawn(seed: int, n: int, dim: int, size: float = 1.0) -> Rows:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, dim)) * size).astype(np.float32), rng.standard_normal(n).astype(np.float32)


def groups(seed: int, n_labels: int, n_clusters: int) -> Members:
    """Labels in any order, in clusters of any size, some of them empty."""
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, n_labels + 1, n_clusters - 1))
    return Members(np.concatenate([[0], starts, [n_labels]]), rng.permutation(n_labels).astype(np.int32))


def by_two_steps(
    clusters: Table, table: Table, members: Members, openers: np.ndarray, documents: np.ndarray, beam: int,
    weight: float, k: int,
) -> Rows:  # fmt: skip
    """The plain way: open clusters, then compare all labels inside."""
    opened, beliefs = likeliest_of(clusters, openers, min(beam, len(clusters)))
    return rank_members(table, members, documents, opened, beliefs**weight, k)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch):
    """Everything is sketched, and at once."""
    monkeypatch.setattr(tables, "MANY", 1)
    monkeypatch.setattr(tables, "SHARE", 1)
    monkeypatch.setattr(opening, "ASKED", 0)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 999), n_documents=st.integers(1, 20), n_labels=st.integers(1, 400),
    n_clusters=st.integers(1, 60), beam=st.integers(1, 30), k=st.integers(1, 12),
    dim=st.sampled_from([1, 7, 16, 33]), size=st.sampled_from([1e-20, 1e-2, 1.0, 1e4]),
    weight=st.sampled_from([0.0, 1.0]),
)  # fmt: skip
def test_both_steps_at_once_give_the_same_bits(
    seed: int, n_documents: int, n_labels: int, n_clusters: int, beam: int, k: int, dim: int, size: float,
    weight: float,
):  # fmt: skip
    clusters, table = Table(*drawn(seed, n_clusters, dim, size)), Table(*drawn(seed + 1, n_labels, dim, size))
    openers, documents = (drawn(seed + at, n_documents, dim)[0] for at in (2, 3))
    given = clusters, table, groups(seed, n_labels, n_clusters)
    found = Opening(*given, beam, weight).rank(openers, documents, k)
    expected = by_two_steps(*given, openers, documents, beam, weight, k)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("weight", [0.25, 0.7])
def test_beliefs_to_a_power_as_numpy_has_them(weight: float):
    clusters, table, members = Table(*drawn(0, 40, 16)), Table(*drawn(1, 300, 16)), groups(0, 300, 40)
    openers, documents = drawn(2, 9, 16)[0], drawn(3, 9, 16)[0]
    labels, scores = Opening(clusters, table, members, 12, weight).rank(openers, documents, 5)
    expected = by_two_steps(clusters, table, members, openers, documents, 12, weight, 5)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(scores, expected[1], rtol=1e-6)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_a_document_is_answered_the_same_alone_in_a_batch_and_before_labels_are_sketched(
    precision: str, monkeypatch: pytest.MonkeyPatch
):
    tables_of = [
        Table(stored[0], biases, stored[1])
        for rows, biases in (drawn(0, 40, 16), drawn(1, 300, 16))
        for stored in [stored_as(precision, rows)]
    ]
    openers, documents = drawn(2, 20, 16)[0], drawn(3, 20, 16)[0]
    monkeypatch.setattr(opening, "ASKED", 1000)
    several = Opening(*tables_of, groups(0, 300, 40), 12, 0.25)  # type: ignore[arg-type]
    expected = several.rank(openers, documents, 5)
    monkeypatch.setattr(opening, "ASKED", 0)
    for asked in (several, pickle.loads(pickle.dumps(several))):
        alone = [asked.rank(openers[row : row + 1], documents[row : row + 1], 5) for row in range(20)]
        for one, other in zip(expected, zip(*alone)):
            np.testing.assert_array_equal(one, np.concatenate(other))


def test_labels_that_score_alike_stand_by_their_numbers():
    clusters, members = Table(*drawn(0, 8, 4)), groups(0, 200, 8)
    table = Table(np.ones((200, 4), np.float32), np.zeros(200, np.float32))
    openers, documents = drawn(2, 3, 4)[0], drawn(3, 3, 4)[0]
    given = clusters, table, members
    labels, _ = Opening(*given, 8, 0.0).rank(openers, documents, 5)
    assert labels.tolist() == [[0, 1, 2, 3, 4]] * 3


def test_a_score_in_numbers():
    """σ is 1/2 at 0 and 3/4 at ln 3: one label scores 3/4 · (1/2)² in its cluster, the other one 1/2 · (3/4)²."""
    log3 = np.float32(np.log(3))
    clusters = Table(np.array([[0.0], [log3]], np.float32), np.zeros(2, np.float32))
    table = Table(np.array([[log3], [0.0]], np.float32), np.zeros(2, np.float32))
    one = np.ones((1, 1), np.float32)
    labels, scores = Opening(clusters, table, Members(np.array([0, 1, 2]), np.array([7, 5])), 2, 2.0).rank(one, one, 3)
    assert labels.tolist() == [[5, 7, PAD]]
    np.testing.assert_allclose(scores, [[9 / 32, 3 / 16, 0]], rtol=1e-6)


def test_a_vector_that_is_no_number_breaks_nothing():
    clusters, table, members = Table(*drawn(0, 40, 16)), Table(*drawn(1, 300, 16)), groups(0, 300, 40)
    openers, documents = drawn(2, 2, 16)[0], drawn(3, 2, 16)[0]
    for bad in (np.nan, np.inf, np.float32(3e38)):
        openers[0, 3] = documents[1, 5] = bad
        assert Opening(clusters, table, members, 12, 0.25).rank(openers, documents, 5)[0].shape == (2, 5)


def test_what_does_not_fit_together_is_refused():
    clusters, table, members = Table(*drawn(0, 4, 16)), Table(*drawn(1, 30, 16)), groups(0, 30, 4)
    with pytest.raises(ValueError, match="rows for"):
        Opening(Table(*drawn(0, 5, 16)), table, members, 2, 1.0)
    with pytest.raises(ValueError, match="labels"):
        Opening(clusters, Table(*drawn(1, 31, 16)), members, 2, 1.0)
    fits = Opening(clusters, table, members, 2, 1.0)
    with pytest.raises(ValueError, match="vectors"):
        fits.rank(np.zeros((1, 15), np.float32), np.zeros((1, 16), np.float32), 1)
    with pytest.raises(ValueError, match="vectors"):
        fits.rank(np.zeros((2, 16), np.float32), np.zeros((1, 16), np.float32), 1)


def test_no_documents_and_no_labels():
    nothing = np.zeros((0, 16), np.float32)
    clusters, members = Table(*drawn(0, 4, 16)), groups(0, 30, 4)
    assert Opening(clusters, Table(*drawn(1, 30, 16)), members, 2, 1.0).rank(nothing, nothing, 3)[0].shape == (0, 3)
    empty = Members(np.zeros(5, np.int64), np.zeros(0, np.int32))
    one = np.ones((1, 16), np.float32)
    assert Opening(clusters, Table(*drawn(1, 0, 16)), empty, 2, 1.0).rank(one, one, 2)[0].tolist() == [[PAD, PAD]]
