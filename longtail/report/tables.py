"""Style of terminal tables."""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.table import Table


def empty_table(title: str, columns: Iterable[str], *, right: bool = True) -> Table:
    """A table with title and columns; all but the first are right-aligned by default."""
    shown = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, header_style="", collapse_padding=True
    )
    for at, column in enumerate(columns):
        shown.add_column(column, justify="right" if right and at else "left", vertical="top")
    return shown


def number(value: float | None) -> str:
    """Two decimals; an empty string for None."""
    return "" if value is None else f"{value:.2f}"
