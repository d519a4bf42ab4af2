"""Corpora by name."""

from __future__ import annotations

import os
from pathlib import Path

from longtail.config import path_of
from longtail.errors import CorpusError

DEMO = "demo"  # WordNet definitions, shipped with the package; see demo/NOTICE
DATA = "LONGTAIL_DATA"  # the variable that says where corpora lie


def find(name: str | Path) -> Path:
    """Where a corpus lies: `demo`, a path, or a name under the directory that LONGTAIL_DATA says."""
    if name == DEMO:
        return Path(__file__).parent / "demo"
    path = path_of(name, "path").expanduser()
    if path.exists():
        return path
    shelf = os.environ.get(DATA, "")
    if shelf and (Path(shelf) / path).exists():
        return Path(shelf) / path
    looked = f" (nor under {shelf})" if shelf else f"; {DATA} can say where corpora lie"
    raise CorpusError(f"{name}: no such file or directory{looked}")
