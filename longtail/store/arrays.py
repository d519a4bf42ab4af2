"""Arrays of a safetensors file, mapped from disk."""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from longtail.errors import ModelError

_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


def mapped_bytes(path: Path) -> np.ndarray:
    """A file as a read-only array of bytes, mapped from disk.

    Not an np.memmap: process pools pickle that as its file name, and the file of a model trained without a run
    directory is already deleted.
    """
    with path.open("rb") as file:
        if not path.stat().st_size:  # empty files cannot be mapped
            return np.zeros(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def mapped_array(path: Path) -> np.ndarray:
    """The array of an .npy file, mapped, so that a header that promises more than the file has takes no memory."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy reads the header as Python, and its tokenizer raises errors of its own
        raise ModelError(f"{path}: cannot be read as an array ({error})") from error
    if not isinstance(array, np.ndarray):
        raise ModelError(f"{path}: cannot be read as an array")
    return array.view(np.ndarray)


def mapped_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file as read-only views of the mapped file.

    The safetensors package validates the header.  The views are made here, because the package copies arrays into
    memory for NumPy, and a model of many gigabytes should open instantly.
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
    # Through a memoryview, not as a slice: scipy copies an array that it sees as a small part of a larger one.
    view = np.frombuffer(file.data[start + begin : start + end], _DTYPES[about["dtype"]]).reshape(about["shape"])
    if not view.flags.aligned:
        raise ValueError("numbers that do not begin where a processor reads them")
    return view


def let_go(array: np.ndarray) -> None:
    """Give the memory of a mapped file back, which is read from disk when it is used again; no effect elsewhere."""
    owner: Any = array
    while isinstance(owner, (np.ndarray, memoryview)):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)
