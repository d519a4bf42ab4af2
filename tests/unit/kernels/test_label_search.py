"""Searching names, against Python's own strings."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.kernels.label_search import beginning, containing, heads, signatures

NAMES = ["cat", "wildcat", "catfish", "dog", "", "Käse", "concatenation of cats", "ca", "c", "nul\0x", "catalogue cat"]


def laid_out(names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [name.encode() for name in names]
    starts = np.append(0, np.cumsum([len(one) for one in encoded])).astype(np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), starts


def found(names: list[str], part: str, limit: int = 100, most: int = 10_000) -> tuple[list[int], int, list[int], int]:
    data, starts = laid_out(names)
    word = np.frombuffer(part.encode(), np.uint8)
    begin, begun = beginning(data, starts, heads(data, starts), word, limit)
    contain, contained = containing(data, starts, signatures(data, starts), word, limit, most)
    return begin.tolist(), begun, contain.tolist(), contained


def plain(names: list[str], part: str) -> tuple[list[int], list[int]]:
    """The plain twin."""
    begin = [at for at, name in enumerate(names) if name.startswith(part)]
    return begin, [at for at, name in enumerate(names) if part in name and at not in begin]


@pytest.mark.parametrize(
    "part", ["cat", "c", "at", "catfish", "concatenation of cats", "x", "ä", "nul", "nul\0", "\0", " of "]
)
def test_names_are_found_as_python_finds_them(part: str):
    begin, contain = plain(NAMES, part)
    assert found(NAMES, part) == (begin, len(begin), contain, len(contain))


def test_random_names_are_found_as_python_finds_them():
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abcd "), rng.integers(0, 15))) for _ in range(3000)]
    for length in (1, 2, 3, 5, 9, 12):
        part = "".join(rng.choice(list("abcd "), length))
        begin, contain = plain(names, part)
        assert found(names, part, limit=3000) == (begin, len(begin), contain, len(contain))


def test_a_limit_keeps_the_first_and_counting_ends_at_most():
    names = ["xa"] * 100 + ["a"] * 100
    begin, begun, contain, contained = found(names, "a", limit=3, most=10)
    assert (begin, begun, contain, contained) == ([100, 101, 102], 100, [0, 1, 2], 10)


def test_no_names_have_nothing():
    assert found([], "a") == ([], 0, [], 0)


def test_arrays_that_do_not_fit_are_refused():
    data, starts = laid_out(NAMES)
    for wrong in (starts[:-1], starts[::-1].copy(), starts + 1):
        with pytest.raises(ValueError):
            heads(data, wrong)
    with pytest.raises(ValueError):
        containing(data, starts, np.zeros((4, 2), np.uint64), data[:2], 5, 5)
