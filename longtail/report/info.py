"""Output of `longtail info` for a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from longtail.report.tables import empty_table
from longtail.train.machine import size

if TYPE_CHECKING:
    from longtail.predict.info import Changed, Member, ModelInfo


def info_table(info: ModelInfo) -> Table:
    """The table of `longtail info`."""
    shown = empty_table(escape(info.directory), ["", ""], right=False)
    for name, lines in _model_facts(info).items():
        shown.add_row(name, Text("\n".join(lines)))
    return shown


def _model_facts(info: ModelInfo) -> dict[str, list[str]]:
    facts = {
        "method": [info.method],
        "labels": [_labels(info)],
        "trained on": [f"{info.corpus}, {info.documents:,} documents"],
        "settings": [_changed(one) for one in info.settings] or ["defaults"],
        "members": [_member(one) for one in info.members],
        "validation": [", ".join(f"{name} {value:.2f}" for name, value in info.validation.items())],
        "chosen": [f"{what} by {_whose_documents(about)}" for what, about in info.chosen.items()],
        "threshold": [str(info.threshold)] if info.threshold else [],
        "files": [f"{name}  {size(count)}" for name, count in info.files.items()],
        "size": [size(info.bytes)],
        "format": [str(info.format)],
        "written by": [", ".join(f"{name} {version}" for name, version in info.versions.items())],
        "state": [info.state],
    }
    if info.members:
        del facts["settings"]
    return {name: lines for name, lines in facts.items() if any(lines)}


def _labels(info: ModelInfo) -> str:
    later = {"added after training": info.added, "removed": info.removed}
    return "; ".join([f"{info.labels:,}", *(f"{count:,} {what}" for what, count in later.items() if count)])


def _changed(setting: Changed) -> str:
    return f"{setting.name} = {setting.value} (default {setting.default})"


def _member(member: Member) -> str:
    settings = "".join(f"; {_changed(one)}" for one in member.settings)
    return f"{member.weight:.3g} x {member.method} on {member.corpus}, {member.documents:,} documents{settings}"


def _whose_documents(about: dict[str, Any]) -> str:
    if "name" not in about:
        return "the validation split"
    return f"{about.get('documents')} documents of {about['name']} ({about.get('split')})"
