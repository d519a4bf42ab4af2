"""scipy.sparse, imported when it is first used: that takes a quarter of a second, and who answers a text needs none."""

from __future__ import annotations

import typing
from importlib import import_module

if typing.TYPE_CHECKING:
    import scipy.sparse as sp
else:

    class _Later:
        def __getattr__(self, name: str) -> typing.Any:  # noqa: ANN401 - whatever scipy.sparse has
            value = getattr(import_module("scipy.sparse"), name)
            setattr(self, name, value)
            return value

    sp = _Later()

__all__ = ["sp"]
