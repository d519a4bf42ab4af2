"""Terms and their counts against plain counting."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.corpus import Texts
from longtail.errors import ConfigError
from longtail.features.terms import count_terms

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
    every = count_terms(texts, ngrams)
    later = [term for term, (documents, _) in zip(every.spelled(), every.counts) if documents >= 2]
    assert count_terms(texts, ngrams, min_df=2).spelled() == later
    assert "red" in later


def test_terms_that_are_all_too_rare_are_an_error_and_no_terms_are_none():
    with pytest.raises(ConfigError, match="min_df = 2"):
        count_terms(Texts.of(["red", "fox"]), min_df=2)
    assert count_terms(Texts.of(["a", ""]), 2, min_df=2).spelled() == []
