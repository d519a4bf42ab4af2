"""Word vectors from a binary fastText model: a word is the mean of its own vector and those of its pieces.

The file: magic number, version, settings, words (name, 0, count, kind), whether it is compressed, then one matrix with
a row for every word and one for every bucket of pieces.  A word that the model never saw still has pieces.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longtail.errors import ConfigError

MAGIC, VERSION = 793_712_314, 12
SETTINGS = struct.Struct("<12id")  # dim, …, bucket, minn, maxn, …: 12 numbers and a threshold
COUNTS = struct.Struct("<3i2q")  # entries, words, labels, tokens read, pruned pieces
ENTRY_TAIL = 8 + 1  # how often it was read, and whether it is a word or a label


@dataclass(frozen=True)
class FastText:
    """An open model; rows are read from disk when asked for."""

    words: dict[str, int]
    matrix: np.ndarray  # (words + buckets, dim) float32, mapped
    shortest: int
    longest: int

    @property
    def buckets(self) -> int:
        """Number of hashed rows that subwords share."""
        return len(self.matrix) - len(self.words)

    def vector(self, word: str) -> np.ndarray | None:
        """(dim,) float32, or nothing for a word of which no part is known."""
        known = [self.words[word]] if word in self.words else []
        pieces = pieces_of(f"<{word}>", self.shortest, self.longest) if self.buckets else ()
        rows = known + [len(self.words) + fnv(piece) % self.buckets for piece in pieces]
        return self.matrix[rows].mean(axis=0) if rows else None


def open_fasttext(path: Path) -> FastText:
    """The model in a .bin file; compressed ones (.ftz) have no vectors to read."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(path, data)
    except (struct.error, ValueError) as error:  # it is empty or ends too early
        raise ConfigError(f"{path}: this is not a whole fastText model ({error})") from None


def _read(path: Path, data: mmap.mmap) -> FastText:
    if struct.unpack_from("<2i", data) != (MAGIC, VERSION):
        raise ConfigError(
            f"{path}: not a binary fastText model of version {VERSION}; a text file of vectors ends in .vec"
        )
    settings, at = SETTINGS.unpack_from(data, 8), 8 + SETTINGS.size
    entries, n_words, _, _, pruned = COUNTS.unpack_from(data, at)
    if pruned >= 0:
        raise ConfigError(f"{path}: a compressed fastText model has no vectors of its own; take the .bin or .vec file")
    words, at = _words(data, at + COUNTS.size, entries, n_words)
    if data[at]:
        raise ConfigError(f"{path}: a compressed fastText model has no vectors of its own; take the .bin or .vec file")
    shape = struct.unpack_from("<2q", data, at + 1)
    matrix = np.memmap(path, np.float32, "r", at + 1 + 16, shape)
    return FastText(words, matrix, shortest=settings[9], longest=settings[10])


def _words(data: mmap.mmap, at: int, entries: int, n_words: int) -> tuple[dict[str, int], int]:
    words = {}
    for number in range(entries):  # words stand before labels
        end = data.find(b"\0", at)
        if end < 0:
            raise ValueError(f"it ends in the middle of its {entries} words")
        if number < n_words:
            words[data[at:end].decode("utf-8", "replace")] = number
        at = end + 1 + ENTRY_TAIL
    return words, at


def pieces_of(word: str, shortest: int, longest: int) -> Iterator[bytes]:
    """Every run of `shortest` to `longest` letters, but for a first or last one alone."""
    for start in range(len(word)):
        for stop in range(start + max(shortest, 1), min(start + longest, len(word)) + 1):
            if stop - start > 1 or 0 < start < len(word) - 1:
                yield word[start:stop].encode()


def fnv(piece: bytes) -> int:
    """The 32-bit FNV-1a hash as fastText computes it: bytes count as signed."""
    value = 2_166_136_261
    for byte in piece:
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16_777_619) & 0xFFFFFFFF
    return value
