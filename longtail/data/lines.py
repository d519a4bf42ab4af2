"""Lines of a plain, gzip or xz file, in blocks that know where they came from."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from longtail.errors import CorpusError

Row = TypeVar("Row")

BLOCK_BYTES = 1 << 20  # large enough that the work per block disappears, small enough that its rows fit the CPU cache

_OPEN: dict[str, type[io.FileIO | gzip.GzipFile | lzma.LZMAFile]] = {
    "": io.FileIO,
    ".gz": gzip.GzipFile,
    ".xz": lzma.LZMAFile,
}
COMPRESSIONS = tuple(_OPEN)


@dataclass(frozen=True)
class Block(Generic[Row]):
    """Consecutive rows of a file, each with the number of its line (in a Parquet file: of its row)."""

    path: Path
    numbers: Sequence[int]
    rows: list[Row]

    def wrong(self, at: int, what: str) -> CorpusError:
        """The error to raise about the row at position `at`."""
        return CorpusError(f"{self.path}:{self.numbers[at]}: {what}")


def compression(path: Path) -> str:
    """`.gz`, `.xz` or nothing."""
    return path.suffix if path.suffix in _OPEN else ""


def lines(path: Path) -> Iterator[Block[str]]:
    """The lines of a UTF-8 file, without their ends.

    Only a line feed (with or without a carriage return) ends a line: texts are full of the other characters
    that Unicode calls line breaks, and a file of labels beside a file of texts must count the same lines.
    """
    first = 1
    for piece in _whole_lines(_read_ahead(_pieces(path))):
        rows = _decoded(piece, path, first).removesuffix("\n").split("\n")
        if b"\r" in piece:
            rows = [row.removesuffix("\r") for row in rows]
        yield Block(path, range(first, first + len(rows)), rows)
        first += len(rows)


def first_line(path: Path) -> str:
    """The first line that says anything, to recognise a format by."""
    return next((row for block in lines(path) for row in block.rows if row.strip()), "")


def _decoded(piece: bytes, path: Path, first: int) -> str:
    try:
        return piece.decode("utf-8-sig" if first == 1 else "utf-8")
    except UnicodeDecodeError as error:
        number = first + piece.count(b"\n", 0, error.start)
        byte = piece[error.start]
        raise CorpusError(f"{path}:{number}: byte 0x{byte:02x} is not UTF-8; convert the file to UTF-8") from None


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes, cut only where a line ends."""
    begun: list[bytes] = []
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, piece[:end]])
            begun = []
        begun.append(piece[end:])
    if rest := b"".join(begun):
        yield rest


def _pieces(path: Path) -> Iterator[bytes]:
    try:
        with _OPEN[compression(path)](path) as file:
            while piece := file.read(BLOCK_BYTES):
                yield piece
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file") from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(f"{path}: damaged or cut short ({error}); copy or download it again") from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error})") from error


def _read_ahead(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, the next one being decompressed by another thread while this one is parsed."""
    with ThreadPoolExecutor(1, "read-ahead") as thread:
        coming = thread.submit(next, pieces, b"")
        while piece := coming.result():
            coming = thread.submit(next, pieces, b"")
            yield piece
