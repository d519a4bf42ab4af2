"""The command predict."""

from __future__ import annotations

import os
import stat
import sys
from typing import Annotated, Literal

import typer

from longtail import progress
from longtail.cli.output import say
from longtail.cli.words import ModelArgument, TextOption, score_or_name
from longtail.columns import Reading


def predict(
    model: ModelArgument,
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE|-]",
            help="Texts: one a line, or JSON lines, CSV, TSV or Parquet, plain, .gz or .xz; - is standard input.",
        ),
    ] = "-",
    k: Annotated[
        int | None, typer.Option(min=1, help="How many labels at most: 5, or as many as `auto` was chosen for.")
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Leave out labels that score less; auto: what `calibrate` chose for the model.")
    ] = "0",
    format: Annotated[Literal["jsonl", "csv", "annif-tsv"], typer.Option(help="How answers are written.")] = "jsonl",
    text: TextOption = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="The sheet of a spreadsheet.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a record that cannot be read, instead of answering with an error.")
    ] = False,
) -> None:
    """Suggest labels: an answer for every text, in order, as they come."""
    from longtail.data.queries import STANDARD_INPUT, read_queries
    from longtail.kernels.threads import in_order
    from longtail.predict.answers import FORMATS, HEADERS, Answers
    from longtail.predict.opening import open_model

    opened = open_model(model)
    lowest = score_or_name(threshold)
    if isinstance(lowest, str):
        say(str(opened.threshold(lowest)))
    if file == STANDARD_INPUT and sys.stdin is not None and sys.stdin.isatty():
        say("type one text a line; Ctrl-D ends")
    # Answers on a terminal are all the progress there is to see; behind a pipe, too, a terminal may be written to.
    to_pipe = stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    progress.watch(None if sys.stdout.isatty() else say, bar=not to_pipe)
    answers = Answers(opened, k, lowest, FORMATS[format], say)
    batches = answers.numbered(read_queries(file, strict, Reading.of(text, table=table), say))
    # What a pipe brings is answered before it is read again: whoever writes to it may be waiting.
    written = map(answers, batches) if file == STANDARD_INPUT else in_order(answers, batches)
    sys.stdout.buffer.write(HEADERS.get(format, b""))
    for answer in written:
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    answers.tell_how_many_were_bad()
