"""Words of the command line that several commands take, and what they mean."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.columns import Reading
from longtail.errors import ConfigError

if TYPE_CHECKING:
    from longtail.corpus import Splits

CorpusArgument = Annotated[str, typer.Argument(metavar="CORPUS", help="A file, a directory, or 'demo'.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model directory, as in runs/x/model.")]


TextOption = Annotated[
    str | None, typer.Option(metavar="COLUMN,…", help="Columns of a table that are the text, joined in this order.")
]
READING: dict[str, Any] = {  # options of every command that reads a corpus
    "text": TextOption,
    "labels": Annotated[
        str | None, typer.Option(metavar="COLUMN,…", help="The column with the labels, or columns of 0 and 1.")
    ],
    "label_separator": Annotated[
        str | None, typer.Option(metavar="TEXT", help="Between the labels in one cell; '' keeps cells whole.")
    ],
    "table": Annotated[
        str | None, typer.Option(metavar="NAME", help="The table of a database, or the sheet of a spreadsheet.")
    ],
    "vocabulary": Annotated[
        str | None, typer.Option(metavar="FILE", help="Describes the labels: CSV, TSV, SKOS; see docs/corpora.md.")
    ],
    "language": Annotated[str | None, typer.Option(help="Of label names, where a vocabulary has several.")],
}


def reads_corpus(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameter `reading` is made of the options in READING."""
    signature = inspect.signature(command, eval_str=True)
    kept = [parameter for name, parameter in signature.parameters.items() if name != "reading"]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in READING.items()
    ]

    @wraps(command)
    def with_options(*args: Any, **words: Any) -> None:  # noqa: ANN401 - those of the command
        given = {name: words.pop(name) for name in READING}
        command(*args, reading=Reading.of(**given), **words)

    with_options.__signature__ = signature.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in [*kept, *options]}
    return with_options


def read_corpus(corpus: str, reading: Reading) -> Splits:
    """Load a corpus and say what was guessed about its files."""
    from dataclasses import asdict

    from longtail.cli.output import say
    from longtail.data.load import load

    return load(corpus, say=say, **asdict(reading))


def as_options(reading: Reading) -> str:
    """What the user said about columns, to be said again in another command.

    >>> as_options(Reading.of("title,my abstract", label_separator=";"))
    " --text 'title,my abstract' --label-separator ';'"
    """
    given = {name: ",".join(value) if isinstance(value, list) else value for name, value in reading.to_json().items()}
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(value)}" for name, value in given.items())


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
