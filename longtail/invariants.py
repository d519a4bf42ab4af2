"""Invariants of stored values: declared beside their fields, checked whenever a value is read from disk.

A file with a correct checksum may hold indices past the end of an array, which would make compiled code access invalid
memory.  So every stored class declares the shape, type and range of its arrays,

    @dataclass(frozen=True)
    class Clusters:
        labels: Annotated[np.ndarray, Array("labels", np.int32, below="labels")]
        starts: Annotated[np.ndarray, Array("clusters+1", np.int64, starts="labels")]

and, where parts must fit together, has a method `check` that raises Unsound.  `store` calls `check` of this module for
each part that it reads.  Names in a shape stand for sizes: within a class, equal names mean equal sizes.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from longtail.corpus import PAD
from longtail.errors import LongtailError, ModelError
from longtail.precision import STORED


class Unsound(ModelError):
    """A stored value violates an invariant; the message begins with the path inside the value."""


@dataclass(frozen=True)
class Array:
    """A finite array of this shape ("labels dim", "features+1") and type, or a list of them."""

    shape: str
    dtype: npt.DTypeLike | tuple[np.dtype, ...]  # or one of several, for tables stored in any precision
    below: str | int | None = None  # every entry is an index: at least 0 and below this size
    pad: bool = False  # PAD is allowed too
    starts: str | None = None  # entries rise from 0 to this size, like CSR row starts
    rising: bool = False  # entries never fall
    between: tuple[float, float] | None = None  # the smallest and the largest entry allowed
    scales: str | None = None  # the field with a scale a row, which is there where entries are int8 (precision.py)


@dataclass(frozen=True)
class Number:
    """A number from `least` to `most`."""

    least: float
    most: float = sys.float_info.max


@dataclass(frozen=True)
class Tables:
    """Finite arrays by name: those of two axes in one precision (precision.py), all others float32."""

    scales: str  # the field with a scale a row of each table, by the same names, which is there where they are int8


Rule = TypeVar("Rule", Array, Number, Tables)


def check(value: Any, path: str) -> None:  # noqa: ANN401 - any stored dataclass
    """Raise Unsound unless `value` satisfies the rules of its class; nested parts are checked before."""
    sizes: dict[str, int] = {}
    try:
        for name, limits in declared(value, Number):
            _check_number(name, getattr(value, name), limits)
        arrays = [(name, one, rule) for name, rule in declared(value, Array) for one in _each(getattr(value, name))]
        # Collect all sizes before comparing entries with them.
        for name, one, rule in arrays:
            _check_shape(name, one, rule, sizes)
        for name, one, rule in arrays:
            _check_entries(name, one, rule, sizes)
            if rule.scales is not None and (one.dtype == np.int8) == (getattr(value, rule.scales) is None):
                raise Unsound(f"{name} holds {one.dtype}; int8 needs {rule.scales}, and nothing else has any")
        for name, tables in declared(value, Tables):
            _check_tables(name, getattr(value, name), getattr(value, tables.scales))
        if hasattr(value, "check"):
            value.check()
    except LongtailError as error:
        raise Unsound(f"{path or 'value'}: {error}") from None


def declared(value: Any, kind: type[Rule]) -> Iterator[tuple[str, Rule]]:  # noqa: ANN401
    """Field names and rules of one kind declared by the class of a value."""
    for name, hint in typing.get_type_hints(type(value), include_extras=True).items():
        yield from ((name, rule) for rule in getattr(hint, "__metadata__", ()) if isinstance(rule, kind))


def _each(value: np.ndarray | list[np.ndarray] | None) -> list[np.ndarray]:
    return [] if value is None else value if isinstance(value, list) else [value]


def agree(what: str, *sizes: int) -> None:
    """Raise Unsound unless all sizes are equal; for `check` methods."""
    if len(set(sizes)) > 1:
        raise Unsound(f"{what} do not agree: {', '.join(map(str, sizes))}")


def all_finite(array: np.ndarray) -> bool:
    """Whether an array holds neither NaN nor infinity, in one pass without a temporary array."""
    if array.dtype.kind != "f":
        return True
    if array.dtype == np.float16:
        return _all_finite_halves(array)
    # A finite sum proves finite terms; a sum may also overflow, so an infinite one needs the full check.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


def _all_finite_halves(array: np.ndarray) -> bool:
    """The same by their bits, a piece at a time: NumPy adds 16-bit floats one by one."""
    bits = array.reshape(-1).view(np.uint16)
    pieces = (bits[at : at + PIECE] & EXPONENT for at in range(0, len(bits), PIECE))
    return all(piece.max() < EXPONENT for piece in pieces)


EXPONENT, PIECE = np.uint16(0x7C00), 1 << 20  # all ones there mean infinity or NaN


def _check_number(name: str, value: float, rule: Number) -> None:
    if not rule.least <= value <= rule.most:
        upper = "" if rule.most >= sys.float_info.max else f" to {rule.most:g}"
        limits = f"from {rule.least:g}{upper}" if upper else f"at least {rule.least:g}"
        raise Unsound(f"{name} is {value}, and must be {limits}")


def _check_shape(name: str, found: np.ndarray, rule: Array, sizes: dict[str, int]) -> None:
    parts, allowed = rule.shape.split(), rule.dtype if isinstance(rule.dtype, tuple) else (np.dtype(rule.dtype),)
    if found.dtype not in allowed:
        raise Unsound(f"{name} holds {found.dtype}, and must hold {' or '.join(map(str, allowed))}")
    if found.ndim != len(parts):
        raise Unsound(f"{name} has the shape {found.shape}, and must have ({', '.join(parts)})")
    for size, part in zip(found.shape, parts):
        called, _, more = part.partition("+")
        expected = sizes.setdefault(called, size - int(more or 0))
        if expected < 0 or size != expected + int(more or 0):
            known = f"{called} = {max(expected, 0)}"
            raise Unsound(f"{name} has the shape {found.shape}, and must have ({', '.join(parts)}), {known}")


def _check_entries(name: str, found: np.ndarray, rule: Array, sizes: dict[str, int]) -> None:
    if not all_finite(found):
        raise Unsound(f"{name} holds a number that is not finite")
    if rule.below is not None:
        limit = rule.below if isinstance(rule.below, int) else sizes[rule.below]
        check_indices(name, found, limit, pad=rule.pad)
    if rule.between is not None:
        _check_between(name, found, *rule.between)
    if rule.starts is not None:
        check_starts(name, found, sizes[rule.starts])
    if rule.rising and (found[1:] < found[:-1]).any():
        raise Unsound(f"{name} must rise, and falls")


def _check_tables(name: str, arrays: dict[str, np.ndarray], scales: dict[str, np.ndarray]) -> None:
    kinds = {array.dtype for array in arrays.values() if array.ndim == 2}
    if len(kinds) > 1 or not kinds <= set(STORED):
        raise Unsound(f"tables of {name} hold {', '.join(sorted(map(str, kinds)))}, and must hold one precision")
    for at, array in arrays.items():
        if not all_finite(array) or (array.ndim != 2 and array.dtype != np.float32):
            raise Unsound(f"{name}.{at} must hold finite float32 numbers")
    needed = {at: (len(array),) for at, array in arrays.items() if array.ndim == 2 and array.dtype == np.int8}
    if needed != {at: each.shape for at, each in scales.items()}:
        raise Unsound(f"tables of {name} that hold int8 need a scale a row, and nothing else has any")
    for at, each in scales.items():
        if each.dtype != np.float32 or not all_finite(each) or each.min(initial=0) < 0:
            raise Unsound(f"scales of {name}.{at} must hold finite float32 numbers, 0 or more")


def check_indices(name: str, found: np.ndarray, limit: int, *, pad: bool = False) -> None:
    """Raise Unsound unless every entry is an index below `limit`, or PAD if allowed."""
    _check_between(name, found, PAD if pad else 0, limit - 1)


def _check_between(name: str, found: np.ndarray, least: float, most: float) -> None:
    if found.size and not (least <= found.min() and found.max() <= most):
        raise Unsound(
            f"{name} holds numbers from {found.min()} to {found.max()}, and must stay within {least:g} to {most:g}"
        )


def check_starts(name: str, found: np.ndarray, end: int) -> None:
    """Raise Unsound unless the entries rise from 0 to `end`."""
    if len(found) == 0 or found[0] != 0 or found[-1] != end or (found[1:] < found[:-1]).any():
        raise Unsound(f"{name} must rise from 0 to {end}")


def check_each_once(name: str, found: np.ndarray) -> None:
    """Raise Unsound if an index occurs twice; the range is checked before."""
    if np.bincount(found).max(initial=0) > 1:
        raise Unsound(f"{name} must hold no index twice")


def check_rising_in_runs(name: str, found: np.ndarray, starts: np.ndarray) -> None:
    """Raise Unsound unless the entries rise within each run, starts[i] to starts[i + 1]; starts are checked before."""
    rises = np.empty(len(found), bool)
    rises[:1] = True
    np.greater(found[1:], found[:-1], out=rises[1:])
    rises[starts[:-1][starts[:-1] < len(found)]] = True  # a run may begin below the end of the previous one
    if not rises.all():
        raise Unsound(f"{name} must rise within each run")
