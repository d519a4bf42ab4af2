"""Values as files: arrays in safetensors, lists of strings in JSON files, the rest in one JSON; read by type hints."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors.numpy import save_file

from longtail import invariants
from longtail.corpus import Texts
from longtail.errors import LongtailError, ModelError
from longtail.invariants import Unsound
from longtail.sparse import sp
from longtail.store.arrays import mapped_arrays
from longtail.store.files import read_json, write_json

Value = TypeVar("Value")


def write(directory: Path, value: Any) -> None:  # noqa: ANN401 - any storable value
    """Write the files of `value` into an existing directory (see `whole_directory`)."""
    write_json(directory / "value.json", write_parts(directory, value, "arrays.safetensors"))


def read(directory: Path, kind: type[Value]) -> Value:
    """Read the value of type `kind` in a directory.  Arrays are mapped from disk."""
    return read_parts(directory, kind, read_json(directory / "value.json"), "arrays.safetensors")


def result_type(function: Callable[..., Value]) -> type[Value]:
    """The annotated type of what a function returns; its parameters may have types that are not imported."""
    function = inspect.unwrap(function)
    returns = types.SimpleNamespace(__annotations__={"return": function.__annotations__["return"]})
    return typing.get_type_hints(returns, function.__globals__)["return"]


def write_parts(directory: Path, value: Any, arrays_file: str) -> Any:  # noqa: ANN401
    """Write the arrays and string lists of `value`; returns the rest for JSON."""
    arrays: dict[str, np.ndarray] = {}
    plain = _Writer(directory, arrays).take_apart(value, "")
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, directory / arrays_file)
    return plain


def read_parts(directory: Path, kind: type[Value], plain: Any, arrays_file: str) -> Value:  # noqa: ANN401
    """The inverse of `write_parts`; raises ModelError if a declared invariant is violated (invariants.py)."""
    return _read(directory, kind, plain, mapped_arrays(directory / arrays_file))


def read_plain(directory: Path, kind: type[Value], plain: Any) -> Value:  # noqa: ANN401
    """A dataclass without arrays from its JSON."""
    return _read(directory, kind, plain, {})


def _read(directory: Path, kind: type[Value], plain: Any, arrays: dict[str, np.ndarray]) -> Value:  # noqa: ANN401
    try:
        return _Reader(directory, arrays).put_together(kind, plain, "")
    except Unsound as error:
        raise ModelError(f"{directory}: {error}; it is damaged, or longtail did not write it") from error


# -- writing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Writer:
    directory: Path
    arrays: dict[str, np.ndarray]
    written: dict[int, str] = field(default_factory=dict)  # path of each written dataclass, by its id()

    def take_apart(self, value: Any, path: str) -> Any:  # noqa: ANN401
        """The JSON part of `value`; its arrays go to `arrays`, its lists of strings to files."""
        if dataclasses.is_dataclass(value):
            return self._take_dataclass(value, path)
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            write_json(self.directory / f"{path or 'strings'}.json", value)
            return None
        if isinstance(value, (list, tuple)):
            return [self.take_apart(item, _at(path, str(at))) for at, item in enumerate(value)]
        if value is None or (isinstance(value, (bool, int, float, str, dict)) and not _are_named_arrays(value)):
            return value
        return _take_arrays(value, path, self.arrays)

    def _take_dataclass(self, value: Any, path: str) -> dict[str, Any]:  # noqa: ANN401
        """The fields; for a shared part, the path where it was written first."""
        if id(value) in self.written:
            return {SAME: self.written[id(value)]}
        self.written[id(value)] = path
        names = [item.name for item in dataclasses.fields(value)]
        return {name: self.take_apart(getattr(value, name), _at(path, name)) for name in names}


SAME = "same as"  # replaces the fields of a shared part written elsewhere


def _are_named_arrays(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, dict) and any(isinstance(item, np.ndarray) for item in value.values())


def _take_arrays(value: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:  # noqa: ANN401
    if isinstance(value, np.ndarray):
        arrays[path or "array"] = value
        return None
    if isinstance(value, sp.csr_array):
        arrays |= {_at(path, part): getattr(value, part) for part in _SPARSE}
        return {"shape": [int(size) for size in value.shape]}
    if isinstance(value, Texts):
        packed = value.packed()
        arrays |= {_at(path, "bytes"): packed.data, _at(path, "stops"): packed.stops}
        return None
    if isinstance(value, dict):
        arrays |= {_at(path, name): array for name, array in value.items()}
        return None
    raise TypeError(f"{path or 'value'}: {type(value).__name__} cannot be stored; use arrays, strings, dataclasses")


# -- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    directory: Path
    arrays: dict[str, np.ndarray]
    found: dict[str, Any] = field(default_factory=dict)  # dataclasses read so far, by path

    def put_together(self, kind: Any, plain: Any, path: str) -> Any:  # noqa: ANN401
        """The value of type `kind` at this path."""
        origin, kinds = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            # None is not written, and arrays are not in the JSON: look for arrays at this path.
            if type(None) in kinds and plain is None and not self._has_arrays(path):
                return None
            choices = tuple(choice for choice in kinds if choice is not type(None))
            if _is_shared(plain):
                return self._shared(choices, plain[SAME], path)
            return self.put_together(_member(choices, plain), plain, path)
        if dataclasses.is_dataclass(kind):
            return self._put_dataclass(kind, plain, path)
        if kind == list[str] and plain is None:
            return _strings(self.directory / f"{path or 'strings'}.json")
        if origin in (list, tuple):
            return self._put_items(kind, plain, path)
        return _put_arrays(kind, plain, path, self.arrays)

    def _has_arrays(self, path: str) -> bool:
        return any(name == path or name.startswith(f"{path}.") for name in self.arrays)

    def _put_items(self, kind: Any, plain: Any, path: str) -> Any:  # noqa: ANN401
        origin, kinds, items = typing.get_origin(kind), typing.get_args(kind), _as_plain(list, plain, path)
        inner = kinds if origin is tuple and kinds[-1] is not Ellipsis else [kinds[0]] * len(items)
        if len(inner) != len(items):
            raise Unsound(f"{path} has {len(items)} parts, and must have {len(inner)}")
        pairs = enumerate(zip(inner, items))
        return origin(self.put_together(k, item, _at(path, str(at))) for at, (k, item) in pairs)

    def _put_dataclass(self, kind: Any, plain: Any, path: str) -> Any:  # noqa: ANN401
        """A dataclass built from its parts, with its invariants checked."""
        given, hints = _as_plain(dict, plain, path), typing.get_type_hints(kind)
        if _is_shared(given):
            return self._shared((kind,), given[SAME], path)
        if wrong := _wrong_fields(kind, given):
            raise Unsound(f"{path or kind.__name__}: {', '.join(sorted(wrong)[:3])} is missing, or is no part of it")
        parts = {name: self.put_together(hints[name], given[name], _at(path, name)) for name in given}
        try:
            value = kind(**parts)
        except LongtailError as error:  # from __post_init__, which does not know the path
            raise Unsound(f"{path or kind.__name__}: {error}") from error
        invariants.check(value, path or kind.__name__)
        self.found[path] = value
        return value

    def _shared(self, kinds: tuple[Any, ...], where: object, path: str) -> Any:  # noqa: ANN401
        """A shared part, read before under another path."""
        value = self.found.get(where) if isinstance(where, str) else None
        if type(value) not in kinds:
            raise Unsound(f"{path} is the same as {where!r:.60}, where no {kinds[0].__name__} was read")
        return value


def _is_shared(plain: Any) -> bool:  # noqa: ANN401
    return isinstance(plain, dict) and plain.keys() == {SAME}


def _member(choices: tuple[Any, ...], plain: Any) -> Any:  # noqa: ANN401
    """The matching type of a union: of several dataclasses, the one with these fields."""
    if len(choices) == 1 or not isinstance(plain, dict):
        return choices[0]
    return next((kind for kind in choices if not _wrong_fields(kind, plain)), choices[0])


def _wrong_fields(kind: Any, given: dict[str, Any]) -> set[str]:  # noqa: ANN401
    """Missing and unknown fields of a dataclass."""
    fields = {item.name: item for item in dataclasses.fields(kind)}
    needed = {name for name, item in fields.items() if _has_no_default(item)}
    return (given.keys() - fields.keys()) | (needed - given.keys())


def _has_no_default(item: dataclasses.Field) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING


def _put_arrays(kind: Any, plain: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:  # noqa: ANN401
    if kind is np.ndarray:
        return _named(arrays, path or "array")
    if "scipy.sparse" in sys.modules and kind is sp.csr_array:  # asking for the class would import it
        return _matrix(plain, path, arrays)
    if kind is Texts:
        bytes_, stops = (_named(arrays, _at(path, part)) for part in ("bytes", "stops"))
        if bytes_.ndim != 1 or stops.ndim != 1 or bytes_.dtype != np.uint8 or stops.dtype != np.int64:
            raise Unsound(f"{path} must hold bytes, and where each text stops among them")
        starts = np.concatenate([[0], stops]).astype(np.int64)
        invariants.check_starts(f"{path}.stops", starts, len(bytes_))
        return Texts(bytes_, starts[:-1], stops)
    if kind == dict[str, np.ndarray]:
        mine = _at(path, "") if path else ""
        return {name.removeprefix(mine): array for name, array in arrays.items() if name.startswith(mine)}
    return _as_plain(kind, plain, path)


def _matrix(plain: Any, path: str, arrays: dict[str, np.ndarray]) -> sp.csr_array:  # noqa: ANN401
    """A sparse matrix; validated here, as scipy checks neither row starts nor column indices."""
    data, indices, indptr = (_named(arrays, _at(path, part)) for part in _SPARSE)
    shape = _as_plain(dict, plain, path).get("shape")
    if not (isinstance(shape, list) and len(shape) == 2 and all(type(size) is int and size >= 0 for size in shape)):
        raise Unsound(f"{path}.shape is {shape!r:.40}, and must be two sizes")
    if {array.ndim for array in (data, indices, indptr)} != {1} or len(data) != len(indices):
        raise Unsound(f"{path} has {data.shape} values, {indices.shape} columns and {indptr.shape} starts of rows")
    kinds = data.dtype.kind, indices.dtype.kind, indptr.dtype.kind
    if len(indptr) != shape[0] + 1 or kinds not in (("f", "i", "i"), ("i", "i", "i"), ("b", "i", "i")):
        raise Unsound(f"{path} has {len(indptr)} starts of {shape[0]} rows, or numbers of another type")
    invariants.check_starts(f"{path}.indptr", indptr, len(data))
    invariants.check_indices(f"{path}.indices", indices, shape[1])
    if not invariants.all_finite(data):
        raise Unsound(f"{path}.data holds a number that is not finite")
    return sp.csr_array((data, indices, indptr), shape=tuple(shape), copy=False)


def _named(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise Unsound(f"the array {name} is missing")
    return arrays[name]


def _strings(path: Path) -> list[str]:
    strings = read_json(path)
    if not isinstance(strings, list) or not all(type(string) is str for string in strings):
        raise Unsound(f"{path.name} must hold a list of strings")
    return strings


def _as_plain(kind: Any, value: Any, path: str) -> Any:  # noqa: ANN401
    """A JSON value, checked against its declared type: true is not 1, and NaN is not a number."""
    kind = typing.get_origin(kind) or kind
    if kind is float and type(value) is int:
        value = float(value) if abs(value) < 2**1000 else math.inf
    if kind is Any or (type(value) is kind and (kind is not float or not math.isnan(value))):
        return value
    raise Unsound(f"{path or 'value'} is {value!r:.40}, and must be {getattr(kind, '__name__', kind)}")


_SPARSE = ("data", "indices", "indptr")


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
