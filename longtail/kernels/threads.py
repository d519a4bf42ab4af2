"""Compiled loops side by side: they release the interpreter's lock, so plain threads use every core.

The threads live as long as the program: a training step calls a dozen loops of a millisecond, and starting threads
for each would cost as much as the loops.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import islice, pairwise
from typing import Generic, TypeVar

from longtail.progress import counting, is_watched

Item = TypeVar("Item")
Result = TypeVar("Result")


WORTH_WAKING = 500_000  # numbers to read and write: waking a thread takes as long as one core needs for so many


def in_threads(
    function: Callable[[int, int], Result], n_items: int, threads: int | None = None, numbers: int = WORTH_WAKING
) -> list[Result]:
    """`function(start, stop)` on equal slices of range(n_items), one a thread; the results in the slices' order.

    An item is so many `numbers` of work, by default enough to wake a thread for.
    A function whose items do not depend on each other gives the same result for every number of threads.

    >>> in_threads(lambda start, stop: sum(range(start, stop)), 10, threads=2)
    [10, 35]
    >>> in_threads(lambda start, stop: sum(range(start, stop)), 10, threads=2, numbers=1000)
    [45]
    """
    threads = _allowed(threads, min(n_items, n_items * numbers // WORTH_WAKING))
    bounds = [n_items * at // threads for at in range(threads + 1)]
    if threads == 1:
        return [function(0, n_items)]
    others = [_pool(threads).submit(function, *part) for part in pairwise(bounds[1:])]
    # The caller works too; if its slice fails it still waits for the others, which may be writing to its arrays.
    try:
        first = function(bounds[0], bounds[1])
    finally:
        wait(others)
    return [first, *(other.result() for other in others)]


def in_slices(
    function: Callable[[int, int], None], n_items: int, what: str, threads: int | None = None, size: int = 4096
) -> None:
    """`in_threads` for items whose results `function` writes itself; where it is watched, so many items at a time."""
    if not is_watched():
        in_threads(function, n_items, threads)
        return

    def part(start: int, stop: int) -> None:
        for at in range(start, stop, size):
            end = min(at + size, stop)
            function(at, end)
            done(end - at)

    with counting(n_items, what) as done:
        in_threads(part, n_items, threads)


def each_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> list[Result]:
    """`function` of every item, in the items' order; a thread that is free takes the next, for work of unequal size.

    >>> each_in_threads(len, ["a", "bcd", ""], threads=2)
    [1, 3, 0]
    """
    items = list(items)
    threads = _allowed(threads, len(items))
    if threads == 1:
        return [function(item) for item in items]
    return list(_pool(threads).map(function, items))


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None) -> Iterator[Result]:
    """`function` of every item, in the items' order, as a stream: no more than two items a thread are under way.

    The first one is done by the caller, so that what is made once is there before others need it.  Where the items
    themselves fail, the results of those before come first.

    >>> list(in_order(len, ["a", "bcd", ""], threads=2))
    [1, 3, 0]
    """
    threads, rest = _allowed(threads, available_cores()), iter(items)
    for item in islice(rest, 1 if threads > 1 else None):
        yield function(item)
    submitted = (_pool(threads).submit(function, item) for item in rest)
    under_way: deque[Future[Result]] = deque()
    try:
        while _filled(under_way, submitted, 2 * threads):
            yield under_way.popleft().result()
    finally:  # whoever leaves early must not leave work behind
        for future in under_way:
            future.cancel()


def _filled(under_way: deque[Future[Result]], submitted: Iterator[Future[Result]], most: int) -> bool:
    """Submit as much as is allowed; whether anything is running. Errors are raised in order."""
    try:
        under_way.extend(islice(submitted, most - len(under_way)))
    except Exception as error:
        failed: Future[Result] = Future()
        failed.set_exception(error)
        under_way.append(failed)
    return bool(under_way)


def available_cores() -> int:
    """Cores this process may run on: in a container fewer than the machine's; the ranks of a host share them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // RANKS_HERE)


RANKS_HERE = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # processes of one training, started by torchrun


class PerThread(Generic[Result]):
    """A value for every thread, made when the thread first asks for it; copies and pickles start without any."""

    def __init__(self, make: Callable[[], Result] | None):
        self._make, self._here = make, threading.local()

    @property
    def here(self) -> Result | None:
        """The value of this thread, or nothing where a copy does not know how to make it."""
        if self._make is None:
            return None
        if not hasattr(self._here, "value"):
            self._here.value = self._make()
        return self._here.value

    def __reduce__(self) -> tuple[type, tuple[None]]:
        return PerThread, (None,)


# -- the threads ---------------------------------------------------------------------------------------------------

_here = threading.local()


def _allowed(threads: int | None, n_items: int) -> int:
    # A loop inside a loop runs on its own thread alone: the others are busy, and one that waits for them may never end.
    alone = n_items <= 1 or getattr(_here, "is_worker", False)
    return 1 if alone else min(threads or available_cores(), n_items)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "longtail", initializer=work_alone)


def work_alone() -> None:
    """From now on this thread leaves the other cores to others, as to processes that each have a core of their own."""
    _here.is_worker = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
