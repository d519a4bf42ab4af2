"""Tell people that code is being compiled, which takes a while after installation.

Nothing is said unless somebody asked for it.  This module loads without numba, so that the command line can ask before
it knows whether anything will be compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MOMENT = 1.0  # seconds of compiling that nobody needs to hear of

KEPT = "compiling what runs for the first time since installation; this takes up to half a minute, once"
NOT_KEPT = (
    "compiling, which takes up to half a minute at every start here: no cache directory can be written; "
    "set NUMBA_CACHE_DIR to one that can"
)


class Notice:
    """Adds up the seconds spent compiling and speaks once, when they have become more than a moment."""

    def __init__(self) -> None:
        self.say: Callable[[str], None] | None = None
        self.kept = True  # whether numba found a directory for what it compiles
        self._under_way, self._since, self._seconds = 0, 0.0, 0.0

    def started(self) -> None:
        """A function is being compiled, perhaps for another one that is."""
        if self._under_way == 0:
            self._since = time.monotonic()
        self._under_way += 1
        self._speak()

    def ended(self) -> None:
        """It is done."""
        self._speak()
        self._under_way -= 1
        if self._under_way == 0:
            self._seconds += time.monotonic() - self._since

    def _speak(self) -> None:
        if self.say is not None and self._seconds + time.monotonic() - self._since > MOMENT:
            say, self.say = self.say, None
            say(KEPT if self.kept else NOT_KEPT)


notice = Notice()  # numba compiles one function at a time, so one notice serves all threads


def tell(say: Callable[[str], None]) -> None:
    """From now on `say` that code is being compiled, once, if it is."""
    notice.say = say


@contextmanager
def telling(say: Callable[[str], None] | None) -> Iterator[None]:
    """`tell` for a while; None leaves it as it is."""
    before = notice.say
    notice.say = say or before
    try:
        yield
    finally:
        notice.say = before if notice.say is not None else None
