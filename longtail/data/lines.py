"""Lines of a plain, gzip or xz file, in blocks that record their path and line numbers."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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
    bad: Mapping[int, CorpusError] = field(default_factory=dict)  # rows that could not be read, by their position

    def wrong(self, at: int, what: str) -> CorpusError:
        """The error to raise about the row at position `at`."""
        return CorpusError(f"{self.path}:{self.numbers[at]}: {what}")

    def converted(
        self, convert: Callable[[Block[Row], int], Other], instead: Callable[[int, CorpusError], Other] | None = None
    ) -> Iterator[Block[Other]]:
        """The block with `convert(block, at)` for every row; where that raises, first the rows before the bad one.

        With `instead`, what that makes of a bad row's number and error takes its place.
        """
        done: list[Other] = []
        for at in range(len(self.rows)):
            try:
                if at in self.bad:
                    raise self.bad[at]
                done.append(convert(self, at))
            except CorpusError as error:
                if instead is None:
                    yield Block(self.path, self.numbers[: len(done)], done)
                    raise
                done.append(instead(self.numbers[at], error))
        yield Block(self.path, self.numbers, done)


def compression(path: Path) -> str:
    """`.gz`, `.xz` or the empty string."""
    return path.suffix.lower() if path.suffix.lower() in _OPEN else ""


def lines(path: Path, encoding: str = "utf-8", returns: bool = False) -> Iterator[Block[str]]:
    """The lines of a file, without their ends; the next piece is read while this one is parsed.

    With `returns`, carriage returns end lines.
    """
    file = Pieces(path)
    pieces = transcoded(iter(file), path, encoding)
    pieces = (piece.replace(b"\r", b"\n") for piece in pieces) if returns else pieces
    with counting(file.size, f"reading {path.name}") as done:
        for block in lines_of(_read_ahead(pieces), path):
            yield block
            done(file.just_read())


def transcoded(pieces: Iterator[bytes], path: Path, encoding: str) -> Iterator[bytes]:
    """Transcode to UTF-8."""
    if encoding == "utf-8":
        yield from pieces
        return
    decode = codecs.getincrementaldecoder(encoding)().decode
    try:
        for piece in pieces:
            if whole := decode(piece).encode("utf-8", "replace"):
                yield whole
        yield decode(b"", True).encode("utf-8", "replace")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not {encoding} throughout ({error.reason}); convert the file to UTF-8") from None


def lines_of(pieces: Iterable[bytes], path: Path | str, lenient: bool = False) -> Iterator[Block[str]]:
    """The lines of UTF-8 bytes that arrive in pieces: after each piece, all lines that it ends.

    Only a line feed (with or without a carriage return) ends a line: texts are full of the other characters
    that Unicode calls line breaks, and a file of labels beside a file of texts must count the same lines.
    With `lenient`, lines that are not UTF-8 or endless are `bad` rows of their block instead of errors.
    """
    first = 1
    for whole in _whole_lines(pieces):
        if whole is None and not lenient:
            raise _endless(path, first)
        blocks = [Block(path, [first], [""], {0: _endless(path, first)})] if whole is None else None
        for block in blocks or _decoded(whole or b"", path, first, lenient):
            yield block
            first += len(block.rows)


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes | None]:
    """All lines that a piece ends, as soon as it is there; None in place of a line that is too long to be kept."""
    begun, endless = bytearray(), False
    for piece in pieces:
        if endless:
            _, feed, piece = piece.partition(b"\n")
            endless = not feed
        found = piece.find(b"\n")
        if len(begun) + (len(piece) if found < 0 else found) > LONGEST_LINE:
            yield None
            begun.clear()
            endless, piece = found < 0, piece[found + 1 :] if found >= 0 else b""
        end = piece.rfind(b"\n") + 1
        if end:
            yield bytes(begun) + piece[:end]
            begun.clear()
        begun += piece[end:]
    if begun:
        yield bytes(begun)


def first_line(path: Path) -> str:
    """The first non-blank line, for recognising the format."""
    return next((row for block in lines(path) for row in block.rows if row.strip()), "")


def _endless(path: Path | str, number: int) -> CorpusError:
    return CorpusError(
        f"{path}:{number}: this line is longer than {LONGEST_LINE >> 20} MB, the most a line may hold; "
        "write one document a line, and cut what is longer"
    )


def _decoded(whole: bytes, path: Path | str, first: int, lenient: bool) -> Iterator[Block[str]]:
    """Whole lines as strings; where a byte is not UTF-8, first the lines before it."""
    data = whole.removeprefix(codecs.BOM_UTF8) if first == 1 else whole
    try:
        yield _split(data.decode(), path, first)
    except UnicodeDecodeError as error:
        if lenient:
            yield _decoded_each(data, path, first)
            return
        good = data[: data.rfind(b"\n", 0, error.start) + 1]
        if good:
            yield _split(good.decode(), path, first)
        number, byte = first + good.count(b"\n"), data[error.start]
        raise CorpusError(f"{path}:{number}: byte 0x{byte:02x} is not UTF-8; convert the file to UTF-8") from None


def _decoded_each(data: bytes, path: Path | str, first: int) -> Block[str]:
    """Whole lines as strings, bad ones apart."""
    rows, bad = [], {}
    for at, line in enumerate(data.removesuffix(b"\n").split(b"\n")):
        try:
            rows.append(line.decode().removesuffix("\r"))
        except UnicodeDecodeError as error:
            rows.append("")
            byte = f"byte 0x{line[error.start]:02x} is not UTF-8; convert the file to UTF-8"
            bad[at] = CorpusError(f"{path}:{first + at}: {byte}")
    return Block(path, range(first, first + len(rows)), rows, bad)


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
