"""Methods and settings as they are listed."""

from __future__ import annotations

import dataclasses
import json
import sys
from types import ModuleType

import pytest

from longtail import methods
from longtail.config import build, explain, parse_assignment, setting
from longtail.report import methods as report
from tests.unit.report.terminal import shown


def test_methods_are_listed_with_their_first_sentence_and_not_imported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(methods.METHODS, "odd", "antigravity")
    monkeypatch.setitem(methods.METHODS, "known", "longtail.ranking")
    text = shown(report.methods_table(), width=120)
    assert "The answer: the best labels of each document, best first." in text
    assert "odd" in text and "antigravity" not in sys.modules


def test_settings_are_listed_with_default_meaning_and_source(monkeypatch: pytest.MonkeyPatch):
    @dataclasses.dataclass(frozen=True)
    class Config:
        beam: int = setting(10, "clusters opened per document", "PECOS")
        cap: int | None = setting(None, "at most this many")
        lite: bool = setting(True, "less of it")
        shares: tuple[float, ...] = setting((0.5, 0.75), "when")

    module = ModuleType("toy_method")
    module.Config, module.fit, module.need = Config, None, None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_method", module)
    monkeypatch.setitem(methods.METHODS, "toy", "toy_method")
    assert report.settings_list("toy").splitlines() == [
        "Settings of toy",
        "", "beam = 10", "    clusters opened per document", "    source: PECOS",
        "", "cap = none", "    at most this many",
        "", "lite = true", "    less of it",
        "", "shares = 0.5,0.75", "    when",
    ]  # fmt: skip


@pytest.mark.parametrize("name", methods.METHODS)
def test_names_of_settings_are_whole_at_any_width_and_the_rest_fits(name: str):
    names = [line.name for line in explain(methods.method(name).Config())]
    for width in (80, 30):
        lines = report.settings_list(name, width).splitlines()
        listed = [line.split(" = ")[0] for line in lines if " = " in line and not line.startswith(" ")]
        assert sorted(listed) == sorted(names) and len(set(listed)) == len(names)
        assert all(len(line) <= width for line in lines if line.startswith(" "))


@pytest.mark.parametrize("name", methods.METHODS)
def test_defaults_as_shown_are_what_set_takes(name: str):
    lines = [line for line in report.settings_list(name).splitlines() if " = " in line and not line.startswith(" ")]
    given = dict(map(parse_assignment, lines))
    config = methods.method(name).Config
    assert given and build(config, given) == config()


@pytest.mark.parametrize("name", methods.METHODS)
def test_settings_as_json_are_those_of_the_list(name: str):
    told = json.loads(json.dumps(report.settings_json(name), allow_nan=False))
    assert told["name"] == name and told["summary"]
    assert [set(line) for line in told["settings"]] == [{"name", "default", "meaning", "source", "applies"}] * len(
        told["settings"]
    )
    assert [line["name"] for line in told["settings"]] == [line.name for line in explain(methods.method(name).Config())]


def test_names_of_methods_are_whole_on_a_narrow_terminal():
    text = shown(report.methods_table(), width=40)
    assert all(name in text for name in methods.METHODS) and "…" not in text


def test_settings_of_a_variant_are_those_of_its_method():
    whole, variant = (report.settings_json(name) for name in ("decaf", "decaf/lite"))
    assert variant == whole | {"name": "decaf/lite"}
    assert report.settings_list("decaf/lite").startswith("Settings of decaf/lite\n")
