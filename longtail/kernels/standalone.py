"""Compiled loops that run without numba: what a process needs to answer its first text.

Importing numba and loading one of its cached functions takes 0.9 seconds.  The machine code itself needs none of it.  A
loop declared with @standalone is compiled by numba once; its object code is kept on disk and linked by llvmlite in
later processes, in 5 milliseconds.

    @standalone
    def add_up(numbers, total):              arrays, numbers, and (named) tuples of them
        ...
        return 0                             always an integer

    add_up(numbers, total)                   a call, as of any function: a microsecond an array
    model = add_up.bound(numbers)            the first arguments are looked at once, and may be many
    model(total)
    again = add_up.ready(numbers, total)     the same arrays at every call, with other contents: 0.4 microseconds
    again()

Such a loop must not allocate, as its memory would be numba's.  It must not raise either, but return a code: whoever
calls it checks what it is given.  With NUMBA_BOUNDSCHECK or NUMBA_DISABLE_JIT it is an ordinary numba function, and so
it is where the code cannot be made, kept or linked this way: that uses parts of numba which other versions may change.

Object code is kept beside numba's, and is used only by the processor, llvmlite and sources that it was made with.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import warnings
from array import array
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, addressof, c_char, c_int32, c_void_p
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from longtail.kernels.compiled import Kernel, notice

PLAIN = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT")  # variables under which nothing is kept or loaded


def standalone(function=None, **options):  # noqa: ANN003
    """Compile a function whose object code is kept, as @standalone or @standalone(fastmath=...)."""
    return partial(standalone, **options) if function is None else Standalone(function, options)


class Standalone(Kernel):
    """A function that is called through its object code."""

    def __init__(self, function, options) -> None:
        super().__init__(function, options)
        self._codes: dict[str, Callable | None] = {}

    def __call__(self, *args):  # noqa: ANN002, ANN204, D102 - as the function is
        return self.bound()(*args)

    def bound(self, *first: Any) -> Callable[..., int]:  # noqa: ANN401 - see _take
        """A function of the arguments behind these, for any thread; what these are is looked at once."""
        return partial(self.dispatcher, *first) if _is_plain() else _Bound(self, first)

    def ready(self, *args: Any) -> Callable[[], int]:  # noqa: ANN401 - see _take
        """A function that makes this call, of the very same arrays, whenever it is called; one thread at a time."""
        if _is_plain():
            return partial(self.dispatcher, *args)
        kinds: list[str] = []
        numbers: list[int] = []
        for value in args:
            _take(value, kinds, numbers)
        code = self.code(" ".join(kinds), args)
        return partial(self.dispatcher, *args) if code is None else _Ready(code, numbers, args)

    def code(self, signature: str, args: tuple) -> Callable | None:
        """What is called for such arguments; nothing where numba itself must be asked."""
        if signature not in self._codes:
            with _lock:
                self._codes[signature] = _found(self, signature, args)
        return self._codes[signature]


def _found(kernel: Standalone, signature: str, args: tuple) -> Callable | None:
    try:
        return _linked(*_object_code(kernel, signature, args))
    except _Allocates:
        raise
    except Exception as error:  # whatever another numba, another llvmlite or another system says
        warnings.warn(f"{kernel.__name__} runs through numba, which starts more slowly: {error!r:.200}", stacklevel=2)
        return None


class _Allocates(TypeError):
    """A loop that is not written as it must be."""


_lock = threading.RLock()


class _Bound:
    """A loop with its first arguments."""

    __slots__ = ("_first", "_kernel", "_kinds", "_numbers")

    def __init__(self, kernel: Standalone, first: tuple):
        self._kernel, self._first = kernel, first
        self._kinds: list[str] = []
        self._numbers: list[int] = []
        for value in first:
            _take(value, self._kinds, self._numbers)

    def __call__(self, *rest: Any) -> int:  # noqa: ANN401 - see _take
        kinds, numbers = self._kinds.copy(), self._numbers.copy()
        for value in rest:
            _take(value, kinds, numbers)
        code = self._kernel.code(" ".join(kinds), (*self._first, *rest))
        return self._kernel.dispatcher(*self._first, *rest) if code is None else _run(code, _block(numbers))

    def __reduce__(self) -> tuple:
        return _Bound, (self._kernel, self._first)


class _Ready:
    """A call whose arguments have been turned into addresses, sizes and numbers."""

    __slots__ = ("_block", "_code", "_kept")

    def __init__(self, code: Callable, numbers: list[int], args: tuple):
        self._kept = args  # arrays live as long as their addresses are used
        self._code, self._block = code, _block(numbers)

    def __call__(self) -> int:
        return _run(self._code, self._block)


def _block(numbers: list[int]) -> array:
    """What a loop is given: room for what it returns and for an exception, then all that its arguments are."""
    return array("q", [0, 0, *numbers])


def _run(code: Callable, block: array) -> int:
    address = block.buffer_info()[0]
    if code(address, address + 8, address + 16) != 0:
        raise RuntimeError("a compiled loop that must not fail has failed; set NUMBA_BOUNDSCHECK=1 to see where")
    return block[0]


def _is_plain() -> bool:
    """Whether loops are to be numba functions like any other."""
    return any(os.environ.get(name, "0") not in ("", "0") for name in PLAIN)


# -- arguments ---------------------------------------------------------------------------------------------------------


def _take(value: Any, kinds: list[str], numbers: list[int]) -> None:  # noqa: ANN401 - arrays, numbers and tuples of them
    """Append the type of an argument, by which object code is told apart, and the numbers that it is in a block."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        if not flags.c_contiguous:
            raise TypeError("a standalone loop takes arrays in one run of memory")
        kinds.append(_kind(value.dtype, value.ndim))
        # NumPy's own way to tell an address takes four times as long, and is the only one for what is read-only.
        numbers.append(addressof(_BYTES(value)) if flags.writeable else value.__array_interface__["data"][0])
        numbers += value.shape
    elif isinstance(value, tuple):
        kinds.append(f"{type(value).__name__}(")
        for item in value:
            _take(item, kinds, numbers)
        kinds.append(")")
    elif isinstance(value, (float, np.floating)):
        kinds.append("float")
        numbers.append(int(np.float64(value).view(np.int64)))
    else:
        kinds.append("int")
        numbers.append(int(value))


