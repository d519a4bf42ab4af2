"""The decorator of every compiled loop: numba compiles it when it is first called and keeps the result on disk.

The result is kept in the first of these directories that can be written: NUMBA_CACHE_DIR, __pycache__ beside the
source, the user's cache directory.  Where none can, as in a read-only container without a home, loops are compiled anew
in every process.

numba itself is imported when the first of these loops is called: it takes half a second, and a process that only
answers runs the loops of `standalone.py`, which do without it.

That code is being compiled takes a while after installation, and who asks by `tell` is told so.  The command line does
before it knows whether anything will be compiled.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any


def compiled(function=None, **options):  # noqa: ANN003
    """Compile a function without the interpreter's lock, as @compiled or @compiled(fastmath=...)."""
    return partial(compiled, **options) if function is None else Kernel(function, options)


class Kernel:
    """A function that numba compiles when it is called, or when another compiled function calls it."""

    def __init__(self, function, options) -> None:
        self.function, self.options = function, options
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.__wrapped__ = function

    def __call__(self, *args):  # noqa: ANN002, ANN204, D102 - as the function is
        return self.dispatcher(*args)

    @cached_property
    def dispatcher(self):
        """What numba makes of it."""
        from numba import njit

        _listen()
        dispatcher = njit(nogil=True, **self.options)(self.function)
        try:
            getattr(dispatcher, "enable_caching", _nothing)()  # a plain function has none, under NUMBA_DISABLE_JIT
            _keep_by_all_sources(dispatcher)
        except RuntimeError:  # numba's, "no locator available": there is nowhere to write
            notice.kept = False
        return dispatcher

    @property
    def _numba_type_(self):
        """How numba sees this object where a compiled function calls it."""
        from numba.core import types

        return types.Dispatcher(self.dispatcher)

    def __reduce__(self) -> str:  # pickled by name, as functions are
        return self.__name__


class Later:
    """What only numba's compiler calls, as an intrinsic: its module, which needs numba, is imported by the compiler."""

    def __init__(self, module: str, name: str):
        self._where = module, name

    @property
    def _numba_type_(self):
        """How numba sees this object where a compiled function calls it."""
        from numba.core.registry import cpu_target

        found = getattr(import_module(self._where[0]), self._where[1])
        cpu_target.typing_context.refresh()  # which learns of what was declared since it was made
        return cpu_target.typing_context.resolve_value_type(found)

    def __call__(self, *args):  # noqa: ANN002, ANN204
        """Under NUMBA_DISABLE_JIT."""
        return getattr(import_module(self._where[0]), self._where[1])(*args)

    def __reduce__(self):  # noqa: ANN204
        return Later, self._where


def _nothing() -> None:
    """There is no cache."""


def _keep_by_all_sources(dispatcher):
    """What is kept is of all our loops: numba asks for changes of one file, and a loop holds the code of others."""
    kept: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(kept, "_source_stamp"):
        kept._source_stamp = _sources()


@cache
def _sources():
    """Names, times and sizes of the files that hold loops."""
    files = [(each.name, each.stat()) for each in os.scandir(Path(__file__).parent) if each.name.endswith(".py")]
    return tuple(sorted((name, about.st_mtime_ns, about.st_size) for name, about in files))


_listening = False


def _listen():
    """Pass numba's news of our own functions on; once."""
    global _listening
    if _listening:
        return
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, news):
            if _is_ours(news):
                notice.started()

        def on_end(self, news):
            if _is_ours(news):
                notice.ended()

    event.register("numba:compile", Listener())
    _listening = True


def _is_ours(news):
    return news.data["dispatcher"].py_func.__module__.startswith("longtail.")


# -- telling people ---------------------------------------------------------------------------------------------------

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
