"""Progress of long work, shown as a bar on a terminal and as occasional lines elsewhere.

Library code reports progress without knowing how it is displayed:

    with counting(len(texts), "counting words") as done:      for batch in steps(batches, "reading documents"):
        ...                                                       ...
        done(100)

Callers display it: `Run.stage` and the training loop show named stages, the command line everything else.

    with Stage("grouping labels into clusters", say):
        ...

Without a display, as in Python scripts, nothing is shown and a count costs a microsecond.  Of nested counts only the
outermost is shown.  Other threads may call `done` of a count that their caller began; counts that they begin
themselves are not shown.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")
Say = Callable[[str], None]


class Done(Protocol):
    """The counter that `counting` yields."""

    def __call__(self, amount: float, documents: int = 0) -> None:
        """So much more is done, which is so many documents."""


BAR_SECONDS = 0.2  # between two looks of a bar
SAY_SECONDS = 60.0  # between two lines, where there is no bar
FIRST_SECONDS, LONG = 5.0, 30.0  # first line after FIRST_SECONDS if more than LONG seconds are left
MOMENT = 0.5  # seconds before work outside a stage gets a bar
WORTH_TELLING = 5.0  # seconds of a stage whose duration is said, where there is no bar
PACE_SECONDS = 1.0  # of work before the pace is estimated


# -- reporting progress -------------------------------------------------------------------------------------------


def steps(items: Iterable[Item], what: str = "", total: float | None = None) -> Iterator[Item]:
    """Yield the items; each counts as done when the next one is requested.

    >>> list(steps("abc"))
    ['a', 'b', 'c']
    """
    if total is None:
        total = len(items)  # type: ignore[arg-type]
    with counting(total, what) as done:
        for item in items:
            yield item
            done(1)


@contextmanager
def counting(total: float, what: str = "") -> Iterator[Done]:
    """A function to call whenever so much more of `total` is done, from any thread; `what` is done, in a few words.

    It can be told how many documents that was, and their number a second is shown too.
    """
    stage = _watched.get()
    if stage is None or stage.busy or total <= 0:
        yield _unheard
        return
    count = Count(stage, total, what)
    stage.begin(count)
    try:
        yield count
    finally:
        stage.end()


def is_watched() -> bool:
    """Whether a count started now would be shown; callers then split their work into smaller pieces."""
    stage = _watched.get()
    return stage is not None and not stage.busy


def _unheard(amount: float, documents: int = 0) -> None:
    """A counter that shows nothing."""


class Count:
    """Progress of work of known size."""

    def __init__(self, stage: Stage, total: float, what: str):
        self._stage, self._total, self._what = stage, total, what
        self._done, self._lock, self.began = 0.0, threading.Lock(), time.monotonic()
        self._first: tuple[float, float] | None = None  # of the pace: after what was done first, which may compile
        self._documents = 0  # since then

    def __call__(self, amount: float, documents: int = 0) -> None:
        """So much more is done, which is so many documents."""
        with self._lock:
            self._done += amount
            if self._first is None:
                self._first = self._done, time.monotonic()
            else:
                self._documents += documents
        self._stage.show(self.share, self.state, self.seconds_left)

    def share(self) -> float:
        """Share of the work done, from 0 to 1."""
        return min(self._done / self._total, 1.0)

    def seconds_left(self) -> float | None:
        """Estimate from the pace since the first piece; None while unknown."""
        if self._first is None:
            return None
        done, since = self._done - self._first[0], time.monotonic() - self._first[1]
        return since / done * max(self._total - self._done, 0) if done > 0 and since >= PACE_SECONDS else None

    def state(self) -> list[str]:
        """What is being done, if there is a word for it, and how many documents a second."""
        since = 0.0 if self._first is None else time.monotonic() - self._first[1]
        pace = [f"{self._documents / since:,.0f} documents/s"] if self._documents and since >= PACE_SECONDS else []
        return [self._what, *pace] if self._what else pace


# -- displaying progress ------------------------------------------------------------------------------------------


class Stage:
    """Work whose progress is displayed: by a bar on a terminal, elsewhere by lines passed to `say`.

    The first line names the stage.  Then follows at most one line a minute, and an early one if the rest takes long.
    A stage without a name prints no lines of its own: only long counts are shown.  Without `say` nothing is shown.
    """

    def __init__(self, name: str, say: Say | None, bar: bool = True):
        self.name, self.busy = name, False
        self.result: Callable[[], list[str]] = list  # shown at the end, beside the time taken
        self._say, self._bar, self._on_terminal = say, None, bar and say is not None and _on_terminal()
        self._began, self._drawn = time.monotonic(), 0.0
        self._said: float | None = None  # time of the latest progress line
        self._speaking = threading.Lock()
        self._outer: Stage | None = None

    _bar: Bar | None
    _token: Token[Stage | None]

    def __enter__(self) -> Stage:
        self._outer, self._token = _watched.get(), _watched.set(None if self._say is None else self)
        if self._outer is not None:
            self._outer._hide()
        if self._on_terminal and self.name:
            self._draw(None, "", [])
        elif self._say is not None and self.name:
            self._say(f"{self.name} …")
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _watched.reset(self._token)
        took, done = time.monotonic() - self._began, error is None
        if self._bar is not None and self.name:
            self._bar.leave(f"took {short(took)}" if done else "stopped", told(self.name, self.result()), whole=done)
        elif self._say is not None and self.name and done and took >= WORTH_TELLING:
            self._say(told(self.name, [f"took {short(took)}", *self.result()]))
        self._hide()
        if self._outer is not None and self._outer.name and self._outer._on_terminal:
            self._outer._draw(None, "", [])

    def begin(self, count: Count) -> None:
        """Show this count from now on."""
        self.busy, self._began = True, self._began if self.name else count.began

    def end(self) -> None:
        """Stop showing the current count."""
        self.busy = False
        if not self.name:
            self._hide()
        elif self._bar is not None:
            self._draw(None, "", [])

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Show counts inside the block although the surrounding work reports its own progress."""
        before, self.busy = self.busy, False
        try:
            yield
        finally:
            self.busy = before

    def show(
        self, share: Callable[[], float], state: Callable[[], list[str]], seconds_left: Callable[[], float | None]
    ) -> None:
        """Display the state if an update is due; concurrent callers return at once."""
        if self._say is None or not self._speaking.acquire(blocking=False):
            return
        try:
            now = time.monotonic()
            if not self._on_terminal:
                self._say_state(now, share, state, seconds_left())
            elif now - self._drawn >= BAR_SECONDS and (self.name or now - self._began >= MOMENT):
                self._drawn, left = now, seconds_left()
                self._draw(share(), "" if left is None else f"{short(left)} left", state())
        finally:
            self._speaking.release()

    def _say_state(
        self, now: float, share: Callable[[], float], state: Callable[[], list[str]], left: float | None
    ) -> None:
        if left is not None and self._say is not None and self._worth_saying(now, left):
            self._said = now
            self._say(told(self.name, [*state(), percent(share()), f"{spoken(left)} left"]))

    def _worth_saying(self, now: float, left: float) -> bool:
        if self._said is not None and now - self._said < SAY_SECONDS:
            return False
        return now - self._began >= (FIRST_SECONDS if left >= LONG else SAY_SECONDS)

    def _draw(self, share: float | None, time: str, state: list[str]) -> None:
        if self._bar is None:
            self._bar = Bar(told(self.name, state))
        self._bar.draw(share, time, told(self.name, state))

    def _hide(self) -> None:
        if self._bar is not None:
            self._bar.remove()
            self._bar = None


