"""The forms of y."""

from __future__ import annotations

from longtail.sklearn.targets import Classes, LabelLists


def test_forms_are_plain_values():
    assert LabelLists.of([["b"], ["a", "b"]]).classes.tolist() == ["a", "b"]
    assert Classes.of([3, 1, 3]).matrix([3, 1, 3]).toarray().tolist() == [[0, 1], [1, 0], [0, 1]]
    assert LabelLists.of([["a"]]).matrix([["z", "a"], []]).toarray().tolist() == [[1, 1], [0, 0]]
