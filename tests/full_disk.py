"""A disk that is full after so many bytes: the system refuses to let files grow beyond them."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager


def limit(size: int) -> None:
    """From now on no file of this process grows beyond `size`; also for a child, as its `preexec_fn`."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # which would kill; ignored, writing fails with EFBIG
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.getsignal(signal.SIGXFSZ)
    limit(size)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
