"""Every error a user can cause, each with a sentence that says where, what and what to do."""

from __future__ import annotations


class LongtailError(Exception):
    """The person who called us can mend this; the command line prints it and exits with 2."""


class CorpusError(LongtailError):
    """A file, line or row of a corpus is not what it should be."""


class ConfigError(LongtailError):
    """A setting does not exist or has an impossible value."""


class ModelError(LongtailError):
    """A model directory is missing, damaged or of a version we cannot read."""


class RankingError(LongtailError):
    """A ranking breaks a promise of rankings, or does not fit what it is compared with."""


class RunError(LongtailError):
    """A run directory belongs to another training, or the machine cannot hold this one."""


class MissingExtraError(LongtailError):
    """A capability needs a package that the small core does not install."""

    def __init__(self, capability: str, extra: str):
        super().__init__(f"{capability} needs packages that are not installed; run: pip install 'longtail[{extra}]'")
