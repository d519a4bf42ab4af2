"""`manifest.json`: the sha256 of every file of a directory.  Written last: a directory without it is not finished."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from longtail.errors import ModelError
from longtail.store.files import reach_disk, read_object, sha256, write_json

MANIFEST = "manifest.json"
CARD = "README.md"  # for people: named in the manifest, but nothing is read from it, and people may edit it
UNFINISHED = ".unfinished"  # in a directory being written; locked while its writer lives


def finished(directory: Path) -> bool:
    """Whether a directory was written completely."""
    return (directory / MANIFEST).is_file()


def write_manifest(directory: Path) -> None:
    """Fsync all files, then write the manifest with their sha256."""
    files = [path for path in files_below(directory) if path.name != UNFINISHED]
    mode = (directory / UNFINISHED).stat().st_mode & 0o777  # follows the umask
    for path in files:
        if path.stat().st_mode & 0o777 != mode:  # safetensors creates files readable by their owner only
            path.chmod(mode)
        reach_disk(path)
    digests = {str(path.relative_to(directory)): sha256(path) for path in files}
    large = {name for name in digests if (directory / name).stat().st_size > PIECE}
    pieces = {name: [sha256(*piece) for piece in _pieces(directory / name)] for name in large}
    write_json(directory / MANIFEST, {"sha256": digests} | ({"pieces": pieces} if pieces else {}))
    reach_disk(directory / MANIFEST)
    reach_disk(directory)


def files_below(directory: Path) -> list[Path]:
    """All files below a directory, sorted."""
    return sorted(path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir())


def named_in_manifest(directory: Path) -> set[str]:
    """The files named in the manifest; empty if there is none of ours."""
    try:
        ours = set(json.loads((directory / MANIFEST).read_text("utf-8"))["sha256"])
    except (OSError, ValueError, LookupError, TypeError):
        return set()
    return ours | {MANIFEST, UNFINISHED}


def edited_card(directory: Path) -> bool:
    """Whether somebody wrote into the card of a model since it was saved."""
    card = directory / CARD
    try:
        return card.is_file() and sha256(card) != json.loads((directory / MANIFEST).read_text("utf-8"))["sha256"][CARD]
    except (OSError, ValueError, LookupError, TypeError):
        return False


def verify(directory: Path) -> None:
    """Raise unless every file has the bytes that were written, and no unknown file could be read as one of them."""
    if not directory.is_dir():
        raise ModelError(f"{directory}: no such directory")
    if finished(directory / "model"):
        raise ModelError(f"{directory}: this is a run; its model is {directory / 'model'}")
    if not finished(directory):
        raise ModelError(f"{directory}: no {MANIFEST}, so this is not a finished model; was the copy cut short?")
    digests = read_manifest(directory)
    _verify_names(directory, digests)
    expected = list(_expected(directory, digests))
    # Hashing releases the GIL, so threads hash files, and pieces of large ones, in parallel.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = threads.map(lambda piece: sha256(*piece), [piece for piece, _ in expected])
        for (piece, digest), now in zip(expected, found):
            if now != digest:
                raise ModelError(f"{piece[0]}: its bytes changed since it was written; copy it again")


Piece = tuple[Path, int, int]  # of a file, from this byte on, so many
PIECE = 1 << 25


def _pieces(path: Path) -> list[Piece]:
    return [(path, start, PIECE) for start in range(0, path.stat().st_size, PIECE)]


def _expected(directory: Path, digests: dict[str, str]) -> Iterator[tuple[Piece, str]]:
    """What to hash, and its digest: files, or where a manifest has their digests, the pieces of large ones."""
    known = read_object(directory / MANIFEST).get("pieces", {})
    for name, digest in digests.items():
        if name == CARD:
            continue
        path, of_pieces = directory / name, known.get(name) if isinstance(known, dict) else None
        if isinstance(of_pieces, list) and len(of_pieces) == len(_pieces(path)):
            yield from zip(_pieces(path), of_pieces)
        else:
            yield (path, 0, -1), digest


def _verify_names(directory: Path, digests: dict[str, str]) -> None:
    """Raise unless the files that could be ours are exactly those in the manifest."""
    for name in digests:
        if name != CARD and not (directory / name).is_file():
            raise ModelError(f"{directory / name}: missing; copy the model again or save it anew")
    for path in _files_of_ours(directory):
        if str(path.relative_to(directory)) not in digests:
            raise ModelError(f"{path}: not named in {MANIFEST}, so nobody knows who wrote it; copy the model again")


def read_manifest(directory: Path) -> dict[str, str]:
    """The sha256 of every file by name, validated."""
    digests = read_object(directory / MANIFEST).get("sha256")
    if not isinstance(digests, dict) or not all(isinstance(digest, str) for digest in digests.values()):
        raise ModelError(f"{directory / MANIFEST}: it must hold the sha256 of every file by name; copy the model again")
    for name in digests:
        if name != str(PurePosixPath(name)) or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise ModelError(f"{directory / MANIFEST}: it names {name!r}, which is no file of this directory")
    return digests


def _files_of_ours(directory: Path) -> Iterator[Path]:
    """Files that loading would read; other files, such as a user's notes, are ignored."""
    for path in directory.rglob("*"):
        if path.suffix in (".json", ".jsonl", ".gz", ".safetensors", ".npy") and path != directory / MANIFEST:
            yield path
