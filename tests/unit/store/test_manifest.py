"""A finished directory can be checked, file by file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longtail import store
from longtail.errors import ModelError
from tests.unit.store.stored import kept, whole


def test_verify_names_the_file_that_is_missing_or_changed(tmp_path: Path):
    store.verify(kept(tmp_path / "v", whole()))
    with (tmp_path / "v/arrays.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    with pytest.raises(ModelError, match=r"arrays\.safetensors.*changed"):
        store.verify(tmp_path / "v")
    (tmp_path / "v/arrays.safetensors").unlink()
    with pytest.raises(ModelError, match=r"arrays\.safetensors: missing"):
        store.verify(tmp_path / "v")
    (tmp_path / "v/manifest.json").unlink()
    with pytest.raises(ModelError, match="not a finished model"):
        store.verify(tmp_path / "v")
    with pytest.raises(ModelError, match="no such directory"):
        store.verify(tmp_path / "nothing")
