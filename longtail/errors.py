"""Every error a user can cause; its message names the place, the problem and the remedy."""

from __future__ import annotations

import errno
from pathlib import Path


class LongtailError(Exception):
    """An error the caller can fix; the command line prints it and exits with 2."""


class CorpusError(LongtailError):
    """A file, line or row of a corpus is not what it should be."""


class ConfigError(LongtailError):
    """A setting does not exist or has an impossible value."""


class ModelError(LongtailError):
    """A model directory is missing, damaged or of a version we cannot read."""


class RankingError(LongtailError):
    """A ranking is invalid, or does not fit what it is compared with."""


class RunError(LongtailError):
    """A run directory belongs to another training, or the machine cannot hold this one."""


class OutOfTime(RunError):
    """A training was stopped, and saved, because its time was over."""


class MissingExtraError(LongtailError):
    """A capability needs a package that the small core does not install."""

    def __init__(self, capability: str, extra: str):
        super().__init__(f"{capability} needs packages that are not installed; run: pip install 'longtail[{extra}]'")


# Remedies for errors of the operating system, by errno.
ADVICE = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room in your share of that disk",
    errno.EFBIG: "allow larger files there",
    errno.EACCES: "change its permissions",
    errno.EPERM: "change its permissions",
    errno.ENOTDIR: "move the file away that is part of this path",
    errno.EEXIST: "move away what is there",
    errno.ENOENT: "check the spelling",
}


def system_error(path: str | Path, error: OSError, cannot: str = "", instead: str = "choose another place") -> str:
    """Message for an error of the operating system: the path, the reason, what to do.

    >>> system_error("runs/x", OSError(28, "No space left on device"), "cannot be written")
    'runs/x: cannot be written (No space left on device); make room on that disk, or choose another place'
    """
    reason = error.strerror or str(error)
    advice = [ADVICE[error.errno]] if error.errno in ADVICE else []
    return f"{path}: {f'{cannot} ({reason})' if cannot else reason}; {', or '.join([*advice, instead])}"
