"""Values on disk without pickle: arrays in safetensors, the rest in JSON, everything or nothing.

What can be stored is what a reader of another language could open: numbers, strings, lists of strings,
arrays, arrays by name, sparse matrices, Texts, and dataclasses of these.

    directory/
    ├── value.json             the plain fields, nested as the dataclasses are
    ├── arrays.safetensors     every array, named by its path in the value ("tree.parents")
    ├── tfidf.vocabulary.json  each list of strings, in a file of its own
    └── manifest.json          sha256 of every file; written last, so a directory without it is not finished
"""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import json
import mmap
import os
import shutil
import tempfile
import types
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import save_file

from longtail.corpus import Texts
from longtail.errors import ModelError

Value = TypeVar("Value")

MANIFEST = "manifest.json"


# -- a directory that appears whole or not at all -----------------------------------------------------------------


@contextmanager
def whole_directory(target: Path) -> Iterator[Path]:
    """A temporary directory beside `target` that becomes `target` when the block ends without error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield building
        write_manifest(building)
        building.chmod(0o777 & ~_umask())  # mkdtemp's are for their owner alone; a finished directory is not
        put_in_place(building, target)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_manifest(directory: Path) -> None:
    """The last file: names the others with their sha256, after all of them have reached the disk."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    for path in files:
        reach_disk(path)
    digests = {str(path.relative_to(directory)): sha256(path) for path in files}
    write_json(directory / MANIFEST, {"sha256": digests})
    reach_disk(directory / MANIFEST)
    reach_disk(directory)


def put_in_place(building: Path, target: Path) -> None:
    """Rename into place; where something stands already, swap the two in one step and delete the old one."""
    if target.exists():
        _swap(building, target)
        shutil.rmtree(building)
    else:
        building.rename(target)
    reach_disk(target.parent)


def _swap(one: Path, other: Path) -> None:
    """Exchange two names atomically (Linux), so that a kill leaves the old directory or the new one."""
    exchange = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, swap_names = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if exchange is not None and exchange(here, os.fsencode(one), here, os.fsencode(other), swap_names) == 0:
        return
    aside = one.with_name(one.name + ".old")
    other.rename(aside)
    one.rename(other)
    aside.rename(one)


def reach_disk(path: Path) -> None:
    """Fsync a file or a directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def finished(directory: Path) -> bool:
    """Whether a directory was written to its end."""
    return (directory / MANIFEST).is_file()


def verify(directory: Path) -> None:
    """Raise unless every file is there with the bytes that were written."""
    if not directory.is_dir():
        raise ModelError(f"{directory}: no such directory")
    if finished(directory / "model"):
        raise ModelError(f"{directory}: this is a run; its model is {directory / 'model'}")
    if not finished(directory):
        raise ModelError(f"{directory}: no {MANIFEST}, so this is not a finished model; was the copy cut short?")
    for name, digest in read_json(directory / MANIFEST)["sha256"].items():
        if not (directory / name).is_file():
            raise ModelError(f"{directory / name}: missing; copy the model again or save it anew")
        if sha256(directory / name) != digest:
            raise ModelError(f"{directory / name}: its bytes changed since it was written; copy the model again")


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """JSON for people: indented, unicode as it is."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_json(path: Path) -> Any:  # noqa: ANN401
    """The other way, with a sentence when the file is not JSON."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read as JSON ({error})") from error


# -- values ---------------------------------------------------------------------------------------------------------


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
    """The other way of `write_parts`."""
    return _put_together(kind, plain, "", mapped_arrays(directory / arrays_file), directory)


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


def _put_together(kind: Any, plain: Any, path: str, arrays: dict[str, np.ndarray], directory: Path) -> Any:  # noqa: ANN401
    origin, kinds = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):  # X | None
        # An absent value left no trace; arrays leave none in the JSON either, so look for theirs.
        if plain is None and not any(name == path or name.startswith(f"{path}.") for name in arrays):
            return None
        return _put_together(next(k for k in kinds if k is not type(None)), plain, path, arrays, directory)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        parts = {name: _put_together(hints[name], plain[name], _at(path, name), arrays, directory) for name in plain}
        return kind(**parts)  # type: ignore[operator]
    if kind == list[str] and plain is None:
        return read_json(directory / f"{path or 'strings'}.json")
    if origin in (list, tuple):
        inner = kinds if origin is tuple and kinds[-1] is not Ellipsis else [kinds[0]] * len(plain)
        items = enumerate(zip(inner, plain))
        return origin(_put_together(k, item, _at(path, str(at)), arrays, directory) for at, (k, item) in items)
    return _put_arrays(kind, plain, path, arrays)


def _put_arrays(kind: Any, plain: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:  # noqa: ANN401
    if kind is np.ndarray:
        return arrays[path or "array"]
    if kind is sp.csr_array:
        return sp.csr_array(tuple(arrays[_at(path, part)] for part in _SPARSE), shape=tuple(plain["shape"]), copy=False)
    if kind is Texts:
        stops = arrays[_at(path, "stops")]
        return Texts(arrays[_at(path, "bytes")], np.concatenate([[0], stops[:-1]]).astype(np.int64), stops)
    if kind == dict[str, np.ndarray]:
        mine = _at(path, "") if path else ""
        return {name.removeprefix(mine): array for name, array in arrays.items() if name.startswith(mine)}
    return plain


_SPARSE = ("data", "indices", "indptr")


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# -- safetensors, mapped --------------------------------------------------------------------------------------------

_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


def mapped_bytes(path: Path) -> np.ndarray:
    """A file as a read-only array of bytes, mapped from disk.

    Not an np.memmap: process pools send that as the name of its file, and a model trained without a run
    directory has outlived its file.
    """
    with path.open("rb") as file:
        if not path.stat().st_size:  # nothing cannot be mapped
            return np.zeros(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def mapped_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file as read-only views of the mapped file.

    The safetensors package copies into memory for NumPy; a model of many gigabytes should open at once.
    """
    try:
        file = mapped_bytes(path)
        start = 8 + int.from_bytes(file[:8].tobytes(), "little")
        header = json.loads(file[8:start].tobytes())
        header.pop("__metadata__", None)
        return {name: _view(file, start, about) for name, about in header.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path}: not a safetensors file ({error})") from error


def _view(file: np.ndarray, start: int, about: dict[str, Any]) -> np.ndarray:
    begin, end = about["data_offsets"]
    # Through a memoryview, not as a slice of the array: scipy copies what it sees is a small part of a larger array.
    return np.frombuffer(file.data[start + begin : start + end], _DTYPES[about["dtype"]]).reshape(about["shape"])
