"""The compiled word scanner and table against plain Python."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import Texts
from longtail.kernels.words import (
    CODE_POINTS,
    UNKNOWN,
    Table,
    _hash,
    empty_table,
    number_words,
    spell_words,
    with_room,
)

COMPILING = settings(deadline=None)  # the first example waits for the compiler

LOWERS = np.zeros(CODE_POINTS, np.int32)
LOWERS[ord("é")] = LOWERS[ord("É")] = ord("é")  # the only letters beyond ASCII here


def spelled(blocks: np.ndarray, begins: np.ndarray) -> list[bytes]:
    return [blocks[start:stop].tobytes().rstrip(b"\0") for start, stop in pairwise(begins)]


def learned(words: list[bytes], table: Table, learn: bool = True) -> tuple[list[int], Table]:
    padded = [word + bytes(8 - len(word) % 8) for word in words]
    begins = np.cumsum([0, *(len(word) // 8 for word in padded)])
    blocks = np.frombuffer(b"".join(padded), np.uint64).copy()
    if learn:
        table = with_room(table, len(words), len(blocks))
    return number_words(blocks, begins, table, learn).tolist(), table


@COMPILING
@given(st.lists(st.text("abzAZ09_éÉ ,.-\n", max_size=40), max_size=6))
def test_words_are_what_the_regular_expression_finds_in_lower_case(strings: list[str]):
    texts = Texts.of(strings)
    blocks, begins, offsets, whole = spell_words(texts.data, texts.starts, texts.stops, LOWERS)
    expected = [re.findall(r"\b\w\w+\b", string.lower()) for string in strings]
    assert whole
    assert spelled(blocks, begins) == [word.encode() for words in expected for word in words]
    assert np.diff(offsets).tolist() == [len(words) for words in expected]


@COMPILING
@given(st.lists(st.binary(max_size=30), max_size=5))
def test_any_bytes_at_all_are_read_safely_and_words_stay_inside_their_text(strings: list[bytes]):
    everything = np.arange(CODE_POINTS, dtype=np.int32)  # the greediest table: all but 0 are letters
    stops = np.cumsum([len(string) for string in strings], dtype=np.int64)
    starts = stops - np.array([len(string) for string in strings], np.int64)
    data = np.frombuffer(b"".join(strings), np.uint8)
    _, _, together, _ = spell_words(data, starts, stops, everything)
    alone = [spell_words(data[a:b], np.array([0]), np.array([b - a]), everything)[2][1] for a, b in zip(starts, stops)]
    assert np.diff(together).tolist() == alone


@COMPILING
@given(st.lists(st.binary(min_size=1, max_size=20).filter(lambda word: 0 not in word), max_size=60))
def test_words_are_numbered_in_the_order_they_first_appear(words: list[bytes]):
    numbers: dict[bytes, int] = {}
    expected = [numbers.setdefault(word, len(numbers)) for word in words]
    assert learned(words, empty_table())[0] == expected


def test_a_table_grown_many_times_forgets_nothing():
    words = [b"%d-%s" % (number, b"x" * (number % 23)) for number in range(5000)]
    table = empty_table()
    for start in range(0, 5000, 7):
        _, table = learned(words[start : start + 7], table)
    assert learned(words, table, learn=False)[0] == list(range(5000))
    assert learned([b"absent", b"0"], table, learn=False)[0] == [UNKNOWN, UNKNOWN]
    assert 2 * table.size[0] <= len(table.slots)


def hash_of(blocks: np.ndarray) -> np.uint64:
    return np.uint64(_hash(blocks, np.uint64(0), np.uint64(len(blocks))))


def test_two_words_with_the_same_hash_are_two_words():
    one, two = np.array([0x6161616161616161, 0x62], np.uint64), np.array([0x6363636363636363, 0], np.uint64)
    # The hash takes in a block by xor, so a last block that makes up for another first one gives the same hash.
    two[1] = one[1] ^ hash_of(one[:1]) ^ hash_of(two[:1])
    assert hash_of(one) == hash_of(two)
    table = with_room(empty_table(), 2, 4)
    blocks = np.concatenate([one, two])
    assert number_words(blocks, np.array([0, 2, 4]), table, True).tolist() == [0, 1]
    assert number_words(blocks, np.array([0, 2, 4]), table, False).tolist() == [0, 1]
