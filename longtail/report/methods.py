"""Output of `longtail methods`: all methods, or the settings of one, as tables or JSON."""

from __future__ import annotations

import ast
import dataclasses
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.table import Table

from longtail.auto.settings import Config
from longtail.config import Explained, explain
from longtail.encoders.encoder import without_effect
from longtail.methods import METHODS, method
from longtail.presets import presets
from longtail.report.tables import empty_table


def methods_table() -> Table:
    """All methods with their summaries."""
    shown = empty_table("Methods", ["method", "what it does"], right=False)
    shown.columns[0].no_wrap = True  # names are copied by users
    for about in methods_json():
        shown.add_row(about["name"], about["summary"])
    return shown


def methods_json() -> list[dict[str, str]]:
    """All methods as JSON."""
    return [{"name": name, "summary": _summary(module)} for name, module in _all().items()]


def settings_list(name: str, width: int = 80) -> str:
    """All settings of a method as `--set` takes them, with meaning and source; names are never wrapped."""
    lines = [f"Settings of {name}"]
    if names := presets(name):
        said = f"Presets, for --preset: {', '.join(names)}"
        lines += ["", *wrap(said, width, subsequent_indent="    ", break_on_hyphens=False)]
    settings, idle = _settings(name)
    for one in settings:
        if one.name not in idle:
            lines += _setting_lines(one, width)
    if idle:
        lines += ["", *wrap("Settings of another encoder, without effect unless it is chosen:", width)]
        for one in settings:
            if one.name in idle:
                lines += _setting_lines(one, width)
    return "\n".join(lines)


def _setting_lines(one: Explained, width: int) -> list[str]:
    lines = ["", f"{one.name} = {as_set(one.default)}"]
    for said in (one.meaning, f"source: {one.source}" if one.source else ""):
        lines += wrap(said, width, initial_indent="    ", subsequent_indent="    ")
    return lines


def _settings(name: str) -> tuple[list[Explained], set[str]]:
    """All settings, and the names of those that have no effect with the encoder of the defaults."""
    defaults = _config(name)
    settings = explain(defaults)
    return settings, set(without_effect([line.name for line in settings], defaults))


def _all() -> dict[str, str]:
    """Every trainable name and its module."""
    return {"auto": "longtail.auto"} | METHODS


def _config(name: str) -> Any:  # noqa: ANN401 - a frozen dataclass
    return Config() if name == "auto" else method(name).Config()


def as_set(value: object) -> str:
    """A default as `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def settings_json(name: str) -> dict[str, Any]:
    """The settings of a method as JSON."""
    known, idle = _settings(name)
    settings = [dataclasses.asdict(line) | {"applies": line.name not in idle} for line in known]
    module = _all()[name.partition("/")[0]]
    return {"name": name, "summary": _summary(module), "presets": presets(name), "settings": settings}


def _summary(module: str) -> str:
    """First line of a module's docstring, parsed without import: its packages may not be installed."""
    spec = find_spec(module)
    source = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
