"""What commands write: answers to standard output, progress to standard error, JSON files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from longtail.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console


def say(line: str) -> None:
    """Progress goes to standard error: standard output is for answers."""
    try:
        print(line, file=sys.stderr, flush=True)
    except BrokenPipeError:
        discard(sys.stderr)  # a training goes on when nobody watches it any more


def counted(count: int, noun: str) -> str:
    """
    >>> counted(1, "label"), counted(1200, "label")
    ('1 label', '1,200 labels')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def discard(stream: IO[str]) -> None:
    """Send what is left of a stream nowhere, or Python would try once more when it exits, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def screen() -> Console:
    """Standard output for tables."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would exit with 1

    return Screen()


def strict_json(value: Any, indent: int | None = None) -> str:  # noqa: ANN401 - whatever JSON can hold
    """JSON that every parser reads: Python would write NaN and Infinity, which JSON does not have."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """A file for programs, whole or not at all; its directory is made if it is not there."""
    from longtail import store

    with store.told(path, ConfigError):
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_whole(path, store.json_text(value))
