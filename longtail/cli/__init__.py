"""The command line.  Every command imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from longtail import progress
from longtail.cli import answering, corpora, evaluating, explaining, labels, models, serving, sharing, training, trials
from longtail.cli.exits import Commands
from longtail.cli.output import say
from longtail.kernels.compiled import tell

app = typer.Typer(
    cls=Commands,
    help="The few right labels out of thousands to millions.", no_args_is_help=True, pretty_exceptions_enable=False,
    add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


def _print_version(asked: bool) -> None:
    if asked:
        import longtail

        print(f"longtail {longtail.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """The few right labels out of thousands to millions."""


# In the order in which `longtail --help` lists them.
for command in (
    training.demo,
    corpora.describe,
    corpora.convert,
    corpora.split,
    corpora.join,
    training.train,
    evaluating.evaluate,
    trials.cross_validate,
    trials.tune,
    answering.predict,
    explaining.explain,
    models.ensemble,
    models.export,
    models.info,
    models.calibrate,
    labels.add_labels,
    labels.remove_labels,
    sharing.push,
    sharing.pull,
    serving.serve,
    training.methods,
):
    app.command()(command)


def main() -> None:
    """Run the command that the words of the command line name: see `exit_codes`."""
    for name in ("stdout", "stderr"):  # closed by whoever started us, as services do
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open to the end
    tell(say)
    progress.watch(say)
    try:
        app()
    finally:
        progress.watch(None)
