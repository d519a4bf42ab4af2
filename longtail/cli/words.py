"""Words of the command line that several commands take, and what they mean."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from longtail.errors import ConfigError

CorpusArgument = Annotated[str, typer.Argument(metavar="CORPUS", help="A file, a directory, or 'demo'.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model directory, as in runs/x/model.")]


def to_write(text: str) -> Path:
    """A path to write to: see `store.named`."""
    from longtail.store import named

    return named(text)


def cut_offs(text: str) -> tuple[int, ...]:
    """The numbers that --k names, in order, none twice."""
    ks = tuple(sorted(set(numbers("--k", text, int))))
    if not ks or ks[0] < 1:
        raise ConfigError(f"--k {text}: cut-offs start at 1")
    return ks


def score_or_name(text: str) -> float | str:
    """A score, or a name that the model must know."""
    from longtail.ranking import check_threshold

    try:
        number = float(text)
    except ValueError:
        return text
    return check_threshold(number)


def numbers(option: str, text: str, kind: type) -> list[Any]:
    """Numbers separated by commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text}: write numbers separated by commas") from None


def byte_count(option: str, text: str) -> int:
    """50MB -> 52428800."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", text, re.IGNORECASE)
    if found is None or not float(found[1]) > 0:
        raise ConfigError(f"{option} {text}: write a size as in 500KB, 50MB or 1.5GB")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))
