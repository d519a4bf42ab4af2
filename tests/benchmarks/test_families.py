"""Families of packages: who is whose sibling, and what stays out together."""

from __future__ import annotations

import numpy as np

from benchmarks.families import LARGEST, families, without_families
from longtail.corpus import Corpus


def test_names_that_begin_alike_and_descriptions_that_are_one_are_family():
    texts = [
        "0ad: Real-time strategy game of ancient warfare",
        "0ad-data: Real-time strategy game of ancient warfare (data files)",
        "libfoo1: strategy of reading files - library",
        "foo-tools: strategy of reading files - tools",
        "bar: a game",
        "barrel: a game",  # begins alike, but not with the name; two words are not enough to know a description by
        "bar-doc: how to read",
    ]
    one = families(texts)
    assert one[0] == one[1] and one[2] == one[3] and one[4] == one[6]
    assert len({one[0], one[2], one[4], one[5]}) == 4


def test_what_very_many_begin_with_is_no_family():
    many = ["python3: interpreter", *(f"python3-{at}: library {at}" for at in range(LARGEST + 1))]
    assert len(set(families([*many, "python3-7-doc: texts", "python3-7: library 7"]))) == len(many)


def test_held_out_families_leave_no_sibling_and_no_label_of_their_own_behind():
    packages = [
        f"{name}{part}: about {name}" for name in ("a", "b", "c", "d", "e", "f", "g", "h") for part in ("", "-x")
    ]
    # Each needs the next package, its own sibling among them, and "a".
    needs = [[packages[(at + 1) % len(packages)], packages[0]] for at in range(len(packages))]
    train = Corpus.of(packages, needs)
    rest, held = without_families(train, share=0.4, seed=1)
    assert len(rest) + len(held) == len(packages) and 0 < len(held) < len(packages)
    assert not {text[0] for text in rest.texts} & {text[0] for text in held.texts}
    names = list(held.label_set.names)
    given = {(text[0], names[label][0]) for text, row in zip(held.texts, held.labels) for label in row.indices}
    assert given and all(own != other for own, other in given)
    learned = np.bincount(rest.labels.indices, minlength=rest.n_labels)
    assert learned[held.labels.indices].min() > 0
    assert held.filtered is not None and not (held.filtered.toarray() * held.labels.toarray()).any()
