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

__all__ = ["either", "sp"]


def either(one: sp.csr_array | None, other: sp.csr_array | None) -> sp.csr_array | None:
    """The union of the pairs of two matrices."""
    if one is None or other is None:
        return other if one is None else one
    return sp.csr_array((one != 0) + (other != 0), dtype="float32")
