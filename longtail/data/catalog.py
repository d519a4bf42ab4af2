"""Corpora by name."""

from __future__ import annotations

import os
from pathlib import Path

from longtail.config import path_of
from longtail.errors import CorpusError

DEMO = "demo"  # WordNet definitions, shipped with the package; see demo/NOTICE
DATA = "LONGTAIL_DATA"  # environment variable: directory of corpora


def find(name: str | Path) -> Path:
    """The path of a corpus: `demo`, a path, or a name under the directory LONGTAIL_DATA."""
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
