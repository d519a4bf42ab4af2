"""Labels by id and by a part of their names."""

from __future__ import annotations

import numpy as np

from longtail.corpus import Label
from longtail.serve.label_search import LabelSearch

LABELS = [
    Label("1", "Cats"),
    Label("2", "wild cat"),
    Label("3", "Straße"),
    Label("4", "catfish"),
    Label("cat", "Felis"),
]
COUNTS = np.array([5, 90, 1, 7, 2])


def search() -> LabelSearch:
    return LabelSearch.of(LABELS, COUNTS)


def names(part: str, limit: int = 10) -> list[str]:
    return [LABELS[at].name for at in search().find(part, limit).indices]


def test_the_id_comes_first_then_beginnings_then_the_rest_each_by_frequency():
    assert names("cat") == ["Felis", "catfish", "Cats", "wild cat"]
    assert search().find("cat", 2).total == 4


def test_capitals_do_not_matter():
    assert names("STRASSE") == ["Straße"] and names("CATS") == ["Cats"]


def test_an_empty_query_lists_the_most_frequent():
    assert names("", 2) == ["wild cat", "catfish"]


def test_ids_are_found_exactly():
    assert search().index("3") == 2 and search().index("5") is None and search().index("CAT") is None