_watched: ContextVar[Stage | None] = ContextVar("watched", default=None)


def watch(say: Say | None, bar: bool = True) -> None:
    """Show long counts from now on: only as lines without `bar`, not at all without `say`."""
    before = _watched.get()
    if before is not None:
        before._hide()
    _watched.set(None if say is None else Stage("", say, bar))


def _on_terminal() -> bool:
    """Whether standard error is a terminal with a movable cursor."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Bar:
    """Progress bar on the last line of a terminal: share, time and description."""

    def __init__(self, text: str):
        self._bar = _rich_bar()
        self._task = self._bar.add_task(self._cut(text), total=None, share="", time="")
        self._bar.start()

    def draw(self, share: float | None, time: str, text: str) -> None:
        """Redraw the bar; a share of None means unknown."""
        self._bar.tasks[0].total = None if share is None else 1.0
        known = "" if share is None else percent(share)
        self._bar.update(self._task, completed=share, share=known, time=time, description=self._cut(text))

    def leave(self, time: str, text: str, whole: bool) -> None:
        """Keep the line on screen; the next one goes below."""
        self.draw(1.0 if whole else self._bar.tasks[0].completed, time, text)
        self._bar.stop()

    def remove(self) -> None:
        """Erase the line, unless `leave` kept it."""
        self._bar.live.transient = True
        self._bar.stop()

    def _cut(self, text: str) -> str:
        """Truncate to the terminal width: rich would shrink every column instead."""
        room = max(self._bar.console.width - BESIDE_TEXT, 1)
        return text if len(text) <= room else f"{text[: room - 1]}…"


BESIDE_TEXT = 12 + 5 + 12 + 3  # terminal columns: bar, share, time and the spaces between


def _rich_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    return Progress(
        BarColumn(12, table_column=Column(width=12)),
        TextColumn("{task.fields[share]}", justify="right", markup=False, table_column=Column(width=5)),
        TextColumn("{task.fields[time]}", markup=False, table_column=Column(width=12)),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        console=Console(stderr=True), refresh_per_second=4,
        # Lines printed meanwhile appear above the bar, unless they go to a file.
        redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
    )  # fmt: skip


# -- words --------------------------------------------------------------------------------------------------------


def told(name: str, state: list[str]) -> str:
    """
    >>> told("grouping labels", ["40 %", "about 2 minutes left"]), told("", ["40 %"]), told("grouping labels", [])
    ('grouping labels: 40 %, about 2 minutes left', '40 %', 'grouping labels')
    """
    return ": ".join(part for part in (name, ", ".join(state)) if part)


def percent(share: float) -> str:
    """
    >>> percent(0.4)
    '40 %'
    """
    return f"{int(100 * share)} %"


def spoken(seconds: float) -> str:
    """
    >>> spoken(40), spoken(700), spoken(7400), spoken(400000)
    ('about 40 seconds', 'about 12 minutes', 'about 2 hours', 'about 5 days')
    """
    count, unit = _counted(seconds)
    return f"about {count} {unit}{'' if count == 1 else 's'}"


def short(seconds: float) -> str:
    """
    >>> short(40), short(700), short(7400), short(400000)
    ('40 s', '12 min', '2 h', '5 d')
    """
    count, unit = _counted(seconds)
    return f"{count} {SHORT[unit]}"


SHORT = {"day": "d", "hour": "h", "minute": "min", "second": "s"}


def _counted(seconds: float) -> tuple[int, str]:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * size:
            return round(seconds / size), unit
    return round(seconds), "second"
