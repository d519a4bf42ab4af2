"""Values as files: arrays in safetensors, lists of strings in JSON files, the rest in one JSON; read by type hints."""

from __future__ import annotations

import dataclasses
import math
import sys
import types
import typing
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
    """Put the files of `value` into an existing directory (see `whole_directory`)."""
    write_json(directory / "value.json", write_parts(directory, value, "arrays.safetensors"))


def read(directory: Path, kind: type[Value]) -> Value:
    """The value written there; `kind` says what it is.  Arrays are mapped from disk, not read."""
    return read_parts(directory, kind, read_json(directory / "value.json"), "arrays.safetensors")


def write_parts(directory: Path, value: Any, arrays_file: str) -> Any:  # noqa: ANN401
    """Write the arrays and string lists of `value`; returns the rest, which JSON can hold."""
    arrays: dict[str, np.ndarray] = {}
    plain = _take_apart(value, "", arrays, directory)
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, directory / arrays_file)
    return plain


def read_parts(directory: Path, kind: type[Value], plain: Any, arrays_file: str) -> Value:  # noqa: ANN401
    """The other way of `write_parts`; raises ModelError unless all that the classes declare holds (invariants.py)."""
    return _read(directory, kind, plain, mapped_arrays(directory / arrays_file))


def read_plain(directory: Path, kind: type[Value], plain: Any) -> Value:  # noqa: ANN401
    """A dataclass without arrays, of what JSON holds of it."""
    return _read(directory, kind, plain, {})


def _read(directory: Path, kind: type[Value], plain: Any, arrays: dict[str, np.ndarray]) -> Value:  # noqa: ANN401
    try:
        return _put_together(kind, plain, "", arrays, directory)
    except Unsound as error:
        raise ModelError(f"{directory}: {error}; it is damaged, or longtail did not write it") from error


# -- writing ----------------------------------------------------------------------------------------------------------


def _take_apart(value: Any, path: str, arrays: dict[str, np.ndarray], directory: Path) -> Any:  # noqa: ANN401
    """What JSON can hold of `value`; its arrays go to `arrays`, its lists of strings to files."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _take_apart(getattr(value, name), _at(path, name), arrays, directory) for name in names}
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        write_json(directory / f"{path or 'strings'}.json", value)
        return None
    if isinstance(value, (list, tuple)):
        return [_take_apart(item, _at(path, str(at)), arrays, directory) for at, item in enumerate(value)]
    if value is None or (isinstance(value, (bool, int, float, str, dict)) and not _are_named_arrays(value)):
        return value
    return _take_arrays(value, path, arrays)


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


def _put_together(kind: Any, plain: Any, path: str, arrays: dict[str, np.ndarray], directory: Path) -> Any:  # noqa: ANN401
    origin, kinds = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):  # X | None
        # An absent value left no trace; arrays leave none in the JSON either, so look for theirs.
        if plain is None and not any(name == path or name.startswith(f"{path}.") for name in arrays):
            return None
        return _put_together(next(k for k in kinds if k is not type(None)), plain, path, arrays, directory)
    if dataclasses.is_dataclass(kind):
        return _put_dataclass(kind, plain, path, arrays, directory)
    if kind == list[str] and plain is None:
        return _strings(directory / f"{path or 'strings'}.json")
    if origin in (list, tuple):
        items = _as_plain(list, plain, path)
        inner = kinds if origin is tuple and kinds[-1] is not Ellipsis else [kinds[0]] * len(items)
        if len(inner) != len(items):
            raise Unsound(f"{path} has {len(items)} parts, and must have {len(inner)}")
        pairs = enumerate(zip(inner, items))
        return origin(_put_together(k, item, _at(path, str(at)), arrays, directory) for at, (k, item) in pairs)
    return _put_arrays(kind, plain, path, arrays)


def _put_dataclass(kind: Any, plain: Any, path: str, arrays: dict[str, np.ndarray], directory: Path) -> Any:  # noqa: ANN401
    """A dataclass of parts that are whole, checked to fit together."""
    given, hints = _as_plain(dict, plain, path), typing.get_type_hints(kind)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    needed = {name for name, item in fields.items() if _has_no_default(item)}
    if wrong := (given.keys() - fields.keys()) | (needed - given.keys()):
        raise Unsound(f"{path or kind.__name__}: {', '.join(sorted(wrong)[:3])} is missing, or is no part of it")
    parts = {name: _put_together(hints[name], given[name], _at(path, name), arrays, directory) for name in given}
    try:
        value = kind(**parts)
    except LongtailError as error:  # from __post_init__, which does not know where it is read
        raise Unsound(f"{path or kind.__name__}: {error}") from error
    invariants.check(value, path or kind.__name__)
    return value


def _has_no_default(item: dataclasses.Field) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING


def _put_arrays(kind: Any, plain: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:  # noqa: ANN401
    if kind is np.ndarray:
        return _named(arrays, path or "array")
    if "scipy.sparse" in sys.modules and kind is sp.csr_array:  # asking for the class would import it
        return _matrix(plain, path, arrays)
    if kind is Texts:
        bytes_, stops = (_named(arrays, _at(path, part)) for part in ("bytes", "stops"))
        starts = np.concatenate([[0], stops]).astype(np.int64)
        invariants.check_starts(f"{path}.stops", starts, len(bytes_))
        return Texts(bytes_, starts[:-1], stops)
    if kind == dict[str, np.ndarray]:
        mine = _at(path, "") if path else ""
        return {name.removeprefix(mine): array for name, array in arrays.items() if name.startswith(mine)}
    return _as_plain(kind, plain, path)


def _matrix(plain: Any, path: str, arrays: dict[str, np.ndarray]) -> sp.csr_array:  # noqa: ANN401
    """A sparse matrix; scipy itself checks neither that rows rise nor that columns exist."""
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
    """A value of JSON, if it is of the kind that is declared: a true is no 1, and a NaN is no number."""
    kind = typing.get_origin(kind) or kind
    if kind is float and type(value) is int:
        value = float(value) if abs(value) < 2**1000 else math.inf
    if kind is Any or (type(value) is kind and (kind is not float or not math.isnan(value))):
        return value
    raise Unsound(f"{path or 'value'} is {value!r:.40}, and must be {getattr(kind, '__name__', kind)}")


_SPARSE = ("data", "indices", "indptr")


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
