"""The labels of a model that has many: `labels.jsonl.gz`, packed in blocks that are unpacked one at a time.

    labels.jsonl.gz     JSON lines as in labels.jsonl; every LINES of them are a gzip member of their own
    label_blocks.npy    where each member begins, and where the last one ends

Members one behind the other are an ordinary gzip file, so that `zcat` and every other reader of gzip have all lines.
Opening reads the first and the last member alone, and a label costs the unpacking of its block: about 9 µs.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from longtail import store
from longtail.errors import ModelError
from longtail.invariants import Unsound, check_starts

LINES = 32  # labels a block: more of them pack better, and take longer to unpack
LARGEST = 1 << 26  # bytes of an unpacked block


class PackedLines:
    """Lines by their number; the block that was read last is kept."""

    def __init__(self, path: Path, blocks: Path):
        self.path, self._data, self._starts = path, store.mapped_bytes(path), _starts_of(blocks)
        try:
            check_starts("label_blocks.npy", self._starts, len(self._data))
        except Unsound as error:
            raise ModelError(f"{blocks}: {error}; copy the model again") from None
        self._last: tuple[int, list[bytes]] = -1, []  # replaced as a whole, so that threads never see half of it
        n_blocks = len(self._starts) - 1
        self._each = max(1, len(self._block(0))) if n_blocks else LINES  # lines of every block but the last
        self._count = self._each * (n_blocks - 1) + len(self._block(n_blocks - 1)) if n_blocks else 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: int) -> bytes:
        block, line = divmod(range(self._count)[at], self._each)
        lines = self._block(block)
        if line >= len(lines):
            raise ModelError(f"{self.path}: block {block} has {len(lines)} labels; copy the model again")
        return lines[line]

    def _block(self, block: int) -> list[bytes]:
        number, lines = self._last
        if number != block:
            lines = self._unpacked(block).split(b"\n")[:-1]
            self._last = block, lines
        return lines

    def _unpacked(self, block: int) -> bytes:
        member, packed = zlib.decompressobj(wbits=GZIP), self._data[self._starts[block] : self._starts[block + 1]].data
        try:
            lines = member.decompress(packed, LARGEST)
        except zlib.error as error:
            raise ModelError(
                f"{self.path}: block {block} cannot be unpacked ({error}); copy the model again"
            ) from error
        if not member.eof or member.unused_data:
            raise ModelError(f"{self.path}: block {block} is not one gzip member; copy the model again")
        return lines

    def all(self) -> bytes:
        """All lines, with line ends."""
        return b"".join(self._unpacked(block) for block in range(len(self._starts) - 1))


GZIP = 31  # what zlib calls a gzip header and the largest window


def write_packed(path: Path, blocks: Path, lines: Iterable[str]) -> None:
    """Write the two files."""
    starts = [0]
    with path.open("wb") as file:
        rest = iter(lines)
        while block := "".join(islice(rest, LINES)):
            starts.append(starts[-1] + file.write(gzip.compress(block.encode("utf-8"), mtime=0)))
    np.save(blocks, np.array(starts, np.int64))


def _starts_of(path: Path) -> np.ndarray:
    starts = store.mapped_array(path)
    if starts.ndim != 1 or starts.dtype != np.int64:
        raise ModelError(f"{path}: it must hold where each block of labels begins; copy the model again")
    return starts
