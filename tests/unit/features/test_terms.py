"""Terms and their counts against plain counting."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import Texts
from longtail.errors import ConfigError
from longtail.features.terms import Terms, count_terms

WORDS = ["aa", "ab", "abc", "bb", "éé", "x"]


def plain_terms(strings: list[str], ngrams: int) -> list[list[str]]:
    rows = [[word for word in string.split() if len(word) > 1] for string in strings]
    return [row + [f"{one} {two}" for one, two in pairwise(row)] * (ngrams == 2) for row in rows]


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=7), st.integers(1, 2))
def test_terms_are_counted_by_document_and_by_occurrence_in_alphabetical_order(strings: list[str], ngrams: int):
    rows = plain_terms(strings, ngrams)
    documents, times = Counter(term for row in rows for term in set(row)), Counter(term for row in rows for term in row)
    terms = count_terms(Texts.of(strings), ngrams)
    assert terms.spelled() == sorted(times)
    assert terms.counts.tolist() == [[documents[term], times[term]] for term in sorted(times)]


@pytest.mark.parametrize("ngrams", [1, 2])
def test_rare_terms_are_left_out_when_counting_as_they_would_be_afterwards(ngrams: int):
    texts = Texts.of(["red fox", "red fox runs", "red sea", "sea of red foxes"])
    later = count_terms(texts, ngrams).among(2, 4, None)
    assert count_terms(texts, ngrams, min_df=2).spelled() == later.spelled()
    assert "red" in later.spelled()


def test_terms_that_are_all_too_rare_are_an_error_and_no_terms_are_none():
    with pytest.raises(ConfigError, match="min_df = 2"):
        count_terms(Texts.of(["red", "fox"]), min_df=2)
    assert count_terms(Texts.of(["a", ""]), 2, min_df=2).spelled() == []


def test_terms_are_chosen_by_documents_first_and_then_by_occurrences():
    names = ["aa", "bb", "cc", "dd"]
    tokens = np.array([[at, -1] for at in range(4)], np.int32)
    terms = Terms(names, tokens, np.array([[1, 9], [2, 3], [3, 3], [4, 4]]))
    assert terms.among(2, 3, None).spelled() == ["bb", "cc"]
    assert terms.among(1, 4, 2).spelled() == ["aa", "dd"]
    assert terms.among(2, 4, 2).spelled() == ["bb", "dd"]