_BYTES: Callable[[Any], Any] = (c_char * 0).from_buffer


@cache
def _kind(dtype: np.dtype, ndim: int) -> str:
    if dtype.kind not in "iuf" or not dtype.isnative:
        raise TypeError(f"a standalone loop takes arrays of numbers in one run of memory, not of {dtype}")
    return f"{dtype.str[1:]}[{ndim}]"


def _written(value: Any, at: Iterator[int], names: dict[str, Any]) -> str:  # noqa: ANN401
    """Source code of an argument, read from its places in the block."""
    if isinstance(value, tuple):
        items = "".join(f"{_written(item, at, names)}, " for item in value)
        if type(value) is tuple:
            return f"({items})"
        names[type(value).__name__] = type(value)
        return f"{type(value).__name__}({items})"
    if isinstance(value, np.ndarray):
        address = next(at)
        shape = "".join(f"block[{next(at)}], " for _ in value.shape)
        return f"carray(address(block[{address}]), ({shape}), np.{value.dtype.name})"
    return f"as_float(block[{next(at)}])" if isinstance(value, (float, np.floating)) else f"block[{next(at)}]"


# -- object code -------------------------------------------------------------------------------------------------------


def _object_code(kernel: Standalone, signature: str, args: tuple) -> tuple[str, list[str], bytes]:
    """(name of the function, symbols that are never reached, object code), from disk or compiled now."""
    known = f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}-{_digest(signature, repr(kernel.options))[:12]}"
    name = f"{known}-{_digest(_surroundings(), signature)[:16]}.o"
    for directory in _directories():
        found = _read(directory / name)
        if found is not None:
            return found
    notice.started()
    try:
        made = _compiled(kernel, args)
    finally:
        notice.ended()
    notice.kept = any(_kept(directory, known, name, made) for directory in _directories())
    return made


