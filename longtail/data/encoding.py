"""Whether a file is UTF-8, UTF-16 or cp1252, as Windows programs write."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from longtail.data.lines import Pieces, compression

Note = Callable[[str], None]

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
PIECES_OF_COMPRESSED = 4  # a compressed file is judged by its beginning: unpacking takes long
NOT_CP1252 = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D, 0xFF])  # the last one is a letter that is hardly ever used
SAID = {
    "utf-16": "is UTF-16 and was read as such",
    "cp1252": "is not UTF-8; it was read as cp1252, the usual encoding of Windows in Western Europe",
}


def unsaid(note: str) -> None:
    """Discard notes."""


def encoding_of(path: Path, note: Note = unsaid) -> str:
    """The encoding of a file: UTF-16 by its mark, cp1252 if it is not UTF-8 and has no UTF-8 in it either."""
    found = _encoding(path) if path.is_file() else "utf-8"  # a pipe can be read only once
    if found in SAID:
        note(f"{path.name} {SAID[found]}")
    return found


def _encoding(path: Path) -> str:
    first = next(iter(Pieces(path)), b"")
    if first.startswith(UTF_16):
        return "utf-16"
    if first.startswith(codecs.BOM_UTF8) or _is_utf8(_beginning(path)):
        return "utf-8"
    return "cp1252" if _is_cp1252(_beginning(path)) else "utf-8"


def _beginning(path: Path) -> Iterator[bytes]:
    return islice(Pieces(path), PIECES_OF_COMPRESSED if compression(path) else None)


def _is_utf8(pieces: Iterator[bytes]) -> bool:
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for piece in pieces:
            decode(piece)
    except UnicodeDecodeError:
        return False
    return True


def _is_cp1252(pieces: Iterator[bytes]) -> bool:
    """Whether the bytes beyond ASCII are letters of cp1252; where most are UTF-8, a few are damaged instead."""
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    whole = broken = 0
    for piece in pieces:
        if any(byte in piece for byte in NOT_CP1252):
            return False
        beyond = [character for character in decode(piece) if character > "\x7f"]
        strays = sum("\udc80" <= character <= "\udcff" for character in beyond)
        whole, broken = whole + len(beyond) - strays, broken + strays
    return broken > whole
