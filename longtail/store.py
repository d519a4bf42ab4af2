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
import errno
import fcntl
import glob
import hashlib
import json
import math
import mmap
import os
import re
import secrets
import shutil
import types
import typing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from longtail import invariants
from longtail.corpus import Texts
from longtail.errors import ConfigError, LongtailError, ModelError, system_error
from longtail.invariants import Unsound

Value = TypeVar("Value")

MANIFEST = "manifest.json"


# -- a directory that appears whole or not at all -----------------------------------------------------------------

UNFINISHED = ".unfinished"  # in a directory that is being written; locked for as long as its writer lives


@dataclass(frozen=True)
class Kind:
    """What a directory holds.  Only a directory of the same kind is ever replaced."""

    name: str  # as it stands in sentences
    mark: str | None  # the file that every directory of this kind has; None: nothing is ever replaced
    error: type[LongtailError] = ModelError
    private: bool = False  # lies where nobody else writes (a run's stages, the cache): replaced in whatever state
    instead: str = "choose another place"  # what to do where it cannot be written


VALUE = Kind("a stored value", "value.json")
MODEL = Kind("a model", "model.json")


@contextmanager
def whole_directory(target: Path, kind: Kind = VALUE) -> Iterator[Path]:
    """A hidden directory beside `target` that becomes `target` when the block ends without error."""
    with told(target, kind.error, kind.instead):
        target = followed(target)
        check_target(target, kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target, kind)
        with _building(target) as building:
            yield building
            write_manifest(building)
            put_in_place(building, target, kind)
            (target / UNFINISHED).unlink(missing_ok=True)


@contextmanager
def told(place: Path, error: type[LongtailError], instead: str = VALUE.instead) -> Iterator[None]:
    """Turn what the operating system refuses into an `error` whose sentence names `place`."""
    try:
        yield
    except (OSError, SafetensorError) as failure:
        refused = _system_error(failure) if isinstance(failure, SafetensorError) else failure
        raise error(system_error(place, refused, "cannot be written", instead)) from failure


def _system_error(error: SafetensorError) -> OSError:
    """safetensors reports a full disk as an error of its own, which ends in "(os error 28)"."""
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number is None:
        raise error
    return OSError(int(number[1]), os.strerror(int(number[1])))


def named(path: str | Path) -> Path:
    """A path to write to.  An empty one is refused: it would mean the current directory."""
    if not str(path):
        raise ConfigError("an empty path was given to write to; name a file or a directory (. is the current one)")
    return Path(path)


def followed(path: Path) -> Path:
    """The place itself.  A symbolic link stays, and the directory that it points to is written."""
    try:
        return path.resolve() if path.is_symlink() or path.name in ("", "..") else path
    except RuntimeError as error:  # links in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error


@contextmanager
def _building(target: Path) -> Iterator[Path]:
    """A new directory beside `target`, deleted in the end unless it was renamed."""
    building, mark = _begun(target)
    try:
        with mark:
            yield building
    finally:
        if (building / UNFINISHED).exists():  # after a swap the old directory has this name, and no mark
            shutil.rmtree(building, ignore_errors=True)


def _begun(target: Path) -> tuple[Path, IO[str]]:
    """A new directory beside `target`, and its mark.

    The lock on the mark tells other processes that its writer lives; the system releases it however the writer dies.
    """
    while True:
        building = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        building.mkdir()
        with suppress(FileNotFoundError):  # swept before it had its mark
            mark = (building / UNFINISHED).open("x")
            with suppress(OSError):  # a file system without locks: then nobody sweeps
                fcntl.flock(mark, fcntl.LOCK_EX)
            if (building / UNFINISHED).exists():
                return building, mark
            mark.close()  # swept before it had its lock


def sweep(target: Path, kind: Kind) -> None:
    """Delete what killed processes left beside `target`: new directories half written, old ones half deleted."""
    for leftover in leftovers(target.parent, glob.escape(target.name)):
        try:
            with (leftover / UNFINISHED).open() as mark:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                delete(leftover)
        except FileNotFoundError:
            if kind.mark is not None and _not_ours(leftover, kind.mark, kind.name) is None:
                delete(leftover)
            with suppress(OSError):
                leftover.rmdir()  # an empty one
        except OSError:
            continue  # its writer lives, or cannot be known to be dead


def leftovers(directory: Path, names: str = "*") -> list[Path]:
    """Directories under the names that `whole_directory` gives to what it has not finished."""
    found = directory.glob(f".{names}.{'[0-9a-z_]' * 8}")
    return [path for path in found if path.is_dir() and not path.is_symlink()]