def _compiled(kernel: Standalone, args: tuple) -> tuple[str, list[str], bytes]:
    """Compile a function of one block of numbers, which calls the loop with the arrays that are described there."""
    from numba import carray, cfunc, types

    address, as_float = _intrinsics()
    names = {"kernel": kernel, "carray": carray, "address": address, "as_float": as_float, "np": np}
    places = iter(range(1 << 20))
    written = ", ".join(_written(value, places, names) for value in args)
    exec(f"def entry(block):\n    return kernel({written})\n", names)  # noqa: S102 - our own text
    made = cfunc(types.int64(types.CPointer(types.int64)))(names["entry"])
    library = made._library
    module = library._final_module
    outside = [one.name for each in (module.functions, module.global_variables) for one in each if one.is_declaration]
    # What raises or counts references is compiled in, and never run: no loop raises, no array here is numba's.
    unreached = [one for one in outside if one.startswith(("NRT_", "numba_", "Py", "_Py"))]
    if allocating := [one for one in unreached if "alloc" in one.lower()]:
        raise _Allocates(f"{kernel.__name__} allocates memory ({', '.join(allocating)}); pass it what it needs")
    return made.native_name.removeprefix("cfunc."), unreached, library._get_compiled_object()


@cache
def _intrinsics() -> tuple[Any, Any]:
    """Two steps that Python has no words for: a number as an address, and as the bits of a float."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    @intrinsic
    def address(context, number):
        return types.voidptr(number), lambda _, builder, __, args: builder.inttoptr(args[0], cgutils.voidptr_t)

    @intrinsic
    def as_float(context, number):
        return types.float64(number), lambda _, builder, __, args: builder.bitcast(args[0], ir.DoubleType())

    return address, as_float


def _linked(name: str, unreached: list[str], code: bytes) -> Callable:
    import llvmlite.binding as llvm

    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(name)
    for symbol in unreached:
        builder.import_symbol(symbol, 8)
    library = builder.link(_linker(), f"{name}-{len(_libraries)}")
    _libraries.append(library)
    kind = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
    return kind(library[name])


_libraries: list[Any] = []  # code that is unloaded when nothing holds it


@cache
def _linker() -> Any:  # noqa: ANN401 - llvmlite's
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler()


# -- where it is kept --------------------------------------------------------------------------------------------------


@cache
def _surroundings() -> str:
    """Digest of what object code depends on beside its signature: processor, compiler, our sources."""
    import llvmlite
    import llvmlite.binding as llvm

    numba = find_spec("numba")
    compiler = [llvmlite.__version__, str(numba and numba.origin and Path(numba.origin).stat().st_mtime_ns)]
    processor = [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    sources = [path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    return _digest(*compiler, *processor, *sources)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _directories() -> list[Path]:
    """Where object code may be: the same places as numba's, the first that can be written."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(named)]
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return [Path(__file__).parent / "__pycache__", Path(home) / "longtail"]


def _read(path: Path) -> tuple[str, list[str], bytes] | None:
    """What a file holds, if it is whole."""
    try:
        header, _, code = path.read_bytes().partition(b"\n")
        about = json.loads(header)
        if about["sha256"] != hashlib.sha256(code).hexdigest():
            return None
        return about["name"], about["unreached"], code
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _kept(directory: Path, known: str, name: str, made: tuple[str, list[str], bytes]) -> bool:
    """Whether object code could be written here; what older sources left of it is deleted."""
    about = {"name": made[0], "unreached": made[1], "sha256": hashlib.sha256(made[2]).hexdigest()}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.glob(f"{known}-*.o"):
            old.unlink(missing_ok=True)
        building = directory / f"{name}.{os.getpid()}"
        building.write_bytes(json.dumps(about).encode() + b"\n" + made[2])
        building.replace(directory / name)
    except OSError:
        return False
    return True
