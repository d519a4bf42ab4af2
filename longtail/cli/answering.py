"""The command predict."""

from __future__ import annotations

import os
import stat
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from longtail import progress
from longtail.cli.output import say
from longtail.cli.words import ModelArgument, TextOption, score_or_name, to_write
from longtail.columns import Reading
from longtail.errors import ConfigError

if TYPE_CHECKING:
    from longtail.predict.predictor import Predictor


def predict(
    model: ModelArgument,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE…|-]",
            help="Texts: one a line, JSON, CSV, TSV, Parquet, .xlsx or .sqlite; also .gz and .xz; - is standard input.",
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option(min=1, help="How many labels at most: 5, or as many as `auto` was chosen for.")
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Leave out labels that score less; auto: what `calibrate` chose for the model.")
    ] = "0",
    format: Annotated[
        Literal["jsonl", "csv", "annif-tsv", "parquet"],
        typer.Option(help="How answers are written; parquet only with --engine ray."),
    ] = "jsonl",
    text: TextOption = None,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="The table of a database, or the sheet of a spreadsheet.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a record that cannot be read, instead of answering with an error.")
    ] = False,
    engine: Annotated[
        Literal["plain", "ray"], typer.Option(help="ray: on all cores or a cluster, in parts, and it can be resumed.")
    ] = "plain",
    out: Annotated[
        Path | None, typer.Option(parser=to_write, help="--engine ray: the directory that answers are written to.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="--engine ray: a running cluster, as in auto or HOST:6379.  [default: none]")
    ] = None,
) -> None:
    """Suggest labels: an answer for every text, in order, as they come."""
    reading, here = Reading.of(text, table=table), files or ["-"]
    if engine == "ray":
        _on_ray(model, here, out, address, k=k, threshold=threshold, format=format, reading=reading, strict=strict)
    elif out is not None or address is not None or format == "parquet":
        raise ConfigError("--out, --address and --format parquet are for --engine ray")
    else:
        _in_order(model, here, k, threshold, format, reading, strict)


def _in_order(
    model: Path, files: list[str], k: int | None, threshold: str, format: str, reading: Reading, strict: bool
) -> None:
    """Answers to standard output, in the order of the records."""
    from longtail.data.queries import STANDARD_INPUT, read_queries
    from longtail.kernels.threads import in_order
    from longtail.predict.answers import FORMATS, HEADERS, Answers
    from longtail.predict.opening import open_model

    opened = open_model(model)
    lowest = _lowest(opened, threshold)
    if STANDARD_INPUT in files and sys.stdin is not None and sys.stdin.isatty():
        say("type one text a line; Ctrl-D ends")
    # Answers on a terminal are all the progress there is to see; behind a pipe, too, a terminal may be written to.
    to_pipe = stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    progress.watch(None if sys.stdout.isatty() else say, bar=not to_pipe)
    answers = Answers(opened, k, lowest, FORMATS[format], say)
    batches = answers.numbered(chain.from_iterable(read_queries(file, strict, reading, say) for file in files))
    # What a pipe brings is answered before it is read again: whoever writes to it may be waiting.
    written = map(answers, batches) if STANDARD_INPUT in files else in_order(answers, batches)
    sys.stdout.buffer.write(HEADERS.get(format, b""))
    for answer in written:
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    answers.tell_how_many_were_bad()


def _lowest(opened: Predictor, threshold: str) -> float | str:
    """The threshold, which is said if the model chose it."""
    lowest = score_or_name(threshold)
    if isinstance(lowest, str):
        say(str(opened.threshold(lowest)))
    return lowest


def _on_ray(
    model: Path,
    files: list[str],
    out: Path | None,
    address: str | None,
    *,
    threshold: str,
    **asked: Any,  # noqa: ANN401 - options of the command
) -> None:
    """Answers to a directory, by the processes of Ray."""
    from longtail.errors import MissingExtraError
    from longtail.predict.opening import open_model

    if out is None:
        raise ConfigError("--engine ray writes answers in parts; say where with --out DIR")
    try:
        from longtail.predict.on_ray import FORMATS, asked_of, predict_on_ray
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("ray", "pyarrow"):
            raise
        raise MissingExtraError("--engine ray", "ray") from None
    if asked["format"] not in FORMATS:
        raise ConfigError(f"--engine ray writes {' or '.join(FORMATS)}, not {asked['format']}")
    lowest = _lowest(open_model(model), threshold)  # a damaged model should not wait for Ray
    predict_on_ray(asked_of(model, files, threshold=lowest, **asked), out, address, say)
