"""Settings of all methods together: few, and one name means one thing."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict

import pytest

from longtail import fit
from longtail.config import Explained, build, explain
from longtail.corpus import Splits
from longtail.encoders.encoder import BAG, without_effect
from longtail.methods import METHODS, method

# What every method with an encoder has.
ENCODER = ("encoder", "words", "bag", "transformer")
# Settings of each method that apply with a bag, with a transformer, and all it has; those of a method inside another
# are counted there.  A new one is to be worth its lines in `longtail methods`.
COUNTS = {
    "centroid": (5, 5, 5), "linear": (14, 14, 14), "decaf": (26, 27, 31), "decaf++": (10, 10, 10),
    "lightdxml": (32, 33, 37), "lightxml": (28, 29, 33), "lightxml++": (10, 10, 10), "gudn": (32, 33, 37),
    "gudn++": (10, 10, 10), "elias": (34, 35, 39), "elias++": (10, 10, 10),
}  # fmt: skip
# Of these, at most.  ELIAS' paper gives clusters and rows rates and steps of their own.
MOST_APPLYING, MOST_OF_ELIAS, MOST, MOST_FIELDS = 33, 35, 39, 18
# Settings of training that every method with an encoder has.
OPTIM = {
    "epochs", "lr", "row_lr", "precision", "batch_size", "schedule", "warmup", "weight_decay", "average_from",
    "average_every",
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


def counted(name: str) -> tuple[int, int, int]:
    """How many settings apply with a bag, with a transformer, and how many there are."""
    names = [line.name for line in leaves(name) if line.name.partition(".")[0] not in METHODS]
    if "encoder" not in names:
        return (len(names),) * 3
    configs = [build(method(name).Config, {"encoder": encoder}) for encoder in (BAG, "bert-base-uncased")]
    bag, transformer = (len(names) - len(without_effect(names, config)) for config in configs)
    return bag, transformer, len(names)


def with_encoder() -> list[str]:
    return [name for name in METHODS if any(line.name == "encoder" for line in leaves(name))]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_few_settings(name: str):
    bag, transformer, every = counted(name)
    assert max(bag, transformer) <= (MOST_OF_ELIAS if name == "elias" else MOST_APPLYING) and every <= MOST
    assert (bag, transformer, every) == COUNTS[name], "more settings, or fewer: write the new numbers"
    assert len(dataclasses.fields(method(name).Config)) <= MOST_FIELDS


def test_every_method_with_an_encoder_has_the_same_settings_of_it_and_of_its_training():
    assert set(with_encoder()) == {"decaf", "lightdxml", "lightxml", "gudn", "elias"}
    found = [{line.name for line in leaves(name)} for name in with_encoder()]
    assert len({frozenset(each for each in names if each.partition(".")[0] in ENCODER) for names in found}) == 1
    assert all(names >= {f"optim.{each}" for each in OPTIM} for names in found)


def test_of_the_encoder_that_is_not_chosen_no_setting_applies():
    config = method("elias++").Config()  # on a bag
    names = ["elias.bag.dim", "elias.transformer.layers", "elias.optim.lr", "cost", "bag", "elias.encoder"]
    assert without_effect(names, config) == ["elias.transformer.layers"]
    other = build(method("elias++").Config, {"elias.encoder": "bert-base-uncased"})
    assert without_effect(names, other) == ["elias.bag.dim"]


def test_a_setting_without_effect_is_told_and_one_of_a_file_is_not(planted: Splits):
    """A file may be for the other encoder, with this one on top."""
    heard: list[str] = []
    quick = {"encoder": "bag", "bag": {"dim": 8, "subwords": 0}, "optim.epochs": 1, "transformer": {"max_tokens": 16}}
    fit("lightxml", planted.train, say=heard.append, **quick, **{"transformer.layers": 2})
    told = [line for line in heard if "has no effect" in line]
    assert told == ["careful: transformer.layers has no effect with this encoder; see longtail methods lightxml"]


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
