"""Settings: typos are errors, strings become what the field is, and every field can be explained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from longtail.config import build, explain, parse_assignment, read_toml, setting
from longtail.errors import ConfigError
from longtail.methods import METHODS, method


@dataclass(frozen=True)
class Inner:
    rate: float = setting(0.1, "step size", "Table 2")


@dataclass(frozen=True)
class Config:
    beam: int = setting(10, "clusters opened", "paper")
    lite: bool = setting(False, "freeze the tokens")
    start: str = setting("random", "token vectors")
    kind: Literal["a", "b"] = setting("a", "which one")
    layers: Literal[1, 2, 5] = setting(1, "how many")
    cap: int | None = setting(None, "at most this many")
    inner: Inner = setting(Inner(0.5), "the optimiser")


def test_defaults_stay_where_nothing_is_said():
    assert build(Config, {}) == Config()


@pytest.mark.parametrize(
    ("name", "given", "becomes"),
    [
        ("beam", "20", 20), ("beam", 20.0, 20), ("lite", "true", True), ("lite", True, True), ("start", "x", "x"),
        ("kind", "b", "b"), ("layers", "5", 5), ("layers", 2, 2), ("cap", "7", 7), ("cap", "none", None),
    ],
)  # fmt: skip
def test_values_become_what_the_field_is(name: str, given: object, becomes: object):
    assert getattr(build(Config, {name: given}), name) == becomes


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("beam", "x"), ("beam", 1.5), ("beam", True), ("lite", "maybe"), ("lite", 1), ("start", 3), ("kind", "c"),
        ("layers", "3"), ("layers", True), ("layers", "one"), ("inner", 3), ("cap", "many"),
    ],
)  # fmt: skip
def test_impossible_values_are_refused_with_the_field_and_the_value(name: str, given: object):
    with pytest.raises(ConfigError, match=name):
        build(Config, {name: given})


NUMBERS = [
    (name, line.name, type(line.default))
    for name in METHODS
    for line in explain(method(name).Config())
    if type(line.default) in (int, float)
]


@pytest.mark.parametrize(("name", "setting", "kind"), NUMBERS, ids=lambda part: str(part))
def test_no_number_of_any_method_is_negative_endless_or_no_number(name: str, setting: str, kind: type):
    for given in (-1, "-1", "nan", "inf", "1e999", float("nan"), float("inf"), *([10**23, "9" * 23] * (kind is int))):
        with pytest.raises(ConfigError, match=setting.rpartition(".")[2]):
            build(method(name).Config, {setting: given})


@pytest.mark.parametrize(
    ("name", "setting", "given"),
    [
        ("decaf", "bag.dim", 0), ("decaf", "labels_per_cluster", 0), ("lightdxml", "optim.epochs", 0),
        ("lightdxml", "search.links", 0), ("lightdxml", "search.links", 2**31), ("lightdxml", "search.width", 0),
    ],
)  # fmt: skip
def test_settings_no_training_can_work_with_are_refused_before_it(name: str, setting: str, given: int):
    with pytest.raises(ConfigError, match=setting.rpartition(".")[2]):
        build(method(name).Config, {setting: given})


def test_a_seed_may_be_as_large_as_everybody_takes_it():
    assert build(method("linear").Config, {"seed": 2**32 - 1}).seed == 2**32 - 1


def test_nested_settings_are_reached_by_dots_and_by_tables():
    assert build(Config, {"inner.rate": "0.2"}).inner.rate == 0.2
    assert build(Config, {"inner": {"rate": 0.2}}).inner.rate == 0.2


def test_the_last_word_wins_between_a_table_and_a_dotted_key():
    assert build(Config, {"inner": {"rate": 0.2}, "inner.rate": 0.3}).inner.rate == 0.3


def test_an_unknown_key_names_the_nearest_field():
    with pytest.raises(ConfigError, match=r"no setting baem; did you mean beam\?"):
        build(Config, {"baem": 3})
    with pytest.raises(ConfigError, match=r"inner\.rte; did you mean inner\.rate\?"):
        build(Config, {"inner.rte": 3})


def test_an_unknown_key_that_a_group_has_is_told_with_its_group():
    with pytest.raises(ConfigError, match=r"no setting epochs; did you mean label_encoder\.epochs or optim\.epochs\?"):
        build(method("lightdxml").Config, {"epochs": 2})


def test_every_field_is_explained_with_its_own_default():
    lines = {line.name: line for line in explain(Config())}
    assert lines["beam"].meaning == "clusters opened" and lines["beam"].source == "paper"
    assert lines["inner.rate"].default == 0.5


def test_an_assignment_needs_a_name_and_an_equals_sign():
    assert parse_assignment("beam = 3") == ("beam", "3")
    for bad in ("beam", "=3", ""):
        with pytest.raises(ConfigError, match="field=value"):
            parse_assignment(bad)


def test_a_file_has_the_settings_of_the_file_it_is_based_on(tmp_path: Path):
    (tmp_path / "base.toml").write_text("beam = 1\n[optim]\nlr = 2\nepochs = 3\n")
    (tmp_path / "own.toml").write_text(
        'based_on = "base.toml"\n[optim]\nlr = 4\n[part]\nbased_on = "base.toml"\nbeam = 5\n'
    )
    base = {"beam": 1, "optim": {"lr": 2, "epochs": 3}}
    assert read_toml(tmp_path / "own.toml") == {
        "beam": 1, "optim": {"lr": 4, "epochs": 3}, "part": base | {"beam": 5},
    }  # fmt: skip


def test_a_file_that_is_based_on_itself_is_refused(tmp_path: Path):
    (tmp_path / "one.toml").write_text('based_on = "other.toml"\n')
    (tmp_path / "other.toml").write_text('based_on = "one.toml"\n')
    with pytest.raises(ConfigError, match=r"other\.toml: based_on = 'one\.toml' leads back"):
        read_toml(tmp_path / "one.toml")


def test_a_bad_toml_file_is_named_with_the_line(tmp_path: Path):
    (tmp_path / "c.toml").write_text("beam = 1\nlite = maybe\n")
    with pytest.raises(ConfigError, match=r"c\.toml.*line 2"):
        read_toml(tmp_path / "c.toml")
    with pytest.raises(ConfigError, match="no such file"):
        read_toml(tmp_path / "none.toml")
