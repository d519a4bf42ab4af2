"""The decorator of every compiled loop: numba compiles it when it is first called and keeps the result on disk.

The result is kept in the first of these directories that can be written: NUMBA_CACHE_DIR, __pycache__ beside the
source, the user's cache directory.  Where none can, as in a read-only container without a home, loops are compiled anew
in every process.
"""

from __future__ import annotations

from functools import partial

from numba import njit
from numba.core import event

from longtail.kernels.notice import notice


def compiled(function=None, **options):  # noqa: ANN003
    """Compile a function without the interpreter's lock, as @compiled or @compiled(fastmath=...)."""
    if function is None:
        return partial(compiled, **options)
    kernel = njit(nogil=True, **options)(function)
    try:
        kernel.enable_caching()
    except RuntimeError:  # numba's, "no locator available": there is nowhere to write
        notice.kept = False
    return kernel


class _Listener(event.Listener):
    """Passes numba's news of our own functions on."""

    def on_start(self, news):
        if _is_ours(news):
            notice.started()

    def on_end(self, news):
        if _is_ours(news):
            notice.ended()


def _is_ours(news):
    return news.data["dispatcher"].py_func.__module__.startswith("longtail.")


event.register("numba:compile", _Listener())
