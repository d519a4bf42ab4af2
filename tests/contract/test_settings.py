"""Settings of all methods together: few, and one name means one thing."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict

import pytest

from longtail.config import Explained, explain
from longtail.methods import METHODS, method

ENCODER = ("encoder", "words", "bag", "transformer")  # what every method with an encoder has
MOST_OF_ENCODER, MOST_OF_METHOD, MOST_FIELDS = 17, 40, 20
# Settings of each method's encoder, and its own; those of a method inside another are counted there.  A new one is to
# be worth its lines in `longtail methods`.
COUNTS = {
    "centroid": (0, 7), "linear": (0, 16), "decaf": (17, 31), "decaf++": (0, 10), "lightdxml": (17, 30),
    "lightxml": (17, 23), "lightxml++": (0, 10), "gudn": (17, 29), "gudn++": (0, 10),
    "elias": (17, 39), "elias++": (0, 10),
}  # fmt: skip
# Meanings of centroid and linear, which have no encoder and do not learn by gradients, where a name is the same.
OF_THEIR_OWN = {
    "centroid": {"label_text", "seed"},
    "linear": {"seed", "labels_per_cluster", "beam", "negatives"},
}


def leaves(name: str) -> list[Explained]:
    return explain(method(name).Config())


def own_name(line: Explained) -> str:
    """Without the method that another one holds, as the `elias` of elias++."""
    head, _, rest = line.name.partition(".")
    return rest if head in METHODS else line.name


def counted(name: str) -> tuple[int, int]:
    names = [line.name for line in leaves(name) if line.name.partition(".")[0] not in METHODS]
    encoder = sum(each.partition(".")[0] in ENCODER for each in names) if "encoder" in names else 0
    return encoder, len(names) - encoder


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_few_settings(name: str):
    encoder, own = counted(name)
    assert encoder <= MOST_OF_ENCODER and own <= MOST_OF_METHOD
    assert (encoder, own) == COUNTS[name], "more settings, or fewer: write the new numbers"
    assert len(dataclasses.fields(method(name).Config)) <= MOST_FIELDS


def test_every_method_with_an_encoder_has_the_same_settings_of_it():
    found = {
        name: frozenset(line.name for line in leaves(name) if line.name.partition(".")[0] in ENCODER)
        for name in METHODS
        if counted(name)[0]
    }
    assert set(found) == {"decaf", "lightdxml", "lightxml", "gudn", "elias"} and len(set(found.values())) == 1


def stem(meaning: str) -> str:
    """What a setting means, without what its default makes of it: up to the first semicolon, colon or bracket."""
    return re.split(r"[;:(]", meaning)[0].strip()


def test_a_name_that_several_methods_share_means_the_same_in_all_of_them():
    meanings: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name in METHODS:
        for line in leaves(name):
            if own_name(line) not in OF_THEIR_OWN.get(name, set()):
                meanings[own_name(line)][stem(line.meaning)].add(name)
    unlike = {name: dict(said) for name, said in meanings.items() if len(said) > 1}
    assert unlike == {}
