"""What a person sees of a table."""

from __future__ import annotations

import io

from rich.console import Console


def shown(renderable: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


def cells(text: str, first: str) -> list[str]:
    """The words of the line that starts with `first`."""
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [first])
