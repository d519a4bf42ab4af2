"""How a command ends: exit codes, and a sentence for what the user or the operating system got wrong."""

from __future__ import annotations

import errno
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from longtail import progress
from longtail.cli.output import discard, say
from longtail.errors import LongtailError, system_error


class Commands(TyperGroup):
    """All commands.  Exceptions are handled here, before typer does it: its exit codes are not the ones we promise."""

    def make_context(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - typer's
        """Parse the words before a command, and print the help."""
        with exit_codes(None):
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's
        """Run the command."""
        with exit_codes(ctx):
            return super().invoke(ctx)


RESUMABLE = ("train", "demo", "cross-validate", "tune")
PACKAGE = Path(__file__).parents[1]


@contextmanager
def exit_codes(ctx: Any) -> Iterator[None]:  # noqa: ANN401 - typer's
    """Exit with 0 when done or when the reader leaves, 2 for bad input, 130 for Ctrl-C; let our own faults through."""
    try:
        yield
        sys.stdout.flush()
    except LongtailError as error:
        _end(2, f"longtail: {error}")
    except KeyboardInterrupt:
        goes_on = ctx is not None and ctx.invoked_subcommand in RESUMABLE
        _end(130, "stopped; the same command goes on from here" if goes_on else "stopped")
    except OSError as error:
        place = _refused(error)
        if place is None:
            raise
        if isinstance(error, BrokenPipeError):
            _end(0)
        _end(2, f"longtail: {system_error(place, error)}")


def _refused(error: OSError) -> str | None:
    """The place where the system refused what the user asked for; None where it is a fault of ours."""
    if isinstance(error.filename, (str, bytes, os.PathLike)):
        path = os.fsdecode(error.filename)
        return None if Path(path).is_relative_to(PACKAGE) else path
    # Files that we write have their path in the error, so what the system says without one is about our output.
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return "standard output" if full or (isinstance(error, BrokenPipeError) and _nobody_reads()) else None


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has left."""
    poll = select.poll()
    poll.register(sys.stdout, 0)  # errors are told unasked
    return bool(poll.poll(0))


def _end(code: int, line: str = "") -> NoReturn:
    """Exit from a command."""
    progress.watch(None)  # or the bar of work that an error left half done would stay, and the cursor hidden
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)
    if line:
        say(line)
    raise typer.Exit(code) from None