def write_manifest(directory: Path) -> None:
    """The last file: names the others with their sha256, after all of them have reached the disk."""
    files = [path for path in _files(directory) if path.name != UNFINISHED]
    mode = (directory / UNFINISHED).stat().st_mode & 0o777  # as the umask wants it
    for path in files:
        if path.stat().st_mode & 0o777 != mode:  # safetensors makes files for their owner alone
            path.chmod(mode)
        reach_disk(path)
    digests = {str(path.relative_to(directory)): sha256(path) for path in files}
    write_json(directory / MANIFEST, {"sha256": digests})
    reach_disk(directory / MANIFEST)
    reach_disk(directory)


def _files(directory: Path) -> list[Path]:
    """Everything below that is not a directory, in order."""
    return sorted(path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir())


def reach_disk(path: Path) -> None:
    """Fsync a file or a directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- what may be replaced -------------------------------------------------------------------------------------------


def check_target(target: Path, kind: Kind) -> None:
    """Raise unless `target` can become a directory of this kind and nothing else is lost."""
    with told(target, kind.error, kind.instead):
        target = followed(target)
        if reason := _in_the_way(target, kind):
            raise kind.error(f"{target}: {reason}; choose another place, or move away what is there")
        check_writable(target.parent)


def check_writable(directory: Path) -> None:
    """Raise unless files can be made in this directory, or the directory can where there is none yet."""
    whole = directory.absolute()
    above = next(place for place in (whole, *whole.parents) if place.exists())
    if not above.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(above))
    if not os.access(above, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(above))


def _in_the_way(target: Path, kind: Kind) -> str | None:
    """Why `target` may not be replaced by a directory of this kind."""
    if kind.private or not (target.is_symlink() or target.exists()):
        return None
    if not target.is_dir():
        return "exists already and is not a directory"
    if target.samefile("."):
        return "is the current directory, which cannot be replaced"
    if not any(target.iterdir()):
        return None
    return "exists already" if kind.mark is None else _not_ours(target, kind.mark, kind.name)


def _not_ours(directory: Path, mark: str, name: str) -> str | None:
    """What says that a directory is of another kind, or which file in it somebody else put there."""
    ours = _named_in_manifest(directory)
    if mark not in ours:
        run = f"; the model of a run is {directory / 'model'}" if finished(directory / "model") else ""
        return f"exists already and is not {name}{run}"
    others = [path for path in _files(directory) if str(path.relative_to(directory)) not in ours]
    return f"{others[0].relative_to(directory)} is in it, is not part of {name}, and would be lost" if others else None


def _named_in_manifest(directory: Path) -> set[str]:
    """The files that we put into a directory; empty where there is no manifest of ours."""
    try:
        ours = set(json.loads((directory / MANIFEST).read_text("utf-8"))["sha256"])
    except (OSError, ValueError, LookupError, TypeError):
        return set()
    return ours | {MANIFEST, UNFINISHED}


def put_in_place(building: Path, target: Path, kind: Kind) -> None:
    """Rename `building` to `target`; where one of its kind stands already, swap the two in one step."""
    check_target(target, kind)  # again: hours may have passed since the first time
    if (target.is_dir() and any(target.iterdir())) or target.is_file():
        _replace(building, target, kind)
    else:
        building.rename(target)  # which fails where something but an empty directory has come meanwhile
    reach_disk(target.parent)


def _replace(building: Path, target: Path, kind: Kind) -> None:
    """Swap, look once more at what stood there, and delete it."""
    _swap(building, target)
    if reason := _in_the_way(building, kind):  # it came between the check and the swap
        _swap(building, target)
        raise kind.error(f"{target}: {reason}; choose another place, or move away what is there")
    delete(building)


def _swap(one: Path, other: Path) -> None:
    """Exchange two names atomically (Linux), so that a kill leaves the old directory or the new one."""
    exchange = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, swap_names = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if exchange is not None and exchange(here, os.fsencode(one), here, os.fsencode(other), swap_names) == 0:
        return
    aside = one.with_name(one.name + ".old")
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        aside.rename(other)
        raise
    aside.rename(one)


def delete(place: Path) -> None:
    """Delete what is ours, as far as we may.

    The manifest goes last: if we are killed here, it tells the next `sweep` that the rest is ours.
    """
    if not place.is_dir():
        place.unlink(missing_ok=True)
        return
    with suppress(OSError):
        for path in place.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != MANIFEST:
                path.unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)


def write_whole(path: Path, text: str) -> None:
    """Write a small file whole or not at all.  A device, a pipe or a link is written where it stands."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(text, "utf-8")
        return
    building = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with building.open("x", encoding="utf-8") as file:
            file.write(text)
        if path.exists():
            building.chmod(path.stat().st_mode & 0o777)
        reach_disk(building)
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)


