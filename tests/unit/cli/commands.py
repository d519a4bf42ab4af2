"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

Command = Callable[..., tuple[int, str, str]]


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail
