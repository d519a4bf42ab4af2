"""Checks where a directory may be written and what it may replace; errors of the operating system as messages."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError

from longtail.errors import ConfigError, LongtailError, ModelError, system_error
from longtail.store.manifest import CARD, edited_card, files_below, finished, named_in_manifest


@dataclass(frozen=True)
class Kind:
    """The kind of a directory's content.  A directory is only replaced by one of the same kind."""

    name: str  # used in messages
    mark: str | None  # a file that every directory of this kind has; None: never replaced
    error: type[LongtailError] = ModelError
    private: bool = False  # only we write there (stages of a run, the cache): replaced in any state
    instead: str = "choose another place"  # advice if it cannot be written


VALUE = Kind("a stored value", "value.json")


MODEL = Kind("a model", "model.json")


def named(path: str | Path) -> Path:
    """Validate an output path; an empty one would mean the current directory."""
    if not str(path):
        raise ConfigError("an empty path was given to write to; name a file or a directory (. is the current one)")
    return Path(path)


def followed(path: Path) -> Path:
    """Resolve symbolic links: the link stays and its target is written."""
    try:
        return path.resolve() if path.is_symlink() or path.name in ("", "..") else path
    except RuntimeError as error:  # a cycle of links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error


@contextmanager
def told(place: Path, error: type[LongtailError], instead: str = VALUE.instead) -> Iterator[None]:
    """Convert errors of the operating system to an `error` whose message names `place`."""
    try:
        yield
    except (OSError, SafetensorError) as failure:
        refused = _system_error(failure) if isinstance(failure, SafetensorError) else failure
        raise error(system_error(place, refused, "cannot be written", instead)) from failure


def _system_error(error: SafetensorError) -> OSError:
    """The OSError behind a SafetensorError, whose message ends in, say, "(os error 28)"."""
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number is None:
        raise error
    return OSError(int(number[1]), os.strerror(int(number[1])))


def check_target(target: Path, kind: Kind) -> None:
    """Raise unless `target` can become a directory of this kind without losing other files."""
    with told(target, kind.error, kind.instead):
        target = followed(target)
        if reason := in_the_way(target, kind):
            raise kind.error(f"{target}: {reason}; choose another place, or move away what is there")
        check_writable(target.parent)


def check_writable(directory: Path) -> None:
    """Raise unless this directory, or its first existing parent, is writable."""
    whole = directory.absolute()
    above = next(place for place in (whole, *whole.parents) if place.exists())
    if not above.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(above))
    if not os.access(above, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(above))


def in_the_way(target: Path, kind: Kind) -> str | None:
    """Why `target` may not be replaced by a directory of this kind."""
    if kind.private or not (target.is_symlink() or target.exists()):
        return None
    if not target.is_dir():
        return "exists already and is not a directory"
    if target.samefile("."):
        return "is the current directory, which cannot be replaced"
    if not any(target.iterdir()):
        return None
    return "exists already" if kind.mark is None else not_ours(target, kind.mark, kind.name)


def not_ours(directory: Path, mark: str, name: str) -> str | None:
    """Why a directory is of another kind, or which foreign file it contains."""
    ours = named_in_manifest(directory)
    if mark not in ours:
        run = f"; the model of a run is {directory / 'model'}" if finished(directory / "model") else ""
        return f"exists already and is not {name}{run}"
    others = [path for path in files_below(directory) if str(path.relative_to(directory)) not in ours]
    if edited_card(directory):
        return f"{CARD} in it was edited, and would be lost"
    return f"{others[0].relative_to(directory)} is in it, is not part of {name}, and would be lost" if others else None
