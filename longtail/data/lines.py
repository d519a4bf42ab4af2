"""Lines of a plain, gzip or xz file, in blocks that record their path and line numbers."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from longtail.errors import CorpusError
from longtail.progress import counting

Row = TypeVar("Row")
Other = TypeVar("Other")

BLOCK_BYTES = 1 << 20  # large enough to amortise the work per block, small enough that its rows fit the CPU cache
LONGEST_LINE = 64 << 20  # bytes; a small compressed file can unpack into one line larger than memory

_OPEN: dict[str, Callable[[io.FileIO], Any]] = {
    "": lambda raw: raw,
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".xz": lzma.LZMAFile,
}
COMPRESSIONS = tuple(_OPEN)


@dataclass(frozen=True)
class Block(Generic[Row]):
    """Consecutive rows of a file, each with its line number (row number in Parquet)."""

    path: Path | str  # or a name of the source, such as "standard input"
    numbers: Sequence[int]
    rows: list[Row]

    def wrong(self, at: int, what: str) -> CorpusError:
        """The error to raise about the row at position `at`."""
        return CorpusError(f"{self.path}:{self.numbers[at]}: {what}")

    def converted(self, convert: Callable[[Block[Row], int], Other]) -> Iterator[Block[Other]]:
        """The block with `convert(block, at)` for every row; if that raises, the rows before the bad one come first."""
        done: list[Other] = []
        try:
            for at in range(len(self.rows)):
                done.append(convert(self, at))
        except CorpusError:
            yield Block(self.path, self.numbers[: len(done)], done)
            raise
        yield Block(self.path, self.numbers, done)


def compression(path: Path) -> str:
    """`.gz`, `.xz` or the empty string."""
    return path.suffix if path.suffix in _OPEN else ""


def lines(path: Path) -> Iterator[Block[str]]:
    """The lines of a UTF-8 file, without their ends; the next piece is read while this one is parsed."""
    file = Pieces(path)
    with counting(file.size, f"reading {path.name}") as done:
        for block in lines_of(_read_ahead(iter(file)), path):
            yield block
            done(file.just_read())


def lines_of(pieces: Iterable[bytes], path: Path | str) -> Iterator[Block[str]]:
    """The lines of UTF-8 bytes that arrive in pieces: after each piece, all lines it completes.

    Only a line feed (with or without a carriage return) ends a line: texts contain other Unicode line breaks, and
    a labels file must have the same line numbers as its texts file.
    """
    first, begun = 1, bytearray()
    for piece in pieces:
        _refuse_endless(len(begun) + (piece.find(b"\n") if b"\n" in piece else len(piece)), path, first)
        end = piece.rfind(b"\n") + 1
        if end:
            for block in _decoded(bytes(begun) + piece[:end], path, first):
                yield block
                first += len(block.rows)
            begun.clear()
        begun += piece[end:]
    if begun:
        yield from _decoded(bytes(begun), path, first)


def first_line(path: Path) -> str:
    """The first non-blank line, for recognising the format."""
    return next((row for block in lines(path) for row in block.rows if row.strip()), "")


def _refuse_endless(length: int, path: Path | str, number: int) -> None:
    if length > LONGEST_LINE:
        raise CorpusError(
            f"{path}:{number}: this line is longer than {LONGEST_LINE >> 20} MB, the most a line may hold; "
            "write one document a line, and cut what is longer"
        )


def _decoded(whole: bytes, path: Path | str, first: int) -> Iterator[Block[str]]:
    """Complete lines as strings; if a byte is not UTF-8, the lines before it come first."""
    data = whole.removeprefix(codecs.BOM_UTF8) if first == 1 else whole
    try:
        yield _split(data.decode(), path, first)
    except UnicodeDecodeError as error:
        good = data[: data.rfind(b"\n", 0, error.start) + 1]
        if good:
            yield _split(good.decode(), path, first)
        number, byte = first + good.count(b"\n"), data[error.start]
        raise CorpusError(f"{path}:{number}: byte 0x{byte:02x} is not UTF-8; convert the file to UTF-8") from None


def _split(text: str, path: Path | str, first: int) -> Block[str]:
    rows = text.removesuffix("\n").split("\n")
    if "\r" in text:
        rows = [row.removesuffix("\r") for row in rows]
    return Block(path, range(first, first + len(rows)), rows)


class Pieces:
    """The decompressed bytes of a file, as soon as they can be read, also from a named pipe."""

    def __init__(self, path: Path):
        self.path = path
        self.size = _size(path)
        self._position = self._told = 0

    def __iter__(self) -> Iterator[bytes]:
        try:
            with io.FileIO(self.path) as raw, _OPEN[compression(self.path)](raw) as file:
                while piece := file.read(BLOCK_BYTES):
                    self._position = raw.tell() if self.size else 0
                    yield piece
        except FileNotFoundError:
            raise CorpusError(f"{self.path}: no such file") from None
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
            raise CorpusError(f"{self.path}: damaged or cut short ({error}); copy or download it again") from error
        except OSError as error:
            raise CorpusError(f"{self.path}: cannot be read ({error.strerror or error})") from error

    def just_read(self) -> int:
        """Number of bytes of the file read since the last call."""
        before, self._told = self._told, self._position
        return self._told - before


def _size(path: Path) -> int:
    """Size of a file in bytes; 0 if unknown, as for a pipe."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # reading it will raise the error
        return 0


def _read_ahead(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces; a thread decompresses the next one while this one is parsed."""
    with ThreadPoolExecutor(1, "read-ahead") as thread:
        coming = thread.submit(next, pieces, b"")
        while piece := coming.result():
            coming = thread.submit(next, pieces, b"")
            yield piece
