"""Held-out families of packages, to choose settings for debian-related by: what --families means in benchmarks.deep.

The test split of debian-related keeps all packages of one source together, so no sibling of a test package is in train.
A random part of train has its siblings there, and rewards memory: five epochs of LightXML are better than three on it,
and worse on test.  Here whole families stay out.

A family is what names and descriptions tell: "0ad-data: Real-time strategy game of ancient warfare (data files)" begins
with the name of "0ad: …", and both descriptions are one up to what stands in brackets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from longtail.corpus import Corpus

LARGEST = 40  # names that begin alike, or descriptions that are one, in a family: "python3" is no source
SHORTEST = 3  # words of a description by which two packages are known to be siblings
CLAUSE = re.compile(r" \(| -|--|;|: |, ")


def families(texts: list[str]) -> np.ndarray:
    """The family of each "name: description", (texts,)."""
    names, descriptions = zip(*(text.partition(": ")[::2] for text in texts))
    pairs = alike(texts) + alike(roots(names)) + alike([clause_of(each) for each in descriptions])
    one, other = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = sp.csr_array((np.ones(len(one), np.int8), (one, other)), shape=(len(texts), len(texts)))
    return connected_components(graph, directed=False)[1]


def roots(names: Sequence[str]) -> list[str]:
    """The shortest name with which each begins and not too many others do: "0ad" of "0ad-data", but no "python3"."""
    known, begins = set(names), Counter(begin for name in names for begin in beginnings(name))
    return [
        next((each for each in beginnings(name) if each in known and begins[each] <= LARGEST), name) for name in names
    ]


def beginnings(name: str) -> list[str]:
    """What stands before each hyphen of a name, and the whole."""
    parts = name.split("-")
    return ["-".join(parts[:to]) for to in range(1, len(parts) + 1)]


def clause_of(description: str) -> str | None:
    """What a description says before it goes into detail, if that is enough to know it by."""
    clause = CLAUSE.split(description)[0].lower()
    return clause if len(clause.split()) >= SHORTEST else None


def alike(marks: Sequence[str | None]) -> list[tuple[int, int]]:
    """Each that has a mark with the first that has it, unless too many have."""
    places: dict[str, list[int]] = {}
    for at, mark in enumerate(marks):
        if mark is not None:
            places.setdefault(mark, []).append(at)
    return [(found[0], at) for found in places.values() if len(found) <= LARGEST for at in found[1:]]


def without_families(train: Corpus, share: float = 0.1, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Train without some families, and these, judged as test is: labels of a document's own family do not count.

    Nor do labels that lose all their documents, for nobody could learn them.
    """
    family = families([*train.texts, *train.label_set.names])
    of_document, of_label = family[: len(train)], family[len(train) :]
    chosen = np.random.default_rng(seed).random(family.max() + 1) < share
    rest = train.subset(np.flatnonzero(~chosen[of_document]), "train")
    held = train.subset(np.flatnonzero(chosen[of_document]), "test")
    counts = np.bincount(rest.labels.indices, minlength=train.n_labels)
    own = same(of_document[chosen[of_document]], of_label)
    labels = held.labels - held.labels.multiply(own)
    labels = sp.csr_array(labels @ sp.diags_array((counts > 0).astype(labels.dtype)))
    labels.eliminate_zeros()
    return rest, replace(held, labels=labels, filtered=own)


def same(one: np.ndarray, other: np.ndarray) -> sp.csr_array:
    """Which of one are of the same family as which of the other, (one, other) of 0 and 1."""
    width = max(one.max(), other.max()) + 1
    marks = [sp.csr_array((np.ones(len(each), np.float32), each, np.arange(len(each) + 1)), (len(each), width))
             for each in (one, other)]  # fmt: skip
    return sp.csr_array(marks[0] @ marks[1].T)
