"""A terminal for tests: what is written to it, and what people see."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class Terminal(io.StringIO):
    """What a terminal gets."""

    def isatty(self) -> bool:
        return True

    @property
    def seen(self) -> str:
        """Everything that was ever shown, without colours and cursor movements."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue()).replace("\r", "\n")

    @property
    def is_as_before(self) -> bool:
        """Whether the cursor is shown again, and whatever is printed goes straight to the terminal."""
        hidden, shown = (self.getvalue().count(f"\x1b[?25{which}") for which in "lh")
        return hidden == shown and sys.stderr is self


@contextmanager
def on_a_terminal(kind: str = "xterm") -> Iterator[Terminal]:
    """Within, standard error is a terminal of 100 columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", kind)
        patch.setenv("COLUMNS", "100")
        patch.setattr("sys.stderr", Terminal())
        yield sys.stderr  # type: ignore[misc]
