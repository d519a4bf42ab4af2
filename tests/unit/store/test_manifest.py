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


def test_a_large_file_is_verified_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every core takes a piece; the digest of the whole file stays in the manifest for whoever else looks at it."""
    monkeypatch.setattr("longtail.store.manifest.PIECE", 100)
    place = kept(tmp_path / "v", whole())
    manifest, file = store.read_object(place / "manifest.json"), place / "arrays.safetensors"
    assert len(manifest["pieces"][file.name]) == -(-file.stat().st_size // 100)
    assert manifest["sha256"][file.name] == store.sha256(file)
    store.verify(place)
    for at in (0, 150, file.stat().st_size - 1):
        content = bytearray(file.read_bytes())
        content[at] ^= 1
        file.write_bytes(content)
        with pytest.raises(ModelError, match=r"arrays\.safetensors.*changed"):
            store.verify(place)
        content[at] ^= 1
        file.write_bytes(content)
    store.verify(place)


def test_a_file_that_grew_is_noticed_though_its_first_pieces_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("longtail.store.manifest.PIECE", 100)
    place = kept(tmp_path / "v", whole())
    with (place / "arrays.safetensors").open("ab") as file:
        file.write(b"x" * 250)
    with pytest.raises(ModelError, match="changed"):
        store.verify(place)


@pytest.mark.parametrize("pieces", [[], 7, {"arrays.safetensors": "x"}, {"arrays.safetensors": [1, 2]}])
def test_pieces_that_are_no_list_of_digests_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: object
):
    monkeypatch.setattr("longtail.store.manifest.PIECE", 1000)
    place = kept(tmp_path / "v", whole())
    digests = store.read_object(place / "manifest.json")["sha256"]
    store.write_json(place / "manifest.json", {"sha256": digests, "pieces": pieces})
    store.verify(place)
    (place / "arrays.safetensors").write_bytes(b"other")
    with pytest.raises(ModelError, match="changed"):
        store.verify(place)
