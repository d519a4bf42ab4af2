"""Tell people that code is being compiled, which takes a while after installation.

Nothing is said unless somebody asked for it.  This module loads without numba, so that the command line can ask before
it knows whether anything will be compiled.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from longtail.progress import pulse

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
        self._shown = False  # on a terminal, by a bar
        self._timer: threading.Timer | None = None
        self._speaking = threading.Lock()

    def started(self) -> None:
        """A function is being compiled, perhaps for another one that is."""
        if self._under_way == 0:
            self._since = time.monotonic()
            self._later()
        self._under_way += 1
        self._speak()

    def ended(self) -> None:
        """It is done."""
        self._speak()
        self._under_way -= 1
        if self._under_way == 0:
            self._seconds += time.monotonic() - self._since
            if self._timer is not None:
                self._timer.cancel()
            if self._shown:
                self._shown = False
                pulse("")

    def _later(self) -> None:
        """Speak in a moment, if one function takes that long; in this thread's context, which knows the bar."""
        if self.say is not None:
            context, wait = contextvars.copy_context(), max(MOMENT - self._seconds, 0) + 0.1
            self._timer = threading.Timer(wait, lambda: context.run(self._speak_if_compiling))
            self._timer.daemon = True
            self._timer.start()

    def _speak_if_compiling(self) -> None:
        if self._under_way:
            self._speak()

    def _speak(self) -> None:
        if self._seconds + time.monotonic() - self._since <= MOMENT:
            return
        with self._speaking:
            say, self.say, shown, self._shown = self.say, None, self._shown, True
        if say is not None:
            say(KEPT if self.kept else NOT_KEPT)
        if not shown:
            pulse("compiling")


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