# -- files of a finished directory ----------------------------------------------------------------------------------


def finished(directory: Path) -> bool:
    """Whether a directory was written to its end."""
    return (directory / MANIFEST).is_file()


def verify(directory: Path) -> None:
    """Raise unless every file is there with the bytes that were written, and no other file poses as one of them."""
    if not directory.is_dir():
        raise ModelError(f"{directory}: no such directory")
    if finished(directory / "model"):
        raise ModelError(f"{directory}: this is a run; its model is {directory / 'model'}")
    if not finished(directory):
        raise ModelError(f"{directory}: no {MANIFEST}, so this is not a finished model; was the copy cut short?")
    digests = read_manifest(directory)
    _verify_names(directory, digests)
    # Hashing leaves the interpreter's lock alone, so every core takes a file.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = threads.map(sha256, [directory / name for name in digests])
        for (name, digest), now in zip(digests.items(), found):
            if now != digest:
                raise ModelError(f"{directory / name}: its bytes changed since it was written; copy it again")


def _verify_names(directory: Path, digests: dict[str, str]) -> None:
    """Raise unless just those files are there, of all that could be ours, that the manifest names."""
    for name in digests:
        if not (directory / name).is_file():
            raise ModelError(f"{directory / name}: missing; copy the model again or save it anew")
    for path in _files_of_ours(directory):
        if str(path.relative_to(directory)) not in digests:
            raise ModelError(f"{path}: not named in {MANIFEST}, so nobody knows who wrote it; copy the model again")


def read_manifest(directory: Path) -> dict[str, str]:
    """The sha256 of every file by its name, checked to be just that."""
    digests = read_object(directory / MANIFEST).get("sha256")
    if not isinstance(digests, dict) or not all(isinstance(digest, str) for digest in digests.values()):
        raise ModelError(f"{directory / MANIFEST}: it must hold the sha256 of every file by name; copy the model again")
    for name in digests:
        if name != str(PurePosixPath(name)) or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise ModelError(f"{directory / MANIFEST}: it names {name!r}, which is no file of this directory")
    return digests


def _files_of_ours(directory: Path) -> Iterator[Path]:
    """Files that we would read if they were in the way; a note that somebody put beside them is none."""
    for path in directory.rglob("*"):
        if path.suffix in (".json", ".jsonl", ".safetensors", ".npy") and path != directory / MANIFEST:
            yield path


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """JSON for people: indented, unicode as it is."""
    path.write_text(json_text(value), "utf-8")


def json_text(value: Any) -> str:  # noqa: ANN401
    """What `write_json` writes."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def read_json(path: Path) -> Any:  # noqa: ANN401
    """The other way, with a sentence when the file is not JSON."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read as JSON ({error})") from error


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object, with a sentence when the file holds anything else."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise ModelError(f"{path}: it must hold a JSON object in braces, not {value!r:.40}")
    return value


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
    """The other way of `write_parts`; raises ModelError unless all that the classes declare holds (invariants.py)."""
    try:
        return _put_together(kind, plain, "", mapped_arrays(directory / arrays_file), directory)
    except Unsound as error:
        raise ModelError(f"{directory}: {error}; it is damaged, or longtail did not write it") from error


def read_plain(directory: Path, kind: type[Value], plain: Any) -> Value:  # noqa: ANN401
    """A dataclass without arrays, of what JSON holds of it."""
    try:
        return _put_together(kind, plain, "", {}, directory)
    except Unsound as error:
        raise ModelError(f"{directory}: {error}; it is damaged, or longtail did not write it") from error


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
    if kind is sp.csr_array:
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

    The safetensors package judges the header, whose offsets could point anywhere.  The views are our own: the package
    copies into memory for NumPy, and a model of many gigabytes should open at once.
    """
    try:
        with safe_open(path, "numpy"):
            file = mapped_bytes(path)
        start = 8 + int.from_bytes(file[:8].tobytes(), "little")
        header = json.loads(file[8:start].tobytes())
        header.pop("__metadata__", None)
        return {name: _view(file, start, about) for name, about in header.items()}
    except (SafetensorError, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{path}: not a safetensors file ({error})") from error


def _view(file: np.ndarray, start: int, about: dict[str, Any]) -> np.ndarray:
    begin, end = about["data_offsets"]
    # Through a memoryview, not as a slice of the array: scipy copies what it sees is a small part of a larger array.
    view = np.frombuffer(file.data[start + begin : start + end], _DTYPES[about["dtype"]]).reshape(about["shape"])
    if not view.flags.aligned:
        raise ValueError("numbers that do not begin where a processor reads them")
    return view
