"""The decorator of every compiled loop: numba compiles it when it is first called and keeps the result on disk.

The result is kept in the first of these directories that can be written: NUMBA_CACHE_DIR, __pycache__ beside the
source, the user's cache directory.  Where none can, as in a read-only container without a home, loops are compiled anew
in every process.

numba itself is imported when the first of these loops is called: it takes half a second, and a process that only
answers runs the loops of `standalone.py`, which do without it.
"""

from __future__ import annotations

from functools import cached_property, partial
from importlib import import_module

from longtail.kernels.notice import notice


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
