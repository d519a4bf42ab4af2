"""Atomic writing of directories.

Files are written to a hidden directory beside the target, which is renamed when complete; an existing directory of the
same kind is swapped with it in one step.
"""

from __future__ import annotations

import ctypes
import fcntl
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from longtail.store.files import reach_disk
from longtail.store.manifest import MANIFEST, UNFINISHED, write_manifest
from longtail.store.target import VALUE, Kind, check_target, followed, in_the_way, not_ours, told


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
def _building(target: Path) -> Iterator[Path]:
    """A new directory beside `target`, deleted at the end unless it was renamed."""
    building, mark = _begun(target)
    try:
        with mark:
            yield building
    finally:
        if (building / UNFINISHED).exists():  # after a swap the old directory has this name, without the mark
            shutil.rmtree(building, ignore_errors=True)


def _begun(target: Path) -> tuple[Path, IO[str]]:
    """A new directory beside `target`, and its mark.

    The lock on the mark shows other processes that the writer lives; the system releases it when the writer dies.
    """
    while True:
        building = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        building.mkdir()
        with suppress(FileNotFoundError):  # swept before the mark existed
            mark = (building / UNFINISHED).open("x")
            with suppress(OSError):  # a file system without locks: nothing is swept
                fcntl.flock(mark, fcntl.LOCK_EX)
            if (building / UNFINISHED).exists():
                return building, mark
            mark.close()  # swept before the lock was taken


def sweep(target: Path, kind: Kind) -> None:
    """Delete half-written and half-deleted directories that killed processes left beside `target`."""
    for leftover in leftovers(target.parent, glob.escape(target.name)):
        try:
            with (leftover / UNFINISHED).open() as mark:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                delete(leftover)
        except FileNotFoundError:
            if kind.mark is not None and not_ours(leftover, kind.mark, kind.name) is None:
                delete(leftover)
            with suppress(OSError):
                leftover.rmdir()  # empty
        except OSError:
            continue  # its writer may be alive


def leftovers(directory: Path, names: str = "*") -> list[Path]:
    """Unfinished directories, recognised by the names that `whole_directory` gives them."""
    found = directory.glob(f".{names}.{'[0-9a-z_]' * 8}")
    return [path for path in found if path.is_dir() and not path.is_symlink()]


def put_in_place(building: Path, target: Path, kind: Kind) -> None:
    """Rename `building` to `target`, or swap the two if one of its kind exists."""
    check_target(target, kind)  # again: hours may have passed since the first check
    if (target.is_dir() and any(target.iterdir())) or target.is_file():
        _replace(building, target, kind)
    else:
        building.rename(target)  # fails if something other than an empty directory appeared meanwhile
    reach_disk(target.parent)


def _replace(building: Path, target: Path, kind: Kind) -> None:
    """Swap, check the old directory once more, and delete it."""
    _swap(building, target)
    if reason := in_the_way(building, kind):  # appeared between the check and the swap
        _swap(building, target)
        raise kind.error(f"{target}: {reason}; choose another place, or move away what is there")
    delete(building)


def _swap(one: Path, other: Path) -> None:
    """Exchange two names atomically (Linux), so that a kill leaves either the old or the new directory."""
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
    """Delete our files, as far as permissions allow.

    The manifest goes last: after a kill it lets the next `sweep` recognise the remaining files as ours.
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
